// SPDX-License-Identifier: MIT
#pragma once
// A tensor as a container file holds it: name, element type, extents, row-major little-endian
// bytes.

#include <tq/bodies.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/numeric/overflow.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/cast.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::io {

/// An owning tensor; `bytes` is row-major, little-endian, without padding. Rank and extents are
/// free.
struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::vector<std::byte> bytes;
};

/// The entry of a tensor in a file, known before its data are read.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::uint64_t offset = 0;  ///< where the stored data begin, in bytes from the start of the file
  std::uint64_t size_bytes = 0;  ///< size of the tensor in memory
};

/// The product of the extents taken left to right, or nothing when it exceeds 64 bits on the way.
[[nodiscard]] constexpr std::optional<std::uint64_t> element_count(
    std::span<const std::size_t> shape) noexcept {
  std::uint64_t count = 1;
  for (const std::size_t extent : shape) {
    if (extent != 0 && count > std::numeric_limits<std::uint64_t>::max() / extent)
      return std::nullopt;
    count *= extent;
  }
  return count;
}

/// Bytes of a packed tensor, or nothing when 64 bits overflow or the bits do not fill whole bytes.
[[nodiscard]] constexpr std::optional<std::uint64_t> storage_bytes(
    DType dtype, std::span<const std::size_t> shape) noexcept {
  const std::optional<std::uint64_t> count = element_count(shape);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() / bits(dtype))
    return std::nullopt;
  const std::uint64_t total = *count * bits(dtype);
  return total % 8 == 0 ? std::optional<std::uint64_t>(total / 8) : std::nullopt;
}

/// "[2, 3]": extents of any rank, for messages.
[[nodiscard]] TQ_API std::string shape_text(std::span<const std::size_t> shape);

namespace detail {

// The element count, after a check that `bytes` has the size that dtype and shape ask for.
[[nodiscard]] TQ_API std::size_t checked_count(const char* where, const Tensor& t);

// Bytes that hold so many elements; the last one need not be full.
[[nodiscard]] constexpr std::size_t bytes_of(DType dtype, std::size_t count) noexcept {
  return (count * bits(dtype) + 7) / 8;
}

TQ_API void require_bytes(const char* where, DType dtype, std::size_t count, std::size_t got);

// Whether bytes are the little-endian codes that a kernel reads and writes.
template <class Code>
[[nodiscard]] bool is_in_place(const std::byte* bytes) noexcept {
  return std::endian::native == std::endian::little &&
         reinterpret_cast<std::uintptr_t>(bytes) % alignof(Code) == 0;
}

template <class T, class Convert>
void widen(const std::byte* from, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = convert(load_le<T>(from + i * sizeof(T)));
}
template <class T>
void widen(const std::byte* from, std::span<float> out) {
  widen<T>(from, out, [](T v) { return static_cast<float>(v); });
}

// Floats of 16 bits.
template <CodedElement T, Backend B>
void widen_half(const std::byte* from, std::span<float> out) {
  using Code = typename T::code_type;
  if (!is_in_place<Code>(from)) return widen<Code>(from, out, &T::format::decode);
  cast_from<T>(std::span(reinterpret_cast<const Code*>(from), out.size()), out, on<B>);
}

// Codes of at most 8 bits, packed from the lowest bit of the first byte on.
template <CodedElement T>
void widen_small(const std::byte* from, std::span<float> out) {
  constexpr std::size_t width = T::bits;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = i * width, byte = at / 8;
    std::uint32_t code = std::to_integer<std::uint32_t>(from[byte]);
    if (at % 8 + width > 8) code |= std::to_integer<std::uint32_t>(from[byte + 1]) << 8;
    out[i] = tq::detail::value_of<typename T::format>((code >> at % 8) & ((1u << width) - 1u));
  }
}

template <class T, class Convert>
void narrow(std::span<const float> values, std::byte* to, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) store_le(to + i * sizeof(T), convert(values[i]));
}
// Narrows a value; finite values stay finite.
template <CodedElement T>
[[nodiscard]] typename T::code_type narrowed(float v) noexcept {
  using F = typename T::format;
  const auto code = tq::detail::is_finite(v) ? F::template encode<Saturate>(v, NearestEven{}, 0)
                                             : F::template encode<NonSaturate>(v, NearestEven{}, 0);
  return static_cast<typename T::code_type>(code);
}

// To floats of 16 bits. The kernels have one rule for all too large values, infinities included.
template <CodedElement T, Backend B>
void narrow_half(std::span<const float> values, std::byte* to) {
  using Code = typename T::code_type;
  using N = Numerics<NearestEven, Divide, NanToZero, ScaleOne, NonSaturate>;
  constexpr float most = T::format::max_finite;
  const kernels::Extremes e = B::min_max::run(values.data(), values.size());
  const bool fits = e.min >= -most && e.max <= most;
  if (!fits || !is_in_place<Code>(to)) return narrow<Code>(values, to, &narrowed<T>);
  cast_to<T>(values, std::span(reinterpret_cast<Code*>(to), values.size()), N{}, on<B>);
}

[[noreturn]] TQ_API void refuse_complex(const std::string& where, DType dtype);

}  // namespace detail

/// The extents as a `tq::Shape`. Throws: `errc::rank_too_large` beyond `tq::max_rank`.
[[nodiscard]] TQ_API Shape tensor_shape(const Tensor& tensor);

/// Stored elements as float32, into memory of the caller: smaller floats widen exactly; f64 and
/// integers round once, to nearest even (integers up to 2^24 in magnitude are exact); bool gives 0
/// or 1. Types below 8 bits begin at the lowest bit. Throws: `errc::unsupported` for complex types;
/// `errc::shape_mismatch` unless `bytes` holds as many elements as `out`.
template <Backend B = default_backend>
void to_float32(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
  detail::require_bytes("tq::io::to_float32", dtype, out.size(), bytes.size());
  const std::byte* from = bytes.data();
  switch (dtype) {
    case DType::f16: return detail::widen_half<float16, B>(from, out);
    case DType::bf16: return detail::widen_half<bfloat16, B>(from, out);
    case DType::f32: return detail::widen<float>(from, out);
    case DType::f64: return detail::widen<double>(from, out);
    case DType::u8: return detail::widen<std::uint8_t>(from, out);
    case DType::i8: return detail::widen<std::int8_t>(from, out);
    case DType::u16: return detail::widen<std::uint16_t>(from, out);
    case DType::i16: return detail::widen<std::int16_t>(from, out);
    case DType::u32: return detail::widen<std::uint32_t>(from, out);
    case DType::i32: return detail::widen<std::int32_t>(from, out);
    case DType::u64: return detail::widen<std::uint64_t>(from, out);
    case DType::i64: return detail::widen<std::int64_t>(from, out);
    case DType::bool_:
      return detail::widen<std::uint8_t>(from, out, [](auto v) { return v != 0 ? 1.0f : 0.0f; });
    case DType::f8_e5m2: return detail::widen_small<float8_e5m2>(from, out);
    case DType::f8_e4m3: return detail::widen_small<float8_e4m3fn>(from, out);
    case DType::f8_e8m0: return detail::widen_small<float8_e8m0fnu>(from, out);
    case DType::f8_e4m3fnuz: return detail::widen_small<float8_e4m3fnuz>(from, out);
    case DType::f8_e5m2fnuz: return detail::widen_small<float8_e5m2fnuz>(from, out);
    case DType::f6_e2m3: return detail::widen_small<float6_e2m3fn>(from, out);
    case DType::f6_e3m2: return detail::widen_small<float6_e3m2fn>(from, out);
    case DType::f4: return detail::widen_small<float4_e2m1fn>(from, out);
    case DType::c64:
    case DType::c128: detail::refuse_complex("tq::io::to_float32", dtype);
  }
}

/// Every element of a tensor as float32, as above. Throws: as above.
template <Backend B = default_backend>
[[nodiscard]] std::vector<float> to_float32(const Tensor& tensor) {
  std::vector<float> out(detail::checked_count("tq::io::to_float32", tensor));
  if (tensor.dtype == DType::c64 || tensor.dtype == DType::c128)
    detail::refuse_complex("tq::io::to_float32: " + tensor.name, tensor.dtype);
  to_float32<B>(tensor.dtype, tensor.bytes, out);
  return out;
}

/// Float values as a file stores them, into memory of the caller; smaller types round once to
/// nearest even, and what is finite and too large for them becomes the largest finite value.
/// Throws: `errc::shape_mismatch` unless `out` is as large as they are; `errc::unsupported` for a
/// dtype other than f16, bf16, f32, f64 and the four kinds of float8.
template <Backend B = default_backend>
void from_float32(std::span<const float> values, DType dtype, std::span<std::byte> out) {
  detail::require_bytes("tq::io::from_float32", dtype, values.size(), out.size());
  switch (dtype) {
    case DType::f16: return detail::narrow_half<float16, B>(values, out.data());
    case DType::bf16: return detail::narrow_half<bfloat16, B>(values, out.data());
    case DType::f32: return detail::narrow<float>(values, out.data(), [](float v) { return v; });
    case DType::f64:
      return detail::narrow<double>(values, out.data(), [](float v) { return double(v); });
    case DType::f8_e4m3:
      return detail::narrow<std::uint8_t>(values, out.data(), &detail::narrowed<float8_e4m3fn>);
    case DType::f8_e5m2:
      return detail::narrow<std::uint8_t>(values, out.data(), &detail::narrowed<float8_e5m2>);
    case DType::f8_e4m3fnuz:
      return detail::narrow<std::uint8_t>(values, out.data(), &detail::narrowed<float8_e4m3fnuz>);
    case DType::f8_e5m2fnuz:
      return detail::narrow<std::uint8_t>(values, out.data(), &detail::narrowed<float8_e5m2fnuz>);
    default:
      tq::detail::raise_expected(errc::unsupported, "tq::io::from_float32",
                                 {"F16, BF16, F32, F64 or float8"}, {to_string(dtype)});
  }
}

/// Rounds float values to what `from_float32` stores of them as `dtype`: what a reader will find.
/// Throws: `errc::unsupported` as above.
template <Backend B = default_backend>
void round_to(std::span<float> values, DType dtype) {
  alignas(4) std::array<std::byte, 4096> stored;
  if (dtype == DType::f32 || dtype == DType::f64) return;  // they hold every float
  const std::size_t most = stored.size() * 8 / bits(dtype);
  for (std::size_t i = 0; i < values.size(); i += most) {
    const std::span<float> some = values.subspan(i, std::min(most, values.size() - i));
    const std::span<std::byte> bytes =
        std::span(stored).first(detail::bytes_of(dtype, some.size()));
    from_float32<B>(some, dtype, bytes);
    to_float32<B>(dtype, bytes, some);
  }
}

/// A tensor of float values, as above. Throws: as above.
template <Backend B = default_backend>
[[nodiscard]] Tensor from_float32(std::string name, std::vector<std::size_t> shape,
                                  std::span<const float> values, DType dtype = DType::f32) {
  Tensor out{std::move(name), dtype, std::move(shape), {}};
  out.bytes.resize(detail::bytes_of(dtype, values.size()));
  from_float32<B>(values, dtype, out.bytes);
  static_cast<void>(detail::checked_count("tq::io::from_float32", out));
  return out;
}

/// A tensor of values of their own type. Throws: `errc::shape_mismatch`.
template <class T>
[[nodiscard]] Tensor from_values(std::string name, std::vector<std::size_t> shape,
                                 std::span<const T> values) {
  Tensor out{std::move(name), dtype_of<T>::value, std::move(shape), {}};
  out.bytes.resize(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i)
    store_le(out.bytes.data() + i * sizeof(T), values[i]);
  static_cast<void>(detail::checked_count("tq::io::from_values", out));
  return out;
}

/// A copy of the elements as T. Throws: `errc::shape_mismatch`; `errc::bad_argument` when T is not
/// the type stored (nothing is converted).
template <class T>
[[nodiscard]] std::vector<T> values(const Tensor& tensor) {
  if (tensor.dtype != dtype_of<T>::value)
    tq::detail::raise_text(errc::bad_argument,
                           {"tq::io::values: ", tensor.name, ": expected ",
                            to_string(dtype_of<T>::value), ", got ", to_string(tensor.dtype)});
  const std::size_t count = detail::checked_count("tq::io::values", tensor);
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = load_le<T>(tensor.bytes.data() + i * sizeof(T));
  return out;
}

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/tensor.ipp>
#endif
