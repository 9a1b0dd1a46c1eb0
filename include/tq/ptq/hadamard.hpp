// SPDX-License-Identifier: MIT
#pragma once
// Hadamard: rotations of inputs that spread outliers over all of them.

#include <tq/core/detail/expectations.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/hadamard_kernel.hpp>
#include <tq/ptq/detail/made_hessian.hpp>
#include <tq/ptq/detail/token_rows.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/float_hessian.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tq {

/// Options of `Hadamard`.
struct HadamardOptions {
  /// Inputs that are mixed with each other, side by side; 0 for all of them.
  std::size_t block = 0;
  /// Changes the signs of inputs at random first; without a seed they stay.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// The orthogonal matrix R = S M / sqrt(b): S are signs of inputs, M is a Hadamard matrix of order
/// b for each block of b inputs. Layers keep their outputs, up to rounding, where inputs x become x
/// R and weights W become W R: (x R)(W R)^T = x W^T. Orders are powers of two, and k 2^p with k a
/// multiple of 4 and k - 1 prime, such as 12, 20 and 24. Sums are float64, in one order on every
/// machine. Source: Ashkboos et al., "QuaRot", 2024.
class Hadamard {
 public:
  /// Throws: `errc::bad_group_size` for blocks that do not divide `inputs`; `errc::unsupported` for
  /// an order that no matrix is known for.
  explicit Hadamard(std::size_t inputs, const HadamardOptions& options = {})
      : Hadamard(signs_of(inputs, options.seed), options.block) {}
  /// The same with given signs, 1 or -1 for each input. Throws: as above; `errc::bad_argument` for
  /// other signs.
  explicit Hadamard(std::vector<std::int8_t> signs, std::size_t block = 0)
      : signs_(std::move(signs)), kernel_(checked_order(signs_.size(), block)) {
    for (std::size_t i = 0; i < signs_.size(); ++i)
      if (signs_[i] != 1 && signs_[i] != -1)
        detail::raise_expected(errc::bad_argument, "tq::Hadamard", {"signs of 1 or -1"},
                               {signs_[i], " for input ", i});
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return signs_.size(); }
  [[nodiscard]] std::size_t block() const noexcept { return kernel_.size(); }
  [[nodiscard]] const std::vector<std::int8_t>& signs() const noexcept { return signs_; }

  /// x R for rows x of a matrix or activations [..., inputs], row-major. Throws:
  /// `errc::shape_mismatch` for other inputs.
  template <Executor E = Serial, Readable X = ConstTensorView>
  [[nodiscard]] std::vector<float> rotate(const X& x, const E& executor = serial) const {
    return each_row("tq::Hadamard::rotate", x, executor, [this](double* row) { forward(row); });
  }
  /// x R^T: the rows that `rotate` made these of. Throws: as `rotate`.
  template <Executor E = Serial, Readable X = ConstTensorView>
  [[nodiscard]] std::vector<float> rotate_back(const X& x, const E& executor = serial) const {
    return each_row("tq::Hadamard::rotate_back", x, executor,
                    [this](double* row) { backward(row); });
  }
  /// R^T H R: the Hessian of rotated inputs, which nobody has to see. Throws:
  /// `errc::shape_mismatch` for other inputs.
  template <HessianMatrix H, Executor E = Serial>
  [[nodiscard]] FloatHessian rotate_hessian(const H& h, const E& executor = serial) const {
    const std::size_t n = inputs();
    require_inputs("tq::Hadamard::rotate_hessian", h.inputs());
    std::vector<double> half(n * n), whole(n * n);
    executor(n, [&](std::size_t i) {
      double* row = half.data() + i * n;
      for (std::size_t j = 0; j < n; ++j) row[j] = h(i, j);
      forward(row);
    });
    executor(n, [&](std::size_t i) {
      double* row = whole.data() + i * n;
      for (std::size_t j = 0; j < n; ++j) row[j] = half[j * n + i];
      forward(row);
    });
    return detail::made_hessian(h, [&](std::size_t i, std::size_t j) {
      return i == j ? std::max(whole[i * n + i], 0.0) : whole[i * n + j];
    });
  }

 private:
  static std::vector<std::int8_t> signs_of(std::size_t n, std::optional<std::uint64_t> seed) {
    std::vector<std::int8_t> out(n, 1);
    for (std::size_t i = 0; seed && i < n; ++i)
      if (detail::uniform(*seed, i) < 0.5f) out[i] = -1;
    return out;
  }

  static std::size_t checked_order(std::size_t inputs, std::size_t block) {
    if (inputs == 0 || inputs % (block == 0 ? inputs : block) != 0)
      detail::raise_expected(errc::bad_group_size, "tq::Hadamard",
                             {"blocks that divide the inputs"}, {block, " of ", inputs, " inputs"});
    const std::size_t order = block == 0 ? inputs : block;
    if (detail::paley_order(order) == 0)
      detail::raise_expected(
          errc::unsupported, "tq::Hadamard",
          {"an order of 2^p, or of k 2^p with k a multiple of 4 and k - 1 prime"},
          {order, ": blocks of a power of two may divide it"});
    return order;
  }

  void require_inputs(const char* function, std::size_t got) const {
    detail::require_count(function, "inputs", inputs(), got);
  }

  void forward(double* row) const {
    for (std::size_t i = 0; i < inputs(); ++i) row[i] *= signs_[i];
    mix(row, false);
  }
  void backward(double* row) const {
    mix(row, true);
    for (std::size_t i = 0; i < inputs(); ++i) row[i] *= signs_[i];
  }
  void mix(double* row, bool transposed) const {
    const double root = std::sqrt(static_cast<double>(block()));
    for (std::size_t first = 0; first < inputs(); first += block())
      kernel_.run(row + first, transposed);
    for (std::size_t i = 0; i < inputs(); ++i) row[i] /= root;
  }

  template <class X, Executor E, class F>
  std::vector<float> each_row(const char* function, const X& x, const E& executor,
                              const F& change) const {
    const auto floats = detail::read_floats(function, x);
    const ConstTensorView& view = floats.view();
    const std::size_t n = inputs();
    const detail::TokenRows rows(function, view, n);
    std::vector<float> out(view.size());
    executor(view.size() / n, [&](std::size_t r) {
      std::vector<float> memory(n);
      const float* from = rows.row(r, memory.data());
      std::vector<double> row(from, from + n);
      change(row.data());
      for (std::size_t i = 0; i < n; ++i) out[r * n + i] = static_cast<float>(row[i]);
    });
    return out;
  }

  std::vector<std::int8_t> signs_;
  detail::HadamardKernel kernel_;
};

}  // namespace tq
