// SPDX-License-Identifier: MIT
#pragma once
// Weights of other programs as weights of layers, without floats in between; and the activations
// that such layers take.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/detail/weight_levels.hpp>
#include <tq/linear/grouped_weights.hpp>
#include <tq/model/byte_weights_of.hpp>
#include <tq/model/detail/weight_parts.hpp>
#include <tq/model/grouped_weights_of.hpp>
#include <tq/ops/backend/backend.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq {

namespace detail {

[[noreturn]] inline void refuse_negative_scale(float scale) {
  raise_expected(errc::unsupported, "tq::grouped_weights_of",
                 {"scales that are not negative, or codes whose negated values have codes as well"},
                 {"scale ", scale});
}

// The packed code of the negated value of each packed code; itself where there is none.
[[nodiscard]] inline std::array<std::uint8_t, 256> negated_codes(const WeightLevels& map) {
  std::array<std::uint8_t, 256> out{};
  for (std::size_t i = 0; i < map.count; ++i) {
    out[map.packed[i]] = map.packed[i];
    for (std::size_t j = 0; j < map.count; ++j)
      if (map.reals[j] == -map.reals[i]) out[map.packed[i]] = map.packed[j];
  }
  return out;
}

// Multiplies scales by factors. Scales stay positive: codes become those of the negated values, or
// of zeros.
inline void fold_factors(const CheckpointTensor& weight, GroupedCodes& of) {
  const auto negated = negated_codes(of.map);
  const auto is_zero = [&](std::uint8_t code) {
    for (std::size_t i = 0; i < of.map.count; ++i)
      if (of.map.packed[i] == code) return of.map.reals[i] == 0.0f;
    return false;
  };
  for_each_parameter("tq::grouped_weights_of", weight.tensor,
                     [&](std::size_t p, std::size_t first, std::size_t n) {
                       const float factor = weight.factors[weight.factors.size() == 1 ? 0 : p];
                       const float scale = of.scales[p] * factor;
                       of.scales[p] = scale;
                       if (valid_scale(scale) || (of.map.is_coded && !(scale < 0))) return;
                       const std::span<std::uint8_t> codes = of.packed.span().subspan(first, n);
                       if (!of.map.is_coded) {
                         if (scale != 0) refuse_negative_scale(scale);
                         const std::int32_t zero = of.zeros.empty() ? of.map.zero : of.zeros[p];
                         std::ranges::fill(codes, static_cast<std::uint8_t>(zero));
                         of.scales[p] = 1.0f;
                         return;
                       }
                       for (std::uint8_t& code : codes) {
                         if (negated[code] == code && !is_zero(code)) refuse_negative_scale(scale);
                         code = negated[code];
                       }
                       of.scales[p] = -scale;
                     });
}

}  // namespace detail

/// Packs a weight of another program for `GroupedLinear`: codes are packed anew, and no value
/// becomes a float. The layer takes activations as `activations_of` orders them. Scales that the
/// format multiplies one after the other are multiplied once, so that weights may be one rounding
/// off `decode`.
///
///     const tq::GroupedLinear<tq::Int8PerRow> layer(tq::grouped_weights_of(weight), bias);
///     layer.forward(tq::ConstTensorView(tq::activations_of(weight, x).data(), x.shape()), y);
///
/// Throws: as `grouped_weights_of` of an encoded tensor and as `decode`; `errc::unsupported` for
/// negative scales of codes that cannot be negated.
template <Backend B = default_backend>
[[nodiscard]] GroupedWeights grouped_weights_of(const CheckpointTensor& weight) {
  detail::require_checkpoint_tensor("tq::grouped_weights_of", weight);
  WeightLevels own;
  if (!weight.codebook.empty()) {
    detail::require_size("tq::grouped_weights_of", "a code book", 16, weight.codebook.size());
    own = WeightLevels::of_values(weight.codebook);
  }
  GroupedCodes of = detail::grouped_codes_of<grouped_elements, checkpoint_scales, B>(
      weight.tensor, weight.codebook.empty() ? nullptr : &own);
  if (!weight.factors.empty()) detail::fold_factors(weight, of);
  return GroupedWeights(of);
}

/// Packs such a weight for `QuantizedLinear` and the convolutions. Parameters are per tensor or
/// for each output, so that inputs are in their own order.
/// Throws: as `byte_weights_of` of an encoded tensor and as `decode`; `errc::bad_scale` for
/// negative scales.
template <Backend B = default_backend>
[[nodiscard]] ByteWeights byte_weights_of(const CheckpointTensor& weight) {
  constexpr const char* function = "tq::byte_weights_of";
  detail::require_checkpoint_tensor(function, weight);
  if (!weight.input_order.empty())
    detail::raise_expected(errc::unsupported, function, {"inputs in their own order"},
                           {"groups that are no neighbours"});
  if (weight.factors.empty())
    return byte_weights_of<byte_integers, checkpoint_scales, B>(weight.tensor);
  EncodedTensor folded = weight.tensor;
  std::vector<float> scales = folded.scales.values();
  const bool is_one = weight.factors.size() == 1;
  for (std::size_t p = 0; p < scales.size(); ++p) scales[p] *= weight.factors[is_one ? 0 : p];
  if (folded.spec.type == int8::name && folded.zero_points.empty())
    detail::for_each_parameter(
        function, weight.tensor, [&](std::size_t p, std::size_t first, std::size_t n) {
          if (scales[p] != 0) return;
          std::ranges::fill(folded.codes.span().subspan(first, n), std::byte{0});
          scales[p] = 1.0f;
        });
  folded.scales = Scales<float>(std::move(scales));
  return byte_weights_of<byte_integers, checkpoint_scales, B>(folded);
}

/// `x` [rows, inputs], row-major, with its columns in the order in which the weight has its inputs.
/// Throws: `errc::shape_mismatch` unless `x` has two axes and as many inputs.
[[nodiscard]] inline std::vector<float> activations_of(const CheckpointTensor& weight,
                                                       const ConstTensorView& x) {
  const Shape& shape = weight.tensor.shape;
  if (x.shape().rank() != 2 || shape.rank() != 2 || x.shape()[1] != shape[1])
    detail::raise_expected(errc::shape_mismatch, "tq::activations_of",
                           {"rows of the inputs of weights ", shape.extents()},
                           {"shape ", x.shape().extents()});
  const std::vector<std::size_t>& order = weight.input_order;
  if (!order.empty())
    detail::require_size("tq::activations_of", "an input order", shape[1], order.size());
  std::vector<float> out(x.shape().size());
  for (std::size_t r = 0; r < x.shape()[0]; ++r)
    for (std::size_t i = 0; i < shape[1]; ++i)
      out[r * shape[1] + i] =
          x.data()[static_cast<std::ptrdiff_t>(r) * x.stride(0) +
                   static_cast<std::ptrdiff_t>(order.empty() ? i : order[i]) * x.stride(1)];
  return out;
}

}  // namespace tq
