// SPDX-License-Identifier: MIT
#pragma once
// RoundingLearner: shifts of weights that are learned by the signs of their gradients.

#include <tq/core/executor.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ptq/detail/column_groups.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/row_loss.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/straight_through.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq::detail {

/// Weights w, shifts v in units of scales s, and the best rows so far. The values of a step are
/// those of the codes of w + s v; with E = w - values, the gradient of the damped loss by a shift
/// is -2 s E (H + lambda I) where the value is not clipped.
template <Backend B, class Arch, AnyParams Params, Executor E>
class RoundingLearner {
 public:
  /// Begins at the codes of `tensor`, as far as shifts of at most `reach` lead to them.
  RoundingLearner(const DampedHessian& h, std::vector<float> weights,
                  const QuantizedTensor<Params>& tensor, float reach, const E& executor)
      : h_(h),
        params_(tensor.params()),
        shape_(tensor.shape()),
        reach_(reach),
        executor_(executor),
        w_(std::move(weights)),
        scales_(scales_of(tensor)),
        shifts_(w_.size()),
        momenta_(w_.size()),
        shifted_(w_.size()),
        values_(dequantize(tensor, on<B>)),
        gradients_(w_.size()),
        best_(values_),
        losses_(shape_[0]) {
    find_losses();
    kept_ = losses_;
    start();
  }

  /// The losses of the best rows, which at first are those of `tensor`.
  [[nodiscard]] const std::vector<RowLoss>& losses() const noexcept { return kept_; }
  /// The values of the best rows.
  [[nodiscard]] const std::vector<float>& best() const noexcept { return best_; }

  /// Takes the codes of the shifts, keeps the rows that are better than before, and moves every
  /// shift by `step` against the sign of its gradient, of which a share of `momentum` stays.
  void step(float step, float momentum) {
    const std::size_t n = shape_[1];
    for (std::size_t i = 0; i < w_.size(); ++i)
      shifted_[i] = w_[i] + uncontracted(scales_[i] * shifts_[i]);
    round_shifted();
    find_losses();
    for (std::size_t r = 0; r < shape_[0]; ++r)
      if (losses_[r].damped < kept_[r].damped) {
        kept_[r] = losses_[r];
        std::copy_n(values_.data() + r * n, n, best_.data() + r * n);
      }
    const ConstTensorView x(shifted_.data(), shape_), upstream(gradients_.data(), shape_);
    fake_quantize_backward(x, params_, upstream, TensorView<float>(gradients_.data(), shape_),
                           executor_, on<B>);
    for (std::size_t i = 0; i < w_.size(); ++i) {
      momenta_[i] = uncontracted(momentum * momenta_[i]) + scales_[i] * gradients_[i];
      if (momenta_[i] == 0) continue;
      shifts_[i] = std::clamp(shifts_[i] - std::copysign(step, momenta_[i]), -reach_, reach_);
    }
  }

 private:
  static std::vector<float> scales_of(const QuantizedTensor<Params>& tensor) {
    const ColumnGroups<Params> groups(tensor.params(), tensor.shape());
    std::vector<float> out(tensor.size());
    const std::size_t n = tensor.shape()[1];
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = groups.affine(i / n, groups.group(i % n)).scale;
    return out;
  }

  // Shifts to the nearest numbers of the codes that `best_` has.
  void start() {
    for (std::size_t i = 0; i < w_.size(); ++i) {
      const float half = 0.4999f * scales_[i];
      shifted_[i] = std::clamp(w_[i], best_[i] - half, best_[i] + half);
    }
    round_shifted();
    for (std::size_t i = 0; i < w_.size(); ++i) {
      const float to = values_[i] == best_[i] ? shifted_[i] : best_[i];
      if (scales_[i] > 0) shifts_[i] = std::clamp((to - w_[i]) / scales_[i], -reach_, reach_);
    }
  }

  void round_shifted() {
    fake_quantize(ConstTensorView(shifted_.data(), shape_), params_,
                  TensorView<float>(values_.data(), shape_), executor_, on<B>);
  }

  // The losses of `values_`, and the gradients by them.
  void find_losses() {
    constexpr std::size_t rows = kernels::product_rows;
    const std::size_t n = shape_[1], outputs = shape_[0];
    executor_((outputs + rows - 1) / rows, [&](std::size_t s) {
      const std::size_t first = s * rows, count = std::min(rows, outputs - first);
      std::vector<double> errors(rows * n), slopes(rows * n);
      for (std::size_t i = 0; i < count * n; ++i)
        errors[i] =
            static_cast<double>(w_[first * n + i]) - static_cast<double>(values_[first * n + i]);
      h_.template slopes<Arch>(errors.data(), slopes.data());
      for (std::size_t i = 0; i < count * n; ++i)
        gradients_[first * n + i] = static_cast<float>(-2 * slopes[i]);
      for (std::size_t r = 0; r < count; ++r)
        losses_[first + r] = h_.loss(errors.data() + r * n, slopes.data() + r * n);
    });
  }

  const DampedHessian& h_;
  const Params& params_;
  Shape shape_;
  float reach_;
  const E& executor_;
  std::vector<float> w_, scales_, shifts_, momenta_, shifted_, values_, gradients_, best_;
  std::vector<RowLoss> losses_, kept_;
};

}  // namespace tq::detail
