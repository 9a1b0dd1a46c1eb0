// SPDX-License-Identifier: MIT
#pragma once
// The pack-quantized layout of compressed-tensors: signed codes, offset, dense in 32-bit words.

#include <tq/core/element.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/grouped_weight.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// A weight of K inputs and N outputs in groups (`GroupedShape`; the channel strategy is one group
/// of K), real = (code - zero point) * scale:
///
///     weight_packed     int32 [N, ceil(K * bits / 32)]   code [n, k] is field k of row n
///     weight_scale      float [N, G]
///     weight_zero_point int32 [ceil(N * bits / 32), G]   zero point [n, g] is field n of column g
///     weight_g_idx      int32 [K]                        the group of each input
/// Symmetric schemes have no zero points. Without weight_g_idx input k is in group k / group_size.
/// A field is code + 2^(bits-1), so that it is unsigned; fields follow one another from the lowest
/// bit on, across words. Earlier versions left the rest of a word empty (floor(32 / bits) fields in
/// each): the same for 1, 2, 4 and 8 bits, another layout for 3, 5, 6 and 7.
/// Source: compressed-tensors, src/compressed_tensors/compressors/pack_quantized/helpers.py.
namespace tq::layouts::compressed_tensors {

/// The codes of the format's width of 1 bit.
struct int1 {
  static constexpr ElementKind kind = ElementKind::integer;
  static constexpr int bits = 1;
  using code_type = std::int8_t;
  static constexpr std::int32_t qmin = -1, qmax = 0;
  static constexpr std::string_view name = "int1";
};

/// Signed codes of 1 to 8 bits, all of them used.
template <class T>
concept Code = IntegerElement<T> && T::bits >= 1 && T::bits <= 8 &&
               T::qmin == -(1 << (T::bits - 1)) && T::qmax == (1 << (T::bits - 1)) - 1;

/// The layout of a matrix packed along `Axis`, the format's packed_dim: 1 for weights, 0 for zero
/// points.
template <int Axis>
struct Packed : DenseFields<std::int32_t, Axis> {
  static_assert(Axis == 0 || Axis == 1,
                "tq::layouts::compressed_tensors::Packed: the axis is 0 or 1");
  template <IntegerElement T>
  static constexpr std::int32_t bias = 1 << (T::bits - 1);
};

/// Words of a matrix [rows, columns].
template <Code Type, int Axis>
[[nodiscard]] constexpr std::size_t words_for(std::size_t rows, std::size_t columns) noexcept {
  return detail::bit_fields<Packed<Axis>, Type>::words(rows, columns);
}

}  // namespace tq::layouts::compressed_tensors

namespace tq::detail {
template <layouts::compressed_tensors::Code Type, int Axis>
void require_compressed(const char* function, const char* what, std::size_t rows,
                        std::size_t columns, std::size_t words, std::size_t codes) {
  const std::size_t n = require_product(function, "rows and columns", rows, columns);
  require_count(function, what, layouts::compressed_tensors::words_for<Type, Axis>(rows, columns),
                words);
  require_count(function, "codes", n, codes);
}

template <layouts::compressed_tensors::Code Type>
void require_compressed_weight(const char* function, const GroupedShape& shape, std::size_t words,
                               std::size_t scales) {
  require_grouped(function, shape);
  require_compressed<Type, 1>(function, "words of weight_packed", shape.outputs, shape.inputs,
                              words, shape.inputs * shape.outputs);
  require_count(function, "scales", shape.groups() * shape.outputs, scales);
}

// Nothing for a weight_g_idx of nothing but -1, which is how the format says that it is not in use.
// Source: compressed-tensors, quantization/lifecycle/initialize.py.
inline std::span<const std::int32_t> used_g_idx(std::span<const std::int32_t> g_idx) {
  const bool unused = std::ranges::all_of(g_idx, [](std::int32_t g) { return g == -1; });
  return unused ? std::span<const std::int32_t>{} : g_idx;
}

template <layouts::compressed_tensors::Code Type>
[[nodiscard]] auto compressed_codes(const GroupedShape& shape,
                                    std::span<const std::int32_t> words) {
  return [=](std::span<typename Type::code_type> codes) {
    bit_fields<layouts::compressed_tensors::Packed<1>, Type>::load(words.data(), shape.outputs,
                                                                   shape.inputs, codes.data());
  };
}
}  // namespace tq::detail

namespace tq::layouts::compressed_tensors {

/// Reads the codes of a matrix [rows, columns] packed along `Axis`. `Out` is `Type::code_type`, or
/// std::int32_t as in parameters. Bits after the last code of a line are ignored.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_argument` for extents whose
/// product overflows. Nothing is written then.
template <Code Type, int Axis, class Out = typename Type::code_type>
  requires std::same_as<Out, typename Type::code_type> || std::same_as<Out, std::int32_t>
void load(std::size_t rows, std::size_t columns, std::span<const std::int32_t> words,
          std::span<std::type_identity_t<Out>> codes) {
  detail::require_compressed<Type, Axis>("tq::layouts::compressed_tensors::load", "words", rows,
                                         columns, words.size(), codes.size());
  detail::bit_fields<Packed<Axis>, Type>::load(words.data(), rows, columns, codes.data());
}

/// Writes the words of a matrix [rows, columns] packed along `Axis`.
/// Throws: as `load`; `errc::bad_argument` for codes that are not of the type. Nothing is written
/// then.
template <Code Type, int Axis, class In = typename Type::code_type>
  requires std::same_as<In, typename Type::code_type> || std::same_as<In, std::int32_t>
void store(std::size_t rows, std::size_t columns, std::span<const std::type_identity_t<In>> codes,
           std::span<std::int32_t> words) {
  constexpr const char* function = "tq::layouts::compressed_tensors::store";
  detail::require_compressed<Type, Axis>(function, "words", rows, columns, words.size(),
                                         codes.size());
  detail::require_codes(errc::bad_argument, function, "codes", codes, Type::qmin, Type::qmax);
  detail::bit_fields<Packed<Axis>, Type>::store(codes.data(), rows, columns, words.data());
}

/// The weight of a symmetric scheme as a tensor [N, K] with its parameters, for `tq::dequantize`.
/// An empty `g_idx`, and one of nothing but -1, means k / group_size. Scales may be 0.
/// Throws: as `load`, as `group_order`; `errc::bad_scale` for scales that are negative or not
/// finite; `errc::bad_group_size`.
template <Code Type>
[[nodiscard]] GroupedWeight<GroupedParams<Type, 1, Symmetric>> load_weight(
    const GroupedShape& shape, std::span<const std::int32_t> weight_packed,
    std::span<const float> scales, std::span<const std::int32_t> g_idx = {}) {
  constexpr const char* function = "tq::layouts::compressed_tensors::load_weight";
  detail::require_compressed_weight<Type>(function, shape, weight_packed.size(), scales.size());
  return detail::grouped_weight<GroupedParams<Type, 1, Symmetric>>(
      function, shape, scales, {}, detail::used_g_idx(g_idx),
      detail::compressed_codes<Type>(shape, weight_packed));
}

/// The weight of an asymmetric scheme. Scales may be 0 or negative (`GroupedWeight`).
/// Throws: as `load_weight`.
template <Code Type>
[[nodiscard]] GroupedWeight<GroupedParams<Type, 1, Asymmetric>> load_asymmetric_weight(
    const GroupedShape& shape, std::span<const std::int32_t> weight_packed,
    std::span<const float> scales, std::span<const std::int32_t> weight_zero_point,
    std::span<const std::int32_t> g_idx = {}) {
  constexpr const char* function = "tq::layouts::compressed_tensors::load_asymmetric_weight";
  detail::require_compressed_weight<Type>(function, shape, weight_packed.size(), scales.size());
  std::vector<std::int32_t> zero_points(scales.size());
  detail::require_compressed<Type, 0>(function, "words of weight_zero_point", shape.outputs,
                                      shape.groups(), weight_zero_point.size(), zero_points.size());
  detail::bit_fields<Packed<0>, Type>::load(weight_zero_point.data(), shape.outputs, shape.groups(),
                                            zero_points.data());
  return detail::grouped_weight<GroupedParams<Type, 1, Asymmetric>>(
      function, shape, scales, std::move(zero_points), detail::used_g_idx(g_idx),
      detail::compressed_codes<Type>(shape, weight_packed));
}

/// The weight of codes [N, K] that are not packed: int8 (int-quantized, naive-quantized), or of
/// fewer bits after `load`. Without `zero_points` these are 0. Scales may be 0 or negative. Throws:
/// as `load_weight`, for spans of other sizes; `errc::bad_zero_point`.
template <std::same_as<int8> Type = int8>  // a template, as few programs read such weights
[[nodiscard]] GroupedWeight<GroupedParams<Type, 1, Asymmetric>> load_codes(
    const GroupedShape& shape, std::span<const std::int8_t> codes, std::span<const float> scales,
    std::span<const std::int32_t> zero_points = {}, std::span<const std::int32_t> g_idx = {}) {
  constexpr const char* function = "tq::layouts::compressed_tensors::load_codes";
  detail::require_grouped(function, shape);
  const std::size_t params = shape.groups() * shape.outputs;
  detail::require_count(function, "codes", shape.inputs * shape.outputs, codes.size());
  detail::require_count(function, "scales", params, scales.size());
  std::vector<std::int32_t> zeros(zero_points.begin(), zero_points.end());
  if (zeros.empty()) zeros.resize(params, 0);
  detail::require_count(function, "zero points", params, zeros.size());
  return detail::grouped_weight<GroupedParams<Type, 1, Asymmetric>>(
      function, shape, scales, std::move(zeros), detail::used_g_idx(g_idx),
      [&](std::span<std::int8_t> to) { std::ranges::copy(codes, to.begin()); });
}

}  // namespace tq::layouts::compressed_tensors
