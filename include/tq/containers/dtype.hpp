// SPDX-License-Identifier: MIT
#pragma once
// The element types tensor containers can hold, and their names in each container.

#include <tq/core/float_elements.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tq::io {

/// An element type of a container file. A type of fewer than 8 bits is packed without gaps.
enum class DType : std::uint8_t {
  bool_,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  c64,   ///< two f32: real, imaginary
  c128,  ///< two f64: real, imaginary
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e2m3,
  f6_e3m2,
  f4,
};

namespace detail {

struct DTypeRow {
  DType dtype;
  unsigned bits;
  std::string_view safetensors;  // empty: safetensors has no such type
  std::string_view npy;        // kind and item size without byte order; empty: npy has no such type
  int write_rank;              // place in the order the safetensors reference writes, 0 first
  std::string_view element{};  // the tq element with the same bits, of floats below 32 bits
};

// One row per DType, in the order of the enumeration.
inline constexpr std::array<DTypeRow, 23> dtype_rows{{
    {DType::bool_, 8, "BOOL", "b1", 21},
    {DType::u8, 8, "U8", "u1", 17},
    {DType::i8, 8, "I8", "i1", 16},
    {DType::u16, 16, "U16", "u2", 9},
    {DType::i16, 16, "I16", "i2", 10},
    {DType::u32, 32, "U32", "u4", 5},
    {DType::i32, 32, "I32", "i4", 6},
    {DType::u64, 64, "U64", "u8", 0},
    {DType::i64, 64, "I64", "i8", 1},
    {DType::f16, 16, "F16", "f2", 8, float16::name},
    {DType::bf16, 16, "BF16", "", 7, bfloat16::name},
    {DType::f32, 32, "F32", "f4", 4},
    {DType::f64, 64, "F64", "f8", 2},
    {DType::c64, 64, "C64", "c8", 3},
    {DType::c128, 128, "", "c16", 22},
    {DType::f8_e5m2, 8, "F8_E5M2", "", 15, float8_e5m2::name},
    {DType::f8_e4m3, 8, "F8_E4M3", "", 14, float8_e4m3fn::name},
    {DType::f8_e8m0, 8, "F8_E8M0", "", 13, float8_e8m0fnu::name},
    {DType::f8_e4m3fnuz, 8, "F8_E4M3FNUZ", "", 12, float8_e4m3fnuz::name},
    {DType::f8_e5m2fnuz, 8, "F8_E5M2FNUZ", "", 11, float8_e5m2fnuz::name},
    {DType::f6_e2m3, 6, "F6_E2M3", "", 19, float6_e2m3fn::name},
    {DType::f6_e3m2, 6, "F6_E3M2", "", 18, float6_e3m2fn::name},
    {DType::f4, 4, "F4", "", 20, float4_e2m1fn::name},
}};

[[nodiscard]] constexpr const DTypeRow& dtype_row(DType dtype) noexcept {
  return dtype_rows[static_cast<std::size_t>(dtype)];
}

}  // namespace detail

/// The width of one element in bits: 4, 6, 8, 16, 32, 64 or 128.
[[nodiscard]] constexpr unsigned bits(DType dtype) noexcept {
  return detail::dtype_row(dtype).bits;
}

/// True for real floating types of any width, including the scale type f8_e8m0.
[[nodiscard]] constexpr bool is_float(DType dtype) noexcept {
  return dtype >= DType::f16 && dtype != DType::c64 && dtype != DType::c128;
}

/// The name in a safetensors header ("F32"), empty when the format has no such type.
[[nodiscard]] constexpr std::string_view safetensors_name(DType dtype) noexcept {
  return detail::dtype_row(dtype).safetensors;
}

/// The npy type without byte order ("f4"), empty when the format has no such type.
[[nodiscard]] constexpr std::string_view npy_descr(DType dtype) noexcept {
  return detail::dtype_row(dtype).npy;
}

/// A name for messages: the safetensors one, "C128" for c128.
[[nodiscard]] constexpr std::string_view to_string(DType dtype) noexcept {
  return dtype == DType::c128 ? std::string_view("C128") : safetensors_name(dtype);
}

/// The type of that safetensors name, or nothing.
[[nodiscard]] constexpr std::optional<DType> dtype_from_safetensors(
    std::string_view name) noexcept {
  for (const detail::DTypeRow& row : detail::dtype_rows)
    if (!name.empty() && row.safetensors == name) return row.dtype;
  return std::nullopt;
}

/// The type of that npy type string without byte order, or nothing.
[[nodiscard]] constexpr std::optional<DType> dtype_from_npy(std::string_view descr) noexcept {
  for (const detail::DTypeRow& row : detail::dtype_rows)
    if (!descr.empty() && row.npy == descr) return row.dtype;
  return std::nullopt;
}

/// The type whose elements have the bits of the tq element of that name ("float8_e4m3fn"), or
/// nothing.
[[nodiscard]] constexpr std::optional<DType> dtype_from_element(std::string_view name) noexcept {
  for (const detail::DTypeRow& row : detail::dtype_rows)
    if (!name.empty() && row.element == name) return row.dtype;
  return std::nullopt;
}

/// The `DType` that stores a C++ type; only the types below have one.
template <class T>
struct dtype_of;
template <>
struct dtype_of<bool> : std::integral_constant<DType, DType::bool_> {};
template <>
struct dtype_of<std::uint8_t> : std::integral_constant<DType, DType::u8> {};
template <>
struct dtype_of<std::int8_t> : std::integral_constant<DType, DType::i8> {};
template <>
struct dtype_of<std::uint16_t> : std::integral_constant<DType, DType::u16> {};
template <>
struct dtype_of<std::int16_t> : std::integral_constant<DType, DType::i16> {};
template <>
struct dtype_of<std::uint32_t> : std::integral_constant<DType, DType::u32> {};
template <>
struct dtype_of<std::int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct dtype_of<std::uint64_t> : std::integral_constant<DType, DType::u64> {};
template <>
struct dtype_of<std::int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct dtype_of<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct dtype_of<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct dtype_of<std::complex<float>> : std::integral_constant<DType, DType::c64> {};
template <>
struct dtype_of<std::complex<double>> : std::integral_constant<DType, DType::c128> {};

}  // namespace tq::io
