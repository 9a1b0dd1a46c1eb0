// SPDX-License-Identifier: MIT
#pragma once
// GptqStrip: some rows of weights through error feedback, and through plain rounding beside it.

#include <tq/core/buffer.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ptq/detail/feedback.hpp>
#include <tq/ptq/detail/row_loss.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// Up to `rows` rows of weights. Half of the lanes are rows with feedback, the other half the same
/// rows rounded to nearest, so that both losses come out.
/// `Grid` rounds the numbers of all lanes: a LaneGrid, or EncodedGrid.
template <class Grid, class Arch>
class GptqStrip {
 public:
  using grid_type = Grid;
  using code_type = typename Grid::code_type;
  static constexpr std::size_t rows = 48, lanes = 2 * rows;

  /// Precondition: the grid has `lanes` lanes.
  GptqStrip(const HessianFactor& factor, const Grid& grid)
      : factor_(factor),
        feedback_(factor, lanes),
        grid_(grid),
        weights_(factor.inputs() * rows),
        codes_(factor.inputs() * lanes) {}

  /// Rounds rows [first, first + count) of `weights`. Columns ask `parameters` for their numbers
  /// first: parameters(strip, place).
  template <class Parameters>
  void run(const ConstTensorView& weights, std::size_t first, std::size_t count,
           const Parameters& parameters) {
    load(weights, first, count);
    for (std::size_t place = 0; place < factor_.inputs(); ++place) {
      parameters(*this, place);
      round(place);
    }
  }

  [[nodiscard]] Grid& grid() noexcept { return grid_; }
  [[nodiscard]] Feedback<Arch>& feedback() noexcept { return feedback_; }
  /// The weights of a place, `rows` of them.
  [[nodiscard]] const float* weights(std::size_t place) const noexcept {
    return weights_.data() + place * rows;
  }

  /// Writes the codes of a lane to `out`, by columns.
  void copy_codes(std::size_t lane, code_type* out) const noexcept {
    for (std::size_t place = 0; place < factor_.inputs(); ++place)
      out[factor_.order()[place]] = codes_.data()[place * lanes + lane];
  }
  [[nodiscard]] RowLoss loss(std::size_t lane) const noexcept {
    const double plain = damped_[lane] - factor_.damping_used() * squares_[lane];
    return {damped_[lane], std::max(plain, 0.0)};
  }

 private:
  void load(const ConstTensorView& weights, std::size_t first, std::size_t count) {
    feedback_.restart();
    std::fill(std::begin(damped_), std::end(damped_), 0.0);
    std::fill(std::begin(squares_), std::end(squares_), 0.0);
    for (std::size_t place = 0; place < factor_.inputs(); ++place) {
      const auto column = static_cast<std::ptrdiff_t>(factor_.order()[place]);
      float* w = weights_.data() + place * rows;
      for (std::size_t r = 0; r < rows; ++r)
        w[r] = r < count
                   ? weights.data()[static_cast<std::ptrdiff_t>(first + r) * weights.stride(0) +
                                    column * weights.stride(1)]
                   : 0.0f;
      double* target = feedback_.target(place);
      std::copy_n(w, rows, target);
      std::copy_n(w, rows, target + rows);
    }
  }

  void round(std::size_t place) noexcept {
    const double* best = feedback_.best(place);
    const float* w = weights(place);
    alignas(64) float x[lanes], values[lanes];
    code_type* codes = codes_.data() + place * lanes;
    for (std::size_t r = 0; r < rows; ++r) x[r] = static_cast<float>(best[r]);
    std::copy_n(w, rows, x + rows);
    grid_.round(x, codes, values);
    double* errors = feedback_.errors(place);
    const double pivot = factor_.pivots()[place];
    for (std::size_t c = 0; c < lanes; ++c) {
      const double value = values[c], error = static_cast<double>(w[c % rows]) - value,
                   left = best[c] - value;
      errors[c] = static_cast<float>(error);
      damped_[c] += uncontracted(pivot * (left * left));
      squares_[c] += uncontracted(error * error);
    }
  }

  const HessianFactor& factor_;
  Feedback<Arch> feedback_;
  Grid grid_;
  Buffer<float> weights_;
  Buffer<code_type> codes_;  // by places, `lanes` each
  double damped_[lanes], squares_[lanes];
};

}  // namespace tq::detail
