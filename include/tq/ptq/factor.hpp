// SPDX-License-Identifier: MIT
#pragma once
// factor: a damped Hessian as U D U^T, in the order in which columns are rounded.

#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/error.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ptq/column_order.hpp>
#include <tq/ptq/detail/factor_in_place.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// Mean products of inputs over tokens: `Hessian`, `FloatHessian`.
template <class H>
concept HessianMatrix = requires(const H& h, std::size_t i) {
  { h.inputs() } -> std::convertible_to<std::size_t>;
  { h.tokens() } -> std::convertible_to<std::uint64_t>;
  { h(i, i) } -> std::convertible_to<double>;
};

/// Options of `factor`.
struct FactorOptions {
  /// Number that is added to the diagonal, in units of its mean over live columns: columns whose
  /// input is not always 0.
  double damping = 0.01;
  ColumnOrder order = ByActivation{};
  /// Takes fewer tokens than a quarter of the inputs, with which error feedback fits its sample.
  bool allow_few_tokens = false;
};

namespace detail {
[[noreturn]] inline void refuse_columns(std::size_t column) {
  raise_expected(errc::singular, "tq::factor", {"independent columns"},
                 {"column ", column, ", which depends on others: more damping helps"});
}
}  // namespace detail

/// H + lambda I = U D U^T with rows and columns in the order of rounding, U unit upper triangular:
/// an error of column i moves the best value of a later column j by U[i][j], and an error e of what
/// is then rounded costs D[j] e^2. `factor` makes it.
class HessianFactor {
 public:
  /// Columns of a panel: place j lies in panel j / panel_columns.
  static constexpr std::size_t panel_columns = kernels::product_rows;

  [[nodiscard]] std::size_t inputs() const noexcept { return order_.size(); }
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
  /// Columns whose input is always 0.
  [[nodiscard]] std::size_t dead_columns() const noexcept { return dead_; }
  /// lambda.
  [[nodiscard]] double damping_used() const noexcept { return lambda_; }
  /// The column of each place in the order of rounding.
  [[nodiscard]] std::span<const std::uint32_t> order() const noexcept { return order_; }
  /// D, by places.
  [[nodiscard]] std::span<const double> pivots() const noexcept { return pivots_; }
  /// U[i][j] of places i < j, rounded to float32; 0 else.
  [[nodiscard]] float coefficient(std::size_t i, std::size_t j) const noexcept {
    return i < j ? panel(j / panel_columns)[i * panel_columns + j % panel_columns] : 0.0f;
  }
  /// The rows of U up to the last place of panel `p`, `panel_columns` numbers each.
  [[nodiscard]] const float* panel(std::size_t p) const noexcept {
    return panels_.data() + panel_at(p);
  }

  // Takes a factor of the matrix in reverse order. Throws: `errc::singular` for a coefficient that
  // float32 cannot hold.
  template <Executor E>
  HessianFactor(std::vector<std::uint32_t> order, std::uint64_t tokens, std::size_t dead,
                double lambda, const detail::LdlFactor& reversed, const E& executor)
      : order_(std::move(order)),
        pivots_(order_.size()),
        panels_(panel_at((order_.size() + panel_columns - 1) / panel_columns)),
        tokens_(tokens),
        dead_(dead),
        lambda_(lambda) {
    const std::size_t n = inputs();
    for (std::size_t j = 0; j < n; ++j) pivots_[j] = reversed.pivots()[n - 1 - j];
    executor((n + panel_columns - 1) / panel_columns, [&](std::size_t p) {
      float* to = panels_.data() + panel_at(p);
      std::fill_n(to, panel_at(p + 1) - panel_at(p), 0.0f);
      for (std::size_t j = p * panel_columns; j < std::min(n, (p + 1) * panel_columns); ++j) {
        const double* from = reversed.row(n - 1 - j);
        for (std::size_t i = 0; i < j; ++i) {
          const auto u = static_cast<float>(from[n - 1 - i]);
          if (!std::isfinite(u)) detail::refuse_columns(order_[j]);
          to[i * panel_columns + j % panel_columns] = u;
        }
      }
    });
  }

 private:
  [[nodiscard]] static constexpr std::size_t panel_at(std::size_t p) noexcept {
    return panel_columns * panel_columns * (p * (p + 1) / 2);
  }

  std::vector<std::uint32_t> order_;
  std::vector<double> pivots_;
  Buffer<float> panels_;
  std::uint64_t tokens_;
  std::size_t dead_;
  double lambda_;
};

namespace detail {
inline void require_factor_options(std::size_t inputs, std::uint64_t tokens,
                                   const FactorOptions& options) {
  if (!(options.damping >= 0 && options.damping <= 1e6))
    raise_expected(errc::bad_argument, "tq::factor", {"damping of 0 to 1e6"},
                   {static_cast<float>(options.damping)});
  if (tokens == 0) raise(errc::no_data, "tq::factor: expected a Hessian of tokens, got none");
  if (!options.allow_few_tokens && tokens < (inputs + 3) / 4)
    raise_expected(errc::no_data, "tq::factor",
                   {"at least ", (inputs + 3) / 4, " tokens, a quarter of the inputs"},
                   {tokens, " (allow_few_tokens takes them)"});
}

[[noreturn]] inline void refuse_dead() {
  raise(errc::no_data, "tq::factor: expected an input that is not always 0, got none");
}

// The order and the damping of a factor.
struct FactorPlan {
  std::vector<std::uint32_t> order;
  std::size_t dead = 0;
  double lambda = 0;

  // Throws: as `factor`, but for inputs that are all always 0.
  template <HessianMatrix H>
  FactorPlan(const H& h, const FactorOptions& options) {
    const std::size_t n = h.inputs();
    require_factor_options(n, h.tokens(), options);
    std::vector<double> diagonal(n);
    for (std::size_t i = 0; i < n; ++i) diagonal[i] = h(i, i);
    order = column_order(diagonal, options.order);
    double sum = 0;
    for (const std::uint32_t i : order) {
      sum += diagonal[i];
      dead += diagonal[i] == 0;
    }
    if (!is_dead()) lambda = options.damping * (sum / static_cast<double>(n - dead));
  }
  // True where all inputs are always 0.
  [[nodiscard]] bool is_dead() const noexcept { return dead == order.size(); }
};

template <class Arch, HessianMatrix H, Executor E>
[[nodiscard]] HessianFactor factor_by(const H& h, FactorPlan plan, const E& executor) {
  const std::size_t n = h.inputs();
  const std::vector<std::uint32_t>& order = plan.order;
  LdlFactor reversed(n);
  executor(n, [&](std::size_t a) {
    const std::size_t i = order[n - 1 - a];
    for (std::size_t b = a; b < n; ++b) reversed.row(a)[b] = h(i, order[n - 1 - b]);
    reversed.row(a)[a] += plan.lambda;
  });
  if (const std::size_t done = reversed.run<Arch>(executor); done < n)
    refuse_columns(order[n - 1 - done]);
  return HessianFactor(std::move(plan.order), h.tokens(), plan.dead, plan.lambda, reversed,
                       executor);
}
}  // namespace detail

/// The factor of `h`, with the same bits on every machine and for every executor. Throws:
/// `errc::no_data` without tokens, with too few of them, or where all inputs are always 0;
/// `errc::bad_argument` for damping that is negative or no number; `errc::bad_group_size` for an
/// order by groups of no columns; `errc::singular` with little or no damping, for columns that
/// depend on others.
template <class Arch = arch::native, HessianMatrix H, Executor E = Serial>
[[nodiscard]] HessianFactor factor(const H& h, const FactorOptions& options = {},
                                   const E& executor = serial) {
  detail::FactorPlan plan(h, options);
  if (plan.is_dead()) detail::refuse_dead();
  return detail::factor_by<Arch>(h, std::move(plan), executor);
}

}  // namespace tq
