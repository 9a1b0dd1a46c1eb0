// SPDX-License-Identifier: MIT
#pragma once
// layer_stage: the stage by which a layer makes its outputs of sums.

#include <tq/error.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/clamp.hpp>
#include <tq/linear/output/detail/float_stage.hpp>
#include <tq/linear/output/detail/require_32_bits.hpp>
#include <tq/linear/output/float_output.hpp>

#include <cstddef>
#include <span>

namespace tq::detail {

// Throws: `errc::bad_argument` for a clamp of nothing, and for biases of int32 whose step is not
// known; `errc::bad_scale` for a product of scales that is infinite.
template <Activation In>
[[nodiscard]] FloatStage float_stage(const char* function, const In& in, std::size_t outputs,
                                     std::span<const float> weight_scales, const Bias& bias,
                                     const FloatOutput& out) {
  require_clamp(function, out.clamp);
  if (!In::is_static && !bias.integers().empty())
    raise_expected(errc::bad_argument, function, {"biases of float32 with a DynamicActivation"},
                   {"int32, whose steps it does not know"});
  FloatStage made(outputs, weight_scales, bias, out.clamp);
  if constexpr (In::is_static) {
    const float scale = in.scale();
    made.require_finite(function, {&scale, 1});
  }
  return made;
}

// The stage of a layer with these weights, if all of it fits.
template <Activation In, class Weights, class Out>
[[nodiscard]] typename Out::stage_type layer_stage(const char* function, const In& in,
                                                   const Weights& weights,
                                                   std::span<const float> weight_scales,
                                                   const Bias& bias, const Out& out) {
  using Value = typename Out::value_type;
  bias.require_fit(function, weights.outputs());
  if constexpr (ByteCode<Value>) {
    const auto is_zero = [&](std::size_t n) { return weights.reach(n) == 0; };
    const auto made = out.requantization(in.scale(), weight_scales, bias, is_zero).stage();
    made.template require_fit<Value>(function, weights);
    return made;
  } else {
    require_32_bits(function, weights, bias.integers());
    return float_stage(function, in, weights.outputs(), weight_scales, bias, out);
  }
}

}  // namespace tq::detail
