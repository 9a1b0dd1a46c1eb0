// SPDX-License-Identifier: MIT
#pragma once
// A tensor as a container file holds it: name, element type, extents, row-major little-endian
// bytes.

#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/io/dtype.hpp>
#include <tq/io/little_endian.hpp>

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

/// What a file says about a tensor before its data are read.
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
[[nodiscard]] inline std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  return text + "]";
}

namespace detail {

// The element count, after a check that `bytes` has the size that dtype and shape ask for.
[[nodiscard]] inline std::size_t checked_count(const char* where, const Tensor& t) {
  const std::optional<std::uint64_t> size = storage_bytes(t.dtype, t.shape);
  if (!size || *size != t.bytes.size())
    raise(errc::shape_mismatch,
          std::string(where) + ": " + t.name + ": expected " +
              (size ? std::to_string(*size) + " bytes" : std::string("a shape of whole bytes")) +
              " for " + std::string(to_string(t.dtype)) + " " + shape_text(t.shape) + ", got " +
              std::to_string(t.bytes.size()) + " bytes");
  return static_cast<std::size_t>(*element_count(t.shape));
}

template <class T, class Convert>
[[nodiscard]] std::vector<float> widen(const Tensor& t, std::size_t count, Convert convert) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = convert(load_le<T>(t.bytes.data() + i * sizeof(T)));
  return out;
}

// Codes of at most 8 bits, packed from the lowest bit of the first byte on.
template <CodedElement T>
[[nodiscard]] std::vector<float> decode_small(const Tensor& t, std::size_t count) {
  constexpr std::size_t width = T::bits;
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * width, byte = at / 8;
    std::uint32_t code = std::to_integer<std::uint32_t>(t.bytes[byte]);
    if (at % 8 + width > 8) code |= std::to_integer<std::uint32_t>(t.bytes[byte + 1]) << 8;
    out[i] = T::format::decode((code >> at % 8) & ((1u << width) - 1u));
  }
  return out;
}

// The code of a float8 nearest to a value.
template <CodedElement T>
[[nodiscard]] std::uint8_t to_code(float value) {
  return static_cast<std::uint8_t>(
      T::format::template encode<Saturate>(value, NearestEven{}, 0));
}

}  // namespace detail

/// The extents as a `tq::Shape`. Throws: `errc::rank_too_large` beyond `tq::max_rank`.
[[nodiscard]] inline Shape tensor_shape(const Tensor& tensor) {
  if (tensor.shape.size() > std::size_t{max_rank})
    raise(errc::rank_too_large, "tq::io::tensor_shape: " + tensor.name +
                                    ": expected a rank of at most " + std::to_string(max_rank) +
                                    ", got " + std::to_string(tensor.shape.size()));
  return Shape(std::span<const std::size_t>(tensor.shape));
}

/// Every element as float32: smaller floats widen exactly; f64 and integers round once, to nearest
/// even (integers up to 2^24 in magnitude are exact); bool gives 0 or 1. Throws:
/// `errc::unsupported` for complex types; `errc::shape_mismatch`.
[[nodiscard]] inline std::vector<float> to_float32(const Tensor& tensor) {
  const std::size_t n = detail::checked_count("tq::io::to_float32", tensor);
  const auto cast = [](auto v) { return static_cast<float>(v); };
  switch (tensor.dtype) {
    case DType::f16: return detail::widen<std::uint16_t>(tensor, n, half_to_float);
    case DType::bf16: return detail::widen<std::uint16_t>(tensor, n, bfloat16_to_float);
    case DType::f32: return detail::widen<float>(tensor, n, cast);
    case DType::f64: return detail::widen<double>(tensor, n, cast);
    case DType::u8: return detail::widen<std::uint8_t>(tensor, n, cast);
    case DType::i8: return detail::widen<std::int8_t>(tensor, n, cast);
    case DType::u16: return detail::widen<std::uint16_t>(tensor, n, cast);
    case DType::i16: return detail::widen<std::int16_t>(tensor, n, cast);
    case DType::u32: return detail::widen<std::uint32_t>(tensor, n, cast);
    case DType::i32: return detail::widen<std::int32_t>(tensor, n, cast);
    case DType::u64: return detail::widen<std::uint64_t>(tensor, n, cast);
    case DType::i64: return detail::widen<std::int64_t>(tensor, n, cast);
    case DType::bool_:
      return detail::widen<std::uint8_t>(tensor, n, [](auto v) { return v != 0 ? 1.0f : 0.0f; });
    case DType::f8_e5m2: return detail::decode_small<float8_e5m2>(tensor, n);
    case DType::f8_e4m3: return detail::decode_small<float8_e4m3fn>(tensor, n);
    case DType::f8_e8m0: return detail::decode_small<float8_e8m0fnu>(tensor, n);
    case DType::f8_e4m3fnuz: return detail::decode_small<float8_e4m3fnuz>(tensor, n);
    case DType::f8_e5m2fnuz: return detail::decode_small<float8_e5m2fnuz>(tensor, n);
    case DType::f6_e2m3: return detail::decode_small<float6_e2m3fn>(tensor, n);
    case DType::f6_e3m2: return detail::decode_small<float6_e3m2fn>(tensor, n);
    case DType::f4: return detail::decode_small<float4_e2m1fn>(tensor, n);
    default: break;
  }
  raise(errc::unsupported, "tq::io::to_float32: " + tensor.name + ": expected a real type, got " +
                               std::string(to_string(tensor.dtype)));
}

/// A tensor of float values; smaller types round once to nearest even. Overflow gives infinity in f16
/// and bf16, the largest value in float8. Throws: `errc::shape_mismatch`; `errc::unsupported` for a
/// dtype other than f16, bf16, f32, f64 and the four kinds of float8.
[[nodiscard]] inline Tensor from_float32(std::string name, std::vector<std::size_t> shape,
                                         std::span<const float> values, DType dtype = DType::f32) {
  const auto fill = [&]<class T>(Tensor& out, T (*convert)(float)) {
    out.bytes.resize(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i)
      store_le(out.bytes.data() + i * sizeof(T), convert(values[i]));
  };
  Tensor out{std::move(name), dtype, std::move(shape), {}};
  switch (dtype) {
    case DType::f16: fill(out, &float_to_half); break;
    case DType::bf16: fill(out, &float_to_bfloat16); break;
    case DType::f32:
      fill(
          out, +[](float v) { return v; });
      break;
    case DType::f64:
      fill(
          out, +[](float v) { return static_cast<double>(v); });
      break;
    case DType::f8_e4m3: fill(out, &detail::to_code<float8_e4m3fn>); break;
    case DType::f8_e5m2: fill(out, &detail::to_code<float8_e5m2>); break;
    case DType::f8_e4m3fnuz: fill(out, &detail::to_code<float8_e4m3fnuz>); break;
    case DType::f8_e5m2fnuz: fill(out, &detail::to_code<float8_e5m2fnuz>); break;
    default:
      raise(errc::unsupported, "tq::io::from_float32: " + out.name +
                                   ": expected F16, BF16, F32, F64 or float8, got " +
                                   std::string(to_string(dtype)));
  }
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
    raise(errc::bad_argument, "tq::io::values: " + tensor.name + ": expected " +
                                  std::string(to_string(dtype_of<T>::value)) + ", got " +
                                  std::string(to_string(tensor.dtype)));
  const std::size_t count = detail::checked_count("tq::io::values", tensor);
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = load_le<T>(tensor.bytes.data() + i * sizeof(T));
  return out;
}

}  // namespace tq::io
