// SPDX-License-Identifier: MIT
#pragma once
// ExpectedError: the error of a layer's outputs that a scheme leads to, for the selection of
// precisions.

#include <tq/arch/isa.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/row_losses.hpp>
#include <tq/ptq/factor.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// The relative squared error of the outputs of a layer that `gptq` is expected to leave under the
/// parameters of a scheme: the damped loss, sum D e^2 with the pivots D of the factor and errors e
/// of rounding to nearest, over the damped squares of the outputs. Errors that are spread evenly
/// over steps s have the mean square s^2 / 12, as `expected_loss` counts them; measured errors also
/// serve elements without equal steps. With inputs that do not depend on each other and are equally
/// large it is sum d^2 / sum w^2, the error of weights without a Hessian.
class ExpectedError {
 public:
  /// Takes weights [outputs, inputs], and in `h` the mean products of their inputs. Throws: as
  /// `factor`; `errc::shape_mismatch` for weights of another shape; `errc::not_finite` for NaN or
  /// infinite weights.
  template <HessianMatrix H, Readable X, Executor E = Serial>
  ExpectedError(const X& weights, const H& h, const FactorOptions& options = {},
                const E& executor = serial)
      : pivots_(h.inputs()) {
    constexpr const char* function = "tq::ExpectedError";
    const auto floats = detail::read_floats(function, weights);
    const auto& view = floats.view();
    detail::require_weights(function, view, h.inputs());
    const HessianFactor factor = tq::factor(h, options, executor);
    for (std::size_t place = 0; place < pivots_.size(); ++place)
      pivots_[factor.order()[place]] = factor.pivots()[place];
    const auto weight = [&](std::size_t i) {
      const auto row = static_cast<std::ptrdiff_t>(i / h.inputs()),
                 column = static_cast<std::ptrdiff_t>(i % h.inputs());
      return static_cast<double>(view.data()[row * view.stride(0) + column * view.stride(1)]);
    };
    const detail::DampedHessian damped(h, factor.damping_used(), executor);
    for (const detail::RowLoss& row :
         detail::row_losses<arch::native>(damped, view.shape()[0], weight, executor))
      energy_ += row.damped;
  }

  /// The damped squares of the outputs without quantization, in the unit of `loss`.
  [[nodiscard]] double energy() const noexcept { return energy_; }

  /// The expected loss of elements from `first` on, row-major, with `back` in the place of
  /// `values`. Losses of pieces add up. Precondition: as many elements in both.
  [[nodiscard]] double loss(std::size_t first, std::span<const float> values,
                            std::span<const float> back) const noexcept {
    double sum = 0;
    std::size_t column = first % pivots_.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double e = static_cast<double>(values[i]) - static_cast<double>(back[i]);
      sum += detail::uncontracted(pivots_[column] * (e * e));
      if (++column == pivots_.size()) column = 0;
    }
    return sum;
  }

  /// A loss of all elements in units of the energy: 0 without a loss, infinite without energy.
  [[nodiscard]] double relative(double loss) const noexcept {
    if (loss == 0) return 0;
    return energy_ > 0 ? loss / energy_ : std::numeric_limits<double>::infinity();
  }
  /// The relative error of the whole matrix.
  [[nodiscard]] double operator()(std::span<const float> values,
                                  std::span<const float> back) const noexcept {
    return relative(loss(0, values, back));
  }

 private:
  std::vector<double> pivots_;  // by columns
  double energy_ = 0;
};

}  // namespace tq
