// SPDX-License-Identifier: MIT
#pragma once
// FloatOutput, CodeOutput: what a layer makes of its sums.

#include <tq/core/quant_params.hpp>
#include <tq/driver/columns.hpp>
#include <tq/error.hpp>
#include <tq/kernels/rescale.hpp>
#include <tq/kernels/sums_row.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/detail/stage_row.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/output/requantize.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// An activation function that is part of a layer: outputs below `low` become it, those above
/// `high` become that.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] static constexpr Clamp relu() noexcept { return {.low = 0.0f}; }
  [[nodiscard]] static constexpr Clamp relu6() noexcept { return {0.0f, 6.0f}; }
};

namespace detail {
inline void require_clamp(const char* function, const Clamp& c) {
  if (!(c.low <= c.high))
    raise(errc::bad_argument, std::string(function) + ": expected a clamp from low to high, got " +
                                  number_text(c.low) + " to " + number_text(c.high));
}

// float(sum) * (scale of x * scale of weights) + bias, every operation rounded once, and clamped.
// Biases of int32 are added to the sum.
class FloatStage {
 public:
  // `weight_scales`: one, or one for each output; `bias` fits.
  FloatStage(std::size_t outputs, std::span<const float> weight_scales, const Bias& bias,
             const Clamp& clamp)
      : scales_(outputs + driver::Column::padding),
        whole_(scales_.size(), 0),
        real_(scales_.size(), -0.0f),
        clamp_(clamp) {
    for (std::size_t n = 0; n < outputs; ++n)
      scales_[n] = weight_scales[weight_scales.size() == 1 ? 0 : n];
    std::ranges::copy(bias.integers(), whole_.begin());
    std::ranges::copy(bias.floats(), real_.begin());
    if (outputs != 0) largest_ = *std::max_element(scales_.begin(), scales_.end());
  }

  // The values of the sums of outputs `first` to `first + count`.
  template <class Arch>
  void row(const std::int32_t* sums, std::size_t first, std::size_t count, float x_scale,
           float* out) const noexcept {
    std::array<float, kernels::widest_register> x;
    x.fill(x_scale);
    stage_row<Arch>(
        kernels::Rescale(clamp_.low, clamp_.high), sums, out, count,
        {driver::shared_number(x.data()), driver::numbers_at(scales_.data() + first),
         driver::numbers_at(whole_.data() + first), driver::numbers_at(real_.data() + first)});
  }

  // Throws where a product of scales is infinite, which 0 times is no number.
  void require_finite(const char* function, std::span<const float> x_scales) const {
    for (const float s : x_scales)
      if (!(s * largest_ <= std::numeric_limits<float>::max()))
        raise(errc::bad_scale,
              std::string(function) + ": expected scales whose product is finite, got " +
                  number_text(s) + " of x and " + number_text(largest_) + " of weights");
  }

 private:
  std::vector<float> scales_;  // of outputs, and what may be read behind them, as the others
  std::vector<std::int32_t> whole_;
  std::vector<float> real_;  // -0 where there is none, which changes nothing
  Clamp clamp_;
  float largest_ = 0;
};

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

/// A layer gives floats: float(sum) * (scale of x * scale of weights) + bias, rounded after every
/// operation, as ONNX Runtime and FBGEMM's AVX2 code have it, and clamped.
struct FloatOutput {
  using value_type = float;
  using stage_type = detail::FloatStage;
  Clamp clamp{};
};

namespace detail {
// Throws: `errc::bad_argument` for a clamp of nothing, and for biases of int32 whose step is not
// known; `errc::bad_scale` for a product of scales that is infinite.
template <Activation In>
[[nodiscard]] FloatStage float_stage(const char* function, const In& in, std::size_t outputs,
                                     std::span<const float> weight_scales, const Bias& bias,
                                     const FloatOutput& out) {
  require_clamp(function, out.clamp);
  if (!In::is_static && !bias.integers().empty())
    raise(errc::bad_argument, std::string(function) +
                                  ": expected biases of float32 with a DynamicActivation, got "
                                  "int32, whose steps it does not know");
  FloatStage made(outputs, weight_scales, bias, out.clamp);
  if constexpr (In::is_static) {
    const float scale = in.scale();
    made.require_finite(function, {&scale, 1});
  }
  return made;
}
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
        raise(errc::bad_scale,
              "tq::CodeOutput: expected a bias that is finite in steps of the sums, got " +
                  detail::number_text(bias) + " for output " + std::to_string(n) +
                  ", whose step is " + detail::number_text(x) + " * " + detail::number_text(w));
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

namespace detail {
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
}  // namespace detail

}  // namespace tq
