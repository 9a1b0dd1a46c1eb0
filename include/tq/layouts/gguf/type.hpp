// SPDX-License-Identifier: MIT
#pragma once
// The element types of GGUF files: their numbers, names and sizes.

#include <tq/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// The blocks of GGUF files. Source: ggml, ggml-common.h and ggml.h.
namespace tq::layouts::gguf {

/// A type of a GGUF tensor; the values are the numbers in the file.
enum class Type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_K = 10,
  q3_K = 11,
  q4_K = 12,
  q5_K = 13,
  q6_K = 14,
  q8_K = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42,
};

/// The numbers of a type: a block of `elements` values takes `bytes`. Numbers of several bytes in a
/// block, whose order depends on the file's, are `words` of `word_bytes` from `first_word` on.
struct TypeInfo {
  Type type;
  std::string_view name;
  std::uint32_t elements, bytes;
  std::uint32_t word_bytes = 1, first_word = 0, words = 0;
  bool words_known = true;  ///< false for types whose blocks are not understood
};

/// All types, by number. The numbers between belong to types that ggml removed.
inline constexpr std::array<TypeInfo, 35> types{{
    {Type::f32, "f32", 1, 4, 4, 0, 1},
    {Type::f16, "f16", 1, 2, 2, 0, 1},
    {Type::q4_0, "q4_0", 32, 18, 2, 0, 1},
    {Type::q4_1, "q4_1", 32, 20, 2, 0, 2},
    {Type::q5_0, "q5_0", 32, 22, 2, 0, 1},
    {Type::q5_1, "q5_1", 32, 24, 2, 0, 2},
    {Type::q8_0, "q8_0", 32, 34, 2, 0, 1},
    {Type::q8_1, "q8_1", 32, 36, 2, 0, 2},
    {Type::q2_K, "q2_K", 256, 84, 2, 80, 2},
    {Type::q3_K, "q3_K", 256, 110, 2, 108, 1},
    {Type::q4_K, "q4_K", 256, 144, 2, 0, 2},
    {Type::q5_K, "q5_K", 256, 176, 2, 0, 2},
    {Type::q6_K, "q6_K", 256, 210, 2, 208, 1},
    {Type::q8_K, "q8_K", 256, 292, 1, 0, 0, false},
    {Type::iq2_xxs, "iq2_xxs", 256, 66, 1, 0, 0, false},
    {Type::iq2_xs, "iq2_xs", 256, 74, 1, 0, 0, false},
    {Type::iq3_xxs, "iq3_xxs", 256, 98, 1, 0, 0, false},
    {Type::iq1_s, "iq1_s", 256, 50, 1, 0, 0, false},
    {Type::iq4_nl, "iq4_nl", 32, 18, 2, 0, 1},
    {Type::iq3_s, "iq3_s", 256, 110, 1, 0, 0, false},
    {Type::iq2_s, "iq2_s", 256, 82, 1, 0, 0, false},
    {Type::iq4_xs, "iq4_xs", 256, 136, 2, 0, 2},
    {Type::i8, "i8", 1, 1},
    {Type::i16, "i16", 1, 2, 2, 0, 1},
    {Type::i32, "i32", 1, 4, 4, 0, 1},
    {Type::i64, "i64", 1, 8, 8, 0, 1},
    {Type::f64, "f64", 1, 8, 8, 0, 1},
    {Type::iq1_m, "iq1_m", 256, 56, 1, 0, 0, false},
    {Type::bf16, "bf16", 1, 2, 2, 0, 1},
    {Type::tq1_0, "tq1_0", 256, 54, 2, 52, 1},
    {Type::tq2_0, "tq2_0", 256, 66, 2, 64, 1},
    {Type::mxfp4, "mxfp4", 32, 17},
    {Type::nvfp4, "nvfp4", 64, 36},
    {Type::q1_0, "q1_0", 128, 18, 2, 0, 1},
    {Type::q2_0, "q2_0", 64, 18, 2, 0, 1},
}};

/// The type of that number in a file, or null for a number that has no type.
[[nodiscard]] constexpr const TypeInfo* find_type(std::uint32_t number) noexcept {
  for (const TypeInfo& info : types)
    if (static_cast<std::uint32_t>(info.type) == number) return &info;
  return nullptr;
}

/// The type of that name, in upper or lower case ("q4_K", "q4_k"), or null.
[[nodiscard]] constexpr const TypeInfo* find_type(std::string_view name) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (const TypeInfo& info : types) {
    bool same = info.name.size() == name.size();
    for (std::size_t i = 0; same && i < name.size(); ++i)
      same = lower(info.name[i]) == lower(name[i]);
    if (same) return &info;
  }
  return nullptr;
}

/// Name and sizes of a type. Precondition: `type` is one of the enumeration.
[[nodiscard]] constexpr const TypeInfo& info_of(Type type) noexcept {
  return *find_type(static_cast<std::uint32_t>(type));
}

}  // namespace tq::layouts::gguf
