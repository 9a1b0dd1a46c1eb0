// SPDX-License-Identifier: MIT
#pragma once
// The weight of ONNX Runtime's MatMulNBits operator: blocks of whole bytes along K, per output.

#include <tq/core/detail/sizes.hpp>
#include <tq/core/element.hpp>
#include <tq/core/packing.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/grouped_weight.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// A weight of K inputs and N outputs in blocks (`GroupedShape`; group_size is the attribute
/// block_size, a power of two of at least 16), real = (code - zero point) * scale:
///
///     B           uint8 [N, G, block_size * bits / 8]   code [n, k] is field k of row n
///     scales      float [N, G]                          of either sign
///     zero_points uint8 [N, ceil(G * bits / 8)]         absent: 2^(bits-1)
/// Fields follow one another from the lowest bit on. What follows those of a row, in its last block
/// or byte, is ignored when read and written as zero. The quantizer for symmetric blocks stores
/// negative scales. Zero points of the type of A (the operator allows them) are not codes, and not
/// read here.
/// Source: ONNX Runtime, docs/ContribOperators.md (com.microsoft.MatMulNBits) and
/// onnxruntime/core/mlas/lib/q4_dq.cpp.
namespace tq::layouts::matmul_nbits {

/// Unsigned codes of 2, 4 or 8 bits, all of them used.
template <class T>
concept Code = IntegerElement<T> && T::qmin == 0 && T::qmax == (1 << T::bits) - 1 &&
               (T::bits == 2 || T::bits == 4 || T::bits == 8);

/// The packing of the codes of a row of B.
using Codes = LowFirst;

/// The layout of zero_points.
struct ZeroPoints : DenseFields<std::uint8_t, 1> {};

/// An element that holds the difference of any code and zero point: int3, int5 or int16.
template <Code Type>
using Difference = basic_int<Type::bits == 8 ? 16 : Type::bits + 1, true>;

/// Bytes of a row of B. Precondition: the group size is a power of two of at least 16.
template <Code Type>
[[nodiscard]] constexpr std::size_t row_bytes(const GroupedShape& shape) noexcept {
  return detail::product_or_most(
      shape.groups(), detail::product_or_most(shape.group_size / 8, std::size_t{Type::bits}));
}

/// Bytes of zero_points. Precondition: the group size is at least 1.
template <Code Type>
[[nodiscard]] constexpr std::size_t zero_point_bytes(const GroupedShape& shape) noexcept {
  return detail::bit_fields<ZeroPoints, Type>::words(shape.outputs, shape.groups());
}

}  // namespace tq::layouts::matmul_nbits

namespace tq::detail {

inline void require_matmul_nbits(const char* function, const GroupedShape& shape) {
  require_grouped(function, shape);
  if (shape.group_size < 16 || !std::has_single_bit(shape.group_size))
    raise_expected(errc::bad_group_size, function,
                   {"a block size that is a power of two of at least 16"}, {shape.group_size});
}

template <layouts::matmul_nbits::Code Type>
void require_matmul_nbits(const char* function, const GroupedShape& shape, std::size_t bytes,
                          std::size_t codes) {
  require_matmul_nbits(function, shape);
  require_count(function, "bytes of B",
                require_product(function, "outputs and bytes of a row", shape.outputs,
                                layouts::matmul_nbits::row_bytes<Type>(shape)),
                bytes);
  require_count(function, "codes", shape.inputs * shape.outputs, codes);
}

template <layouts::matmul_nbits::Code Type>
void unpack_rows(const GroupedShape& shape, std::span<const std::uint8_t> bytes,
                 std::span<typename Type::code_type> codes) noexcept {
  const std::size_t k = shape.inputs, row = layouts::matmul_nbits::row_bytes<Type>(shape);
  if (k == 0) return;  // of any number of outputs
  const std::size_t used = layouts::matmul_nbits::Codes::bytes_for<Type>(k);
  for (std::size_t n = 0; n < shape.outputs; ++n)
    unpack_unchecked<Type, layouts::matmul_nbits::Codes>(
        std::as_bytes(bytes.subspan(n * row, used)), codes.subspan(n * k, k));
}

// Zero points [N, G] from the bytes of the operator's input, or without them the default.
template <layouts::matmul_nbits::Code Type>
[[nodiscard]] std::vector<std::int32_t> nbits_zero_points(const char* function,
                                                          const GroupedShape& shape,
                                                          std::span<const std::uint8_t> bytes) {
  const std::size_t n = shape.groups() * shape.outputs;
  if (bytes.empty()) return std::vector<std::int32_t>(n, 1 << (Type::bits - 1));
  require_count(function, "bytes of zero_points",
                layouts::matmul_nbits::zero_point_bytes<Type>(shape), bytes.size());
  std::vector<std::int32_t> out(n);
  bit_fields<layouts::matmul_nbits::ZeroPoints, Type>::load(bytes.data(), shape.outputs,
                                                            shape.groups(), out.data());
  return out;
}

}  // namespace tq::detail

namespace tq::layouts::matmul_nbits {

/// Reads `codes` [N, K] from the bytes of B.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_group_size`. Nothing is
/// written then.
template <Code Type>
void load(const GroupedShape& shape, std::span<const std::uint8_t> bytes,
          std::span<typename Type::code_type> codes) {
  detail::require_matmul_nbits<Type>("tq::layouts::matmul_nbits::load", shape, bytes.size(),
                                     codes.size());
  detail::unpack_rows<Type>(shape, bytes, codes);
}

/// Writes the bytes of B from `codes` [N, K].
/// Throws: as `load`; `errc::bad_argument` for codes that are not of the type. Nothing is written
/// then.
template <Code Type>
void store(const GroupedShape& shape, std::span<const typename Type::code_type> codes,
           std::span<std::uint8_t> bytes) {
  constexpr const char* function = "tq::layouts::matmul_nbits::store";
  detail::require_matmul_nbits<Type>(function, shape, bytes.size(), codes.size());
  detail::require_codes(errc::bad_argument, function, "codes", codes, Type::qmin, Type::qmax);
  const std::size_t k = shape.inputs, row = row_bytes<Type>(shape);
  const std::size_t used = Codes::bytes_for<Type>(k);
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (k == 0) return;
  for (std::size_t n = 0; n < shape.outputs; ++n)
    pack_unchecked<Type, Codes>(codes.subspan(n * k, k),
                                std::as_writable_bytes(bytes.subspan(n * row, used)));
}

/// Reads `zero_points` [N, G].
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_group_size`. Nothing is
/// written then.
template <Code Type>
void load_zero_points(const GroupedShape& shape, std::span<const std::uint8_t> bytes,
                      std::span<std::int32_t> zero_points) {
  constexpr const char* function = "tq::layouts::matmul_nbits::load_zero_points";
  detail::require_matmul_nbits(function, shape);
  detail::require_count(function, "bytes of zero_points", zero_point_bytes<Type>(shape),
                        bytes.size());
  detail::require_count(function, "zero points", shape.groups() * shape.outputs,
                        zero_points.size());
  detail::bit_fields<ZeroPoints, Type>::load(bytes.data(), shape.outputs, shape.groups(),
                                             zero_points.data());
}

/// Writes the bytes of zero_points from `zero_points` [N, G].
/// Throws: as `load_zero_points`; `errc::bad_zero_point` for those that are not codes. Nothing is
/// written then.
template <Code Type>
void store_zero_points(const GroupedShape& shape, std::span<const std::int32_t> zero_points,
                       std::span<std::uint8_t> bytes) {
  constexpr const char* function = "tq::layouts::matmul_nbits::store_zero_points";
  detail::require_matmul_nbits(function, shape);
  detail::require_count(function, "bytes of zero_points", zero_point_bytes<Type>(shape),
                        bytes.size());
  detail::require_count(function, "zero points", shape.groups() * shape.outputs,
                        zero_points.size());
  detail::require_codes(errc::bad_zero_point, function, "zero points", zero_points, Type::qmin,
                        Type::qmax);
  detail::bit_fields<ZeroPoints, Type>::store(zero_points.data(), shape.outputs, shape.groups(),
                                              bytes.data());
}

/// The weight as a tensor [N, K] with its parameters, for `tq::dequantize`. Without `zero_points`
/// these are 2^(bits-1). Scales may be 0 or negative (`GroupedWeight`).
/// Throws: as `load`; `errc::bad_scale` for scales that are not finite.
template <Code Type>
[[nodiscard]] GroupedWeight<GroupedParams<Type, 1, Asymmetric>> load_weight(
    const GroupedShape& shape, std::span<const std::uint8_t> bytes, std::span<const float> scales,
    std::span<const std::uint8_t> zero_points = {}) {
  constexpr const char* function = "tq::layouts::matmul_nbits::load_weight";
  detail::require_grouped(function, shape);
  detail::require_matmul_nbits<Type>(function, shape, bytes.size(), shape.inputs * shape.outputs);
  detail::require_count(function, "scales", shape.groups() * shape.outputs, scales.size());
  return detail::grouped_weight<GroupedParams<Type, 1, Asymmetric>>(
      function, shape, scales, detail::nbits_zero_points<Type>(function, shape, zero_points), {},
      [&](std::span<typename Type::code_type> codes) {
        detail::unpack_rows<Type>(shape, bytes, codes);
      });
}

/// The weight as a tensor [N, K] of differences, which needs no zero points: code - zero point with
/// |scale|, negated where the scale is negative, 0 with scale 1 where it is 0. Its real values are
/// those of the format, but for the sign of zeros. Throws: as `load`; `errc::bad_scale` for scales
/// that are not finite.
template <Code Type>
[[nodiscard]] GroupedWeight<GroupedParams<Difference<Type>, 1, Symmetric>> load_differences(
    const GroupedShape& shape, std::span<const std::uint8_t> bytes, std::span<const float> scales,
    std::span<const std::uint8_t> zero_points = {}) {
  constexpr const char* function = "tq::layouts::matmul_nbits::load_differences";
  detail::require_grouped(function, shape);
  const std::size_t k = shape.inputs, groups = shape.groups();
  detail::require_matmul_nbits<Type>(function, shape, bytes.size(), k * shape.outputs);
  detail::require_count(function, "scales", groups * shape.outputs, scales.size());
  std::vector<float> magnitudes(scales.size());
  std::ranges::transform(scales, magnitudes.begin(), [](float s) { return std::fabs(s); });
  const auto zeros = detail::nbits_zero_points<Type>(function, shape, zero_points);
  std::vector<typename Type::code_type> codes(k * shape.outputs);
  detail::unpack_rows<Type>(shape, bytes, codes);
  using code_type = typename Difference<Type>::code_type;
  return detail::grouped_weight<GroupedParams<Difference<Type>, 1, Symmetric>>(
      function, shape, magnitudes, {}, {}, [&](std::span<code_type> out) {
        if (k == 0) return;
        for (std::size_t n = 0; n < shape.outputs; ++n)
          for (std::size_t i = 0; i < k; ++i) {
            const std::size_t param = n * groups + i / shape.group_size;
            const std::int32_t d = std::int32_t{codes[n * k + i]} - zeros[param];
            out[n * k + i] = static_cast<code_type>(scales[param] < 0.0f ? -d : d);
          }
      });
}

}  // namespace tq::layouts::matmul_nbits
