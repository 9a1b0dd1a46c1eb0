// SPDX-License-Identifier: MIT
#pragma once
// ColumnOrder: the order in which columns of weights are rounded.

#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

namespace tq {

/// Columns as they come.
struct NaturalOrder {};
/// Columns by their activations, the largest mean square first: errors of important columns then
/// have the most columns behind them that can make up for them.
struct ByActivation {};
/// Groups of `size` columns by their largest mean square, and columns by theirs within each group:
/// columns of a group stay beside each other. A short last group stays the last, and as it is:
/// columns in this order are groups of the same sizes. A group alone is ordered.
struct ByGroup {
  std::size_t size;
};
using ColumnOrder = std::variant<NaturalOrder, ByActivation, ByGroup>;

/// The numbers of columns in their order, from the mean square of each input. Equal columns, and
/// groups, keep their order. Throws: `errc::bad_group_size` for groups of no columns.
[[nodiscard]] inline std::vector<std::uint32_t> column_order(std::span<const double> mean_squares,
                                                             const ColumnOrder& order) {
  std::vector<std::uint32_t> out(mean_squares.size());
  std::iota(out.begin(), out.end(), 0u);
  if (std::holds_alternative<NaturalOrder>(order)) return out;
  std::ranges::stable_sort(out, std::greater{}, [&](std::uint32_t i) { return mean_squares[i]; });
  if (const auto* groups = std::get_if<ByGroup>(&order)) {
    if (groups->size == 0)
      raise(errc::bad_group_size, "tq::column_order: expected groups of 1 column or more, got 0");
    std::vector<double> largest(mean_squares.size() / groups->size + 1, 0.0);
    for (std::size_t i = 0; i < mean_squares.size(); ++i) {
      double& most = largest[i / groups->size];
      most = std::max(most, mean_squares[i]);
    }
    const std::size_t whole = mean_squares.size() / groups->size;
    if (whole == 0) return out;
    const auto group_of = [&](std::uint32_t i) { return i / groups->size; };
    std::ranges::stable_sort(out, [&](std::uint32_t a, std::uint32_t b) {
      const std::size_t ga = group_of(a), gb = group_of(b);
      if (ga == whole || gb == whole) return ga != gb ? ga < gb : a < b;
      return largest[ga] != largest[gb] ? largest[ga] > largest[gb] : ga < gb;
    });
  }
  return out;
}

}  // namespace tq
