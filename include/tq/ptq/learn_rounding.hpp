// SPDX-License-Identifier: MIT
#pragma once
// learn_rounding: codes that gradients find.

#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/require_same_layer.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/rounding_learner.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/train/gradient.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tq {

/// Options of `learn_rounding`.
struct LearnedRoundingOptions {
  std::size_t iterations = 200;
  /// The way of a shift over all iterations if all steps were as long as the first, in units of
  /// scales. Steps become shorter until the last.
  double step = 0.1;
  double momentum = 0.9;  ///< the share of earlier gradients that stays, below 1
  /// The most that a weight is shifted, in units of scales. With 0.5 integer codes are those of the
  /// two values around a weight.
  double reach = 4;
};

/// Losses are those of `GptqResult`.
struct LearnedRoundingResult {
  double damped_loss_before, damped_loss;
  double loss;
  std::size_t improved_rows;  ///< rows with other codes: all others keep theirs
};

namespace detail {
inline void require_learning(const LearnedRoundingOptions& options) {
  const auto refuse = [](const char* expected, double got) {
    raise_expected(errc::bad_argument, "tq::learn_rounding", {expected}, {static_cast<float>(got)});
  };
  if (!(options.step > 0 && options.step <= 100))
    refuse("a step above 0 and at most 100", options.step);
  if (!(options.momentum >= 0 && options.momentum < 1))
    refuse("a momentum of 0 to below 1", options.momentum);
  if (!(options.reach > 0 && options.reach <= 256))
    refuse("a reach above 0 and at most 256", options.reach);
}

// Gives the rows that `is_taken` names the codes of their `values`.
template <Backend B, AnyParams Params, class IsTaken>
void take_rows(QuantizedTensor<Params>& tensor, const std::vector<float>& values,
               const IsTaken& is_taken) {
  using T = typename Params::type;
  const std::size_t n = tensor.shape()[1];
  Buffer<typename Params::code_type> codes(tensor.size()), other(tensor.size());
  unpack<T>(std::span<const std::byte>(tensor.bytes()), codes.span());
  const auto found =
      quantize(ConstTensorView(values.data(), tensor.shape()), tensor.params(), on<B>);
  unpack<T>(found.bytes(), other.span());
  for (std::size_t r = 0; r < tensor.shape()[0]; ++r)
    if (is_taken(r)) std::copy_n(other.data() + r * n, n, codes.data() + r * n);
  pack_unchecked<T, LowFirst, B>(codes.span(), tensor.bytes());
}
}  // namespace detail

/// Learns shifts of `weights` [outputs, inputs] that change the codes of `tensor`, whose parameters
/// stay: straight-through gradients of the damped loss for `h`, of which `factor` was made, move
/// them by their signs, and every row keeps the best codes seen, at first those of `tensor`. Begin
/// with the codes of `gptq`. No tokens are needed. The result does not depend on the executor or
/// the instruction set. Source: Cheng et al., "Optimize Weight Rounding via Signed Gradient
/// Descent", 2023. Throws: `errc::shape_mismatch` for other shapes; `errc::bad_argument` for
/// options out of their domain; `errc::not_finite` for NaN or infinite weights. Nothing is changed
/// then.
template <Backend B = default_backend, class Arch = arch::native, AnyParams Params, HessianMatrix H,
          Executor E = Serial, Readable X = ConstTensorView>
  requires GradientFor<ClippedStraightThrough, Params>
LearnedRoundingResult learn_rounding(const X& weights, const H& h, const HessianFactor& factor,
                                     QuantizedTensor<Params>& tensor,
                                     const LearnedRoundingOptions& options = {},
                                     const E& executor = serial) {
  constexpr const char* function = "tq::learn_rounding";
  detail::require_learning(options);
  const auto floats = detail::read_floats(function, weights);
  detail::require_same_layer(function, floats.view(), h, factor, tensor.shape());
  const detail::DampedHessian damped(h, factor.damping_used(), executor);
  detail::RoundingLearner<B, Arch, Params, E> learner(damped, detail::row_major(floats.view()),
                                                      tensor, static_cast<float>(options.reach),
                                                      executor);
  const std::vector<detail::RowLoss> before = learner.losses();
  const auto count = static_cast<double>(options.iterations);
  for (std::size_t i = 0; i < options.iterations; ++i)
    learner.step(static_cast<float>(options.step / count * (1 - static_cast<double>(i) / count)),
                 static_cast<float>(options.momentum));
  LearnedRoundingResult out{};
  for (std::size_t r = 0; r < before.size(); ++r) {
    out.damped_loss_before += before[r].damped;
    out.damped_loss += learner.losses()[r].damped;
    out.loss += learner.losses()[r].plain;
    out.improved_rows += learner.losses()[r].damped < before[r].damped;
  }
  detail::take_rows<B>(tensor, learner.best(), [&](std::size_t r) {
    return learner.losses()[r].damped < before[r].damped;
  });
  return out;
}

}  // namespace tq
