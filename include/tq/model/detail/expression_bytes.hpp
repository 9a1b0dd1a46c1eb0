// SPDX-License-Identifier: MIT
#pragma once
// Sets of bytes that one place of a regular expression takes, and the classes that have names.

#include <tq/config.hpp>

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tq::detail {

/// The bytes that one place of an expression takes.
using ByteSet = std::bitset<256>;

[[nodiscard]] inline ByteSet byte_range(unsigned char first, unsigned char last) {
  ByteSet set;
  for (unsigned b = first; b <= last; ++b) set.set(b);
  return set;
}
[[nodiscard]] inline ByteSet one_byte(char byte) {
  return ByteSet().set(static_cast<unsigned char>(byte));
}
[[nodiscard]] inline ByteSet byte_set(std::string_view text) {
  ByteSet set;
  for (const char byte : text) set |= one_byte(byte);
  return set;
}
/// Every byte but the ends of lines, which "." does not take.
[[nodiscard]] inline ByteSet any_byte() { return ~byte_set("\n\r"); }

/// The class of that name, of ASCII and in the C locale, or nothing: "[:alpha:]" has "alpha" and
/// "\d" has "d". Capital letters are as small ones.
[[nodiscard]] inline std::optional<ByteSet> byte_class(std::string_view name) {
  const ByteSet upper = byte_range('A', 'Z'), lower = byte_range('a', 'z'),
                digit = byte_range('0', '9'), graph = byte_range('!', '~');
  const ByteSet alpha = upper | lower, alnum = alpha | digit, space = byte_set(" \t\n\v\f\r");
  std::string lowered(name);
  for (char& c : lowered)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lowered == "alnum") return alnum;
  if (lowered == "alpha") return alpha;
  if (lowered == "blank") return byte_set(" \t");
  if (lowered == "cntrl") return byte_range(0, 31) | one_byte('\x7f');
  if (lowered == "d" || lowered == "digit") return digit;
  if (lowered == "graph") return graph;
  if (lowered == "lower") return lower;
  if (lowered == "print") return graph | one_byte(' ');
  if (lowered == "punct") return graph & ~alnum;
  if (lowered == "s" || lowered == "space") return space;
  if (lowered == "upper") return upper;
  if (lowered == "w") return alnum | one_byte('_');
  if (lowered == "xdigit") return digit | byte_range('a', 'f') | byte_range('A', 'F');
  return std::nullopt;
}

/// True for the bytes of which words consist: letters, digits and "_" of ASCII.
[[nodiscard]] constexpr bool is_word_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace tq::detail
