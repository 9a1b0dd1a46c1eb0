// SPDX-License-Identifier: MIT
#pragma once
// AwqLayer and WeightShares: layers as the search for scales of their inputs looks at them.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/row_loss.hpp>
#include <tq/ptq/detail/row_losses.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq::detail {

/// Rows of a layer, spread evenly.
class AwqLayer {
 public:
  /// At most `most` rows of `weights`; all of them where `most` is 0.
  AwqLayer(const ConstTensorView& weights, std::size_t most)
      : rows_(most == 0 ? weights.shape()[0] : std::min(most, weights.shape()[0])),
        columns_(weights.shape()[1]) {
    for (std::size_t k = 0; k < rows_; ++k) {
      const auto r = static_cast<std::ptrdiff_t>(k * weights.shape()[0] / rows_);
      for (std::size_t c = 0; c < columns_; ++c)
        weights_.push_back(weights.data()[r * weights.stride(0) +
                                          static_cast<std::ptrdiff_t>(c) * weights.stride(1)]);
    }
  }

  /// The loss of weights that are multiplied by `scales`, rounded under Params by their range, and
  /// divided again.
  template <AnyParams Params, Backend B, class Arch, Executor E>
  [[nodiscard]] double loss(const DampedHessian& h, std::span<const float> scales,
                            const typename Params::granularity_type& granularity,
                            const E& executor) const {
    std::vector<float> scaled(weights_.size());
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      scaled[i] = weights_[i] * scales[i % columns_];
      if (!std::isfinite(scaled[i])) return std::numeric_limits<double>::infinity();
    }
    const ConstTensorView view(scaled.data(), {rows_, columns_});
    const std::vector<float> values =
        fake_quantize(view, calibrate<Params>(view, granularity, on<B>), executor, on<B>);
    double loss = 0;
    for (const RowLoss& row : row_losses<Arch>(
             h, rows_,
             [&](std::size_t i) {
               const double value =
                   static_cast<double>(values[i]) / static_cast<double>(scales[i % columns_]);
               return static_cast<double>(weights_[i]) - value;
             },
             executor))
      loss += row.damped;
    return loss;
  }

 private:
  std::size_t rows_, columns_;
  std::vector<float> weights_;
};

/// For each input, the mean over all rows of |w| over the largest magnitude of its group.
class WeightShares {
 public:
  explicit WeightShares(std::size_t inputs) : sums_(inputs) {}

  /// Adds the rows of a layer, whose groups are runs of `width` inputs.
  void add(const ConstTensorView& weights, std::size_t width) {
    const std::vector<float> w = row_major(weights);
    const std::size_t n = sums_.size();
    for (std::size_t r = 0; r < weights.shape()[0]; ++r)
      for (std::size_t first = 0; first < n; first += width) {
        const std::span<const float> group(w.data() + r * n + first, std::min(width, n - first));
        double most = 0;
        for (const float v : group) most = std::max(most, static_cast<double>(std::fabs(v)));
        for (std::size_t i = 0; most > 0 && i < group.size(); ++i)
          sums_[first + i] += static_cast<double>(std::fabs(group[i])) / most;
      }
    rows_ += weights.shape()[0];
  }

  [[nodiscard]] std::vector<double> means() const {
    std::vector<double> out = sums_;
    for (double& v : out) v /= static_cast<double>(std::max<std::size_t>(rows_, 1));
    return out;
  }

 private:
  std::vector<double> sums_;
  std::size_t rows_ = 0;
};

}  // namespace tq::detail
