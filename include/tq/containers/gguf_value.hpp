// SPDX-License-Identifier: MIT
#pragma once
// The values under the keys of a GGUF file.

#include <tq/bodies.hpp>
#include <tq/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tq::io {

/// An array under a key; the place of the alternative is the number of the element type. Arrays of
/// arrays, which the document of the format allows and ggml refuses, have no alternative.
using GgufArray =
    std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                 std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                 std::vector<float>, std::vector<bool>, std::vector<std::string>, std::monostate,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;

/// A value under a key; the place of the alternative is the number of its type in the file.
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                               std::uint32_t, std::int32_t, float, bool, std::string, GgufArray,
                               std::uint64_t, std::int64_t, double>;

/// A key and its value.
struct GgufEntry {
  std::string name;
  GgufValue value;
};

/// The key of the alignment of tensor data, a power of two as uint32; 32 bytes without it.
inline constexpr std::string_view gguf_alignment_key = "general.alignment";

namespace detail {

// The names of the types of values, by number.
inline constexpr std::array<std::string_view, 13> gguf_value_types{
    "uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
    "bool",  "string", "array",  "uint64", "int64",  "float64"};
inline constexpr std::size_t gguf_array_type = 9;

// The fewest bytes that a value of a type takes.
inline constexpr std::array<std::uint64_t, 13> gguf_value_bytes{1, 1, 2,  2, 4, 4, 4,
                                                                1, 8, 12, 8, 8, 8};

[[nodiscard]] constexpr bool is_gguf_alignment(std::uint32_t alignment) noexcept {
  return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

// `offset`, rounded up to the alignment. Precondition: `offset` is below 2^63.
[[nodiscard]] constexpr std::uint64_t gguf_aligned(std::uint64_t offset,
                                                   std::uint32_t alignment) noexcept {
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace detail

/// The name of a value's type ("uint32").
[[nodiscard]] TQ_API std::string_view type_name(const GgufValue& value) noexcept;

/// The value of a key, or null if no entry has that key.
[[nodiscard]] TQ_API const GgufValue* find_gguf_value(std::span<const GgufEntry> entries,
                                                      std::string_view key) noexcept;

/// An integer of at least 0 under a key, or the first of an array of them; nothing where there is
/// none.
[[nodiscard]] TQ_API std::optional<std::uint64_t> gguf_count(std::span<const GgufEntry> entries,
                                                             std::string_view key);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/gguf_value.ipp>
#endif
