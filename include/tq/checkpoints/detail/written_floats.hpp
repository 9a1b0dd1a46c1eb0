// SPDX-License-Identifier: MIT
#pragma once
// Weights of small floats, quantized by scales that formats store.

#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/nvfp4_scales.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/checkpoints/scaled_float8.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/detail/seen_ranges.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

/// E4M3 with one scale for each output; for each block of 128 outputs and 128 inputs.
[[nodiscard]] inline QuantSpec float8_rows() {
  QuantSpec spec;
  spec.type = float8_e4m3fn::name;
  return spec;
}
[[nodiscard]] inline QuantSpec float8_blocks() {
  QuantSpec spec = float8_rows();
  spec.granularity = PerBlock<>::name;
  return spec;
}

/// The format by which compressed-tensors rounds the largest magnitude of a block, whatever the
/// elements: a significand of 1.75 and more goes up to the next power of two.
template <class F>
struct OneMantissaBit {
  static constexpr int emax = F::emax, mantissa_bits = 1;
};

/// Elements T in blocks of 32 inputs under scales of E8M0. Source: compressed-tensors,
/// quantization/utils/mxfp_utils.py (generate_mx_scales).
template <CodedElement T, Backend B>
[[nodiscard]] EncodedTensor encode_microscaled(const ConstTensorView& values,
                                               const io::WeightCoder* coder) {
  QuantSpec spec;
  spec.type = T::name;
  spec.granularity = PerGroup<>::name;
  spec.group_size = 32;
  spec.scale_type = float8_e8m0fnu::name;
  const auto fit = [](StoredParameters& p, std::span<const Range> ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i)
      p.scales.codes[i] =
          static_cast<std::uint16_t>(ExponentEven::code<OneMantissaBit<typename T::format>>(
              std::max(-ranges[i].min, ranges[i].max)));
  };
  return encode_stored<B>(values, spec, coder, fit, [](std::span<Range>) {});
}

// The largest magnitude of the finite values.
template <Backend B>
[[nodiscard]] float largest_magnitude(const ConstTensorView& values) {
  SeenRanges seen;
  seen.start(1);
  if (values.size() != 0) seen.template add<B>(values, values.shape(), Serial{});
  const Range all = seen.finish()[0];
  return std::max(-all.min, all.max);
}

// Sets the largest magnitude of the fused set to that of these values, where it is not known.
// Throws: `errc::bad_argument` where it is smaller than that of the values.
template <Backend B>
void set_magnitude(const ConstTensorView& values, io::LinearWeight& layer) {
  const float most = largest_magnitude<B>(values);
  if (layer.set_abs_max == 0) layer.set_abs_max = most;
  if (most > layer.set_abs_max)
    raise_text(errc::bad_argument,
               {"tq::format: ", layer.module, ": expected magnitudes up to that of its fused set, ",
                layer.set_abs_max, ", got ", most});
}

// E4M3 with one scale, as a file of that type stores it, for the magnitudes of a fused set.
[[nodiscard]] inline EncodedTensor float8_of_set(float abs_max, io::DType type) {
  QuantSpec spec = float8_rows();
  spec.granularity = PerTensor::name;
  const Range range{-abs_max, abs_max};
  return stored_fit(spec, {&range, 1}, [&](StoredParameters& p, std::span<const Range>) {
    round_scales(p.scales.factors, type);
  });
}

/// E4M3 with one scale of the fused set, whose largest magnitude becomes that of these values where
/// it is not known. Throws: `errc::bad_argument` where it is smaller than that of the values.
template <Backend B>
[[nodiscard]] EncodedTensor encode_float8(const ConstTensorView& values, io::LinearWeight& layer,
                                          io::DType scale_type, const io::WeightCoder* coder) {
  set_magnitude<B>(values, layer);
  const EncodedTensor of_set = float8_of_set(layer.set_abs_max, scale_type);
  const auto fit = [&](StoredParameters& p, std::span<const Range> ranges) {
    p.scales.factors.assign(ranges.size(), of_set.scales[0]);
  };
  return encode_stored<B>(values, of_set.spec, coder, fit, [](std::span<Range>) {});
}

/// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme, and for
/// a scale other than that of the fused set, where its magnitude is known.
[[nodiscard]] inline std::vector<io::Tensor> save_float8(
    const io::LinearWeight& layer, const checkpoints::ScaledFloat8::Written& how,
    const CheckpointTensor& weight) {
  std::vector<io::Tensor> parts = checkpoints::ScaledFloat8::save(layer, how, weight);
  if (layer.set_abs_max == 0) return parts;
  const float expected = float8_of_set(layer.set_abs_max, how.scale_type).scales[0];
  if (weight.tensor.scales[0] != expected)
    io::detail::refuse_saving(checkpoints::ScaledFloat8::name,
                              "the scale of its fused set, " + number_text(expected),
                              number_text(weight.tensor.scales[0]));
  return parts;
}

/// E2M1 in blocks of 16 inputs under scales of E4M3 and one of the fused set, whose largest
/// magnitude becomes that of these values where it is not known. Throws: `errc::bad_argument` where
/// it is smaller than that of the values.
template <Backend B>
[[nodiscard]] EncodedTensor encode_nvfp4(const ConstTensorView& values, io::LinearWeight& layer,
                                         io::detail::Nvfp4Scales::Kind kind,
                                         const io::WeightCoder* coder) {
  QuantSpec spec;
  spec.type = float4_e2m1fn::name;
  spec.granularity = PerGroup<>::name;
  spec.group_size = 16;
  set_magnitude<B>(values, layer);
  const auto fit = [&](StoredParameters& p, std::span<const Range> ranges) {
    static_cast<void>(
        io::detail::Nvfp4Scales::fit(kind, layer.set_abs_max, ranges, p.scales.factors));
  };
  return encode_stored<B>(values, spec, coder, fit, [](std::span<Range>) {});
}

}  // namespace tq::detail
