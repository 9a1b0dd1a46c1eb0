// SPDX-License-Identifier: MIT
#pragma once
// CodeOutput: a layer gives codes.

#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/clamp.hpp>
#include <tq/linear/output/float_product.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantizer.hpp>
#include <tq/ops/detail/checks.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
// The numbers of an `OutputStage`.
template <Requantizer R>
struct Requantization {
  std::vector<double> factors;   // one, or one for each output
  std::vector<bias_of<R>> bias;  // none, or one for each output
  std::int32_t zero_point, low, high;

  [[nodiscard]] OutputStage<R> stage() const {
    return OutputStage<R>(factors, zero_point, low, high, bias);
  }
};
}  // namespace detail

/// A layer gives codes with `params`, in the rounding R, and clamped: what quantizing its clamped
/// floats gives, where R is `RequantizeFloat` and floats are exact. Biases of float32 become int32
/// by `quantize_bias`, or stay where R is `RequantizeTorch`. A bound of the clamp becomes a code by
/// the numerics of the source that the parameters come from, those of ONNX for parameters alone:
/// numerics::torch multiplies by the reciprocal of the scale. It is rounded to nearest even;
/// TensorFlow Lite rounds one that is a tie away from 0.
///
/// Outputs whose weights are all 0 have the codes of their biases, whatever the scale of these
/// weights is: `quantize_dynamic` gives them the scale 1, and a step of 1 * the scale of x would
/// round a bias away. Their biases are the quotients bias / scale of the output, in steps of a
/// power of two, instead. Peers choose the scale of such weights when they quantize them.
/// TensorFlow Lite's converter begins with 0 and enlarges the scale until the bias takes half of 32
/// bits, so that the bias survives. ONNX Runtime's takes 1 and makes no scale smaller, so that a
/// small bias is lost. Both enlarge a scale that is so small that the bias leaves 32 bits; here
/// such a bias is refused unless all weights of the output are 0, as weights that have codes keep
/// their scale.
template <ByteParams Params, Requantizer R = RequantizeFloat>
  requires(Params::is_per_tensor && !Params::has_offset)
class CodeOutput {
 public:
  using value_type = typename Params::code_type;
  using stage_type = OutputStage<R>;

  /// Throws: `errc::bad_argument` unless clamp.low <= clamp.high.
  explicit CodeOutput(Params params, Clamp clamp = {}, R = {})
      : CodeOutput(std::move(params), clamp, numerics::onnx{}, 0) {}
  /// Throws: also what `trained.params()` throws.
  template <ActivationSource Trained>
  explicit CodeOutput(const Trained& trained, Clamp clamp = {}, R = {})
      : CodeOutput(trained.params(), clamp, trained.numerics(), 0) {}

  [[nodiscard]] const Params& params() const noexcept { return params_; }

  /// For the scale of x and those of weights: one, or one for each output, of which there may be
  /// none. `is_zero(n)` says whether all weights of output n are 0. Throws: as `quantize_bias`;
  /// `errc::bad_scale`, with the output, for a bias that is infinite in steps of x_scale * weight
  /// scale.
  template <std::predicate<std::size_t> IsZero>
  [[nodiscard]] detail::Requantization<R> requantization(float x_scale,
                                                         std::span<const float> weight_scales,
                                                         const Bias& bias,
                                                         const IsZero& is_zero) const {
    detail::Requantization<R> out{{}, {}, params_.affine(0).zero_point, low_, high_};
    const bool one = weight_scales.size() == 1;
    for (const float w : weight_scales)
      out.factors.push_back(R::factor(x_scale, w, params_.scales()[0]));
    if (weight_scales.empty()) out.factors.push_back(1.0);  // of no outputs: stages have one
    if (!one)
      detail::require_size("tq::CodeOutput", "scales of weights, one for each bias,",
                           bias.empty() ? weight_scales.size() : bias.size(), weight_scales.size());
    if (bias.floats().empty()) {
      for (const std::int32_t b : bias.integers())
        out.bias.push_back(static_cast<detail::bias_of<R>>(b));
      return out;
    }
    const auto is_alone = [&](std::size_t n) {
      return is_zero(n) && (!one || all_zero(bias, is_zero));
    };
    for (std::size_t n = 0; n < bias.floats().size(); ++n) {
      if (is_alone(n)) {
        if (one) out.factors.resize(bias.size(), out.factors[0]);
        set_alone(out, n, bias.floats()[n]);
      } else {
        out.bias.push_back(steps_of(bias.floats()[n], n, x_scale, weight_scales[one ? 0 : n], one));
      }
    }
    return out;
  }
  /// The same where no output is known to have weights of 0 alone.
  [[nodiscard]] detail::Requantization<R> requantization(float x_scale,
                                                         std::span<const float> weight_scales,
                                                         const Bias& bias) const {
    return requantization(x_scale, weight_scales, bias, [](std::size_t) { return false; });
  }

 private:
  template <NumericsPolicy N>
  CodeOutput(Params params, const Clamp& clamp, const N& by, int) : params_(std::move(params)) {
    detail::require_clamp("tq::CodeOutput", clamp);
    low_ = bound(clamp.low, by);
    high_ = bound(clamp.high, by);
  }

  // The code of a bound of the clamp, to nearest even.
  template <NumericsPolicy N>
  [[nodiscard]] std::int32_t bound(float v, const N&) const noexcept {
    const double zero = params_.affine(0).zero_point;
    const float steps = std::isinf(v) ? v : N::scaling_type::apply(v, params_.scales()[0]);
    return static_cast<std::int32_t>(std::clamp<double>(std::nearbyint(double(steps)) + zero,
                                                        Params::codes.min, Params::codes.max));
  }

  template <class IsZero>
  [[nodiscard]] static bool all_zero(const Bias& bias, const IsZero& is_zero) {
    for (std::size_t n = 0; n < bias.size(); ++n)
      if (!is_zero(n)) return false;
    return true;
  }

  // A bias in steps of the sums of output n.
  [[nodiscard]] static detail::bias_of<R> steps_of(float bias, std::size_t n, float x, float w,
                                                   bool one) {
    if constexpr (FloatBiasRequantizer<R>) {
      const float steps = R::bias(bias, x, w, one);
      if (!std::isfinite(steps))
        detail::raise_expected(errc::bad_scale, "tq::CodeOutput",
                               {"a bias that is finite in steps of the sums"},
                               {bias, " for output ", n, ", whose step is ", x, " * ", w});
      return steps;
    } else {
      return detail::bias_steps(bias, n, x, w);
    }
  }

  // The factor and the bias of output n, whose sums are 0: the code is bias / scale, rounded.
  void set_alone(detail::Requantization<R>& out, std::size_t n, float bias) const {
    constexpr float beyond = 2048;  // every code, whatever the zero point
    const float code = std::clamp(bias / params_.scales()[0], -beyond, beyond);
    if constexpr (FloatBiasRequantizer<R>) {
      out.factors[n] = 1;
      out.bias.push_back(code);
    } else {
      // All 24 bits of a quotient from 1/4 on; smaller ones are far from half a code.
      const int power = code == 0 ? 0 : std::min(25, 23 - std::ilogb(code));
      out.factors[n] = std::ldexp(1.0, -power);
      out.bias.push_back(static_cast<std::int32_t>(std::nearbyint(std::ldexp(code, power))));
    }
  }

  Params params_;
  std::int32_t low_ = 0, high_ = 0;  // codes of the clamp
};
template <ActivationSource Trained>
CodeOutput(const Trained&, Clamp = {}) -> CodeOutput<typename Trained::params_type>;
template <ActivationSource Trained, Requantizer R>
CodeOutput(const Trained&, Clamp, R) -> CodeOutput<typename Trained::params_type, R>;

}  // namespace tq
