// SPDX-License-Identifier: MIT
#pragma once
// Sets of bytes that one place of a regular expression takes, and the classes that have names.

#include <tq/bodies.hpp>
#include <tq/config.hpp>

#include <bitset>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tq::detail {

/// The bytes that one place of an expression takes.
using ByteSet = std::bitset<256>;

[[nodiscard]] TQ_API ByteSet byte_range(unsigned char first, unsigned char last);
[[nodiscard]] TQ_API ByteSet one_byte(char byte);
/// Every byte but the ends of lines, which "." does not take.
[[nodiscard]] TQ_API ByteSet any_byte();

/// The class of that name, of ASCII and in the C locale, or nothing: "[:alpha:]" has "alpha" and
/// "\d" has "d". Capital letters are as small ones.
[[nodiscard]] TQ_API std::optional<ByteSet> byte_class(std::string_view name);

/// True for the bytes of which words consist: letters, digits and "_" of ASCII.
[[nodiscard]] constexpr bool is_word_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/expression_bytes.ipp>
#endif
