// SPDX-License-Identifier: MIT
#pragma once
// The AWQ checkpoint layout ("GEMM"): 4-bit codes packed along the outputs, nibbles interleaved.

#include <tq/core/element.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/grouped_weight.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// A weight of K inputs and N outputs in groups (`GroupedShape`),
/// real = (code - zero point) * scale:
///
///     qweight int32 [K, N / 8]   nibble i of word [k, c] is the code of output 8 c + order[i]
///     qzeros  int32 [G, N / 8]   the zero points of a group, in the same order, as they are
///     scales  float [G, N]
/// with order = 0, 2, 4, 6, 1, 3, 5, 7. There is no other width; "GEMV" is another layout.
/// Source: AutoAWQ, awq/utils/packing_utils.py and awq/modules/linear/gemm.py.
namespace tq::layouts::awq {

/// The layout of qweight and qzeros.
struct Gemm : DenseFields<std::int32_t, 1> {
  /// The nibble of each output of a word: the inverse of `order`.
  static constexpr std::array<std::size_t, 8> nibble{0, 4, 1, 5, 2, 6, 3, 7};
  static constexpr std::size_t slot(std::size_t i) noexcept { return i / 8 * 8 + nibble[i % 8]; }
};

/// Words of qweight. Precondition: N is a multiple of 8.
[[nodiscard]] constexpr std::size_t qweight_words(const GroupedShape& shape) noexcept {
  return detail::bit_fields<Gemm, uint4>::words(shape.inputs, shape.outputs);
}

/// Words of qzeros. Preconditions: N is a multiple of 8, the group size is at least 1.
[[nodiscard]] constexpr std::size_t qzeros_words(const GroupedShape& shape) noexcept {
  return detail::bit_fields<Gemm, uint4>::words(shape.groups(), shape.outputs);
}

}  // namespace tq::layouts::awq

namespace tq::detail {
inline void require_awq(const char* function, const GroupedShape& shape, std::size_t qweight,
                        std::size_t qzeros, std::size_t codes, std::size_t zero_points) {
  require_grouped(function, shape);
  require_multiple(function, "outputs", 8, shape.outputs);
  require_count(function, "words of qweight", layouts::awq::qweight_words(shape), qweight);
  require_count(function, "words of qzeros", layouts::awq::qzeros_words(shape), qzeros);
  require_count(function, "codes", shape.inputs * shape.outputs, codes);
  require_count(function, "zero points", shape.groups() * shape.outputs, zero_points);
}
}  // namespace tq::detail

namespace tq::layouts::awq {

/// Reads `codes` [K, N] of uint4 and `zero_points` [G, N].
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_argument` when N is no
/// multiple of 8; `errc::bad_group_size`. Nothing is written then.
inline void load(const GroupedShape& shape, std::span<const std::int32_t> qweight,
                 std::span<const std::int32_t> qzeros, std::span<std::uint8_t> codes,
                 std::span<std::int32_t> zero_points) {
  detail::require_awq("tq::layouts::awq::load", shape, qweight.size(), qzeros.size(), codes.size(),
                      zero_points.size());
  using fields = detail::bit_fields<Gemm, uint4>;
  fields::load(qweight.data(), shape.inputs, shape.outputs, codes.data());
  fields::load(qzeros.data(), shape.groups(), shape.outputs, zero_points.data());
}

/// Writes qweight and qzeros from `codes` [K, N] of uint4 and `zero_points` [G, N].
/// Throws: as `load`; `errc::bad_argument` for codes and `errc::bad_zero_point` for zero points
/// outside [0, 15]. Nothing is written then.
inline void store(const GroupedShape& shape, std::span<const std::uint8_t> codes,
                  std::span<const std::int32_t> zero_points, std::span<std::int32_t> qweight,
                  std::span<std::int32_t> qzeros) {
  constexpr const char* function = "tq::layouts::awq::store";
  detail::require_awq(function, shape, qweight.size(), qzeros.size(), codes.size(),
                      zero_points.size());
  detail::require_codes(errc::bad_argument, function, "codes", codes, uint4::qmin, uint4::qmax);
  detail::require_codes(errc::bad_zero_point, function, "zero points", zero_points, uint4::qmin,
                        uint4::qmax);
  using fields = detail::bit_fields<Gemm, uint4>;
  fields::store(codes.data(), shape.inputs, shape.outputs, qweight.data());
  fields::store(zero_points.data(), shape.groups(), shape.outputs, qzeros.data());
}

/// The weight as a tensor [K, N] with its parameters, for `tq::dequantize`.
/// Scales may be 0 or negative (`GroupedWeight`).
/// Throws: as `load`; `errc::bad_scale` for scales that are not finite.
template <std::same_as<uint4> Type = uint4>  // a template, as few programs read such weights
[[nodiscard]] GroupedWeight<GroupedParams<Type, 0, Asymmetric>> load_weight(
    const GroupedShape& shape, std::span<const std::int32_t> qweight,
    std::span<const std::int32_t> qzeros, std::span<const float> scales) {
  constexpr const char* function = "tq::layouts::awq::load_weight";
  detail::require_grouped(function, shape);
  const std::size_t params = shape.groups() * shape.outputs;
  detail::require_awq(function, shape, qweight.size(), qzeros.size(), shape.inputs * shape.outputs,
                      params);
  detail::require_count(function, "scales", params, scales.size());
  using fields = detail::bit_fields<Gemm, uint4>;
  std::vector<std::int32_t> zero_points(params);
  fields::load(qzeros.data(), shape.groups(), shape.outputs, zero_points.data());
  return detail::grouped_weight<GroupedParams<Type, 0, Asymmetric>>(
      function, shape, scales, std::move(zero_points), {}, [&](std::span<std::uint8_t> codes) {
        fields::load(qweight.data(), shape.inputs, shape.outputs, codes.data());
      });
}

}  // namespace tq::layouts::awq
