// SPDX-License-Identifier: MIT
#pragma once
// WeightedSearch: scales of weights for the least squared error, where inputs differ in importance.

#include <tq/core/executor.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/block_search.hpp>
#include <tq/ptq/detail/column_map.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/hessian_stack.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// Importances of the inputs of a layer, which weigh the errors of their weights: mean squares of
/// inputs, as the diagonal of a Hessian has them, or any others.
class WeightedSearch {
 public:
  /// The diagonal of `h` with `damping` times its mean over inputs that are not always 0. Throws:
  /// `errc::no_data` where all are, and without tokens; `errc::bad_argument` for damping that is
  /// negative or no number.
  template <HessianMatrix H>
  explicit WeightedSearch(const H& h, double damping = 0.01) {
    if (!append(h, damping)) refuse_dead();
  }
  /// The same of every group of a layer by itself. Inputs of a group that are all always 0 have an
  /// importance of 1.
  template <HessianMatrix H>
  explicit WeightedSearch(const HessianStack<H>& h, double damping = 0.01) : groups_(h.groups()) {
    bool is_live = false;
    for (std::size_t g = 0; g < h.groups(); ++g) is_live |= append(h[g], damping);
    if (!is_live) refuse_dead();
  }
  /// An importance for each input. Throws: `errc::bad_argument` for negative and other numbers.
  explicit WeightedSearch(std::vector<double> importances) : importances_(std::move(importances)) {
    for (std::size_t i = 0; i < importances_.size(); ++i)
      if (!(importances_[i] >= 0 && std::isfinite(importances_[i])))
        detail::raise_expected(errc::bad_argument, "tq::WeightedSearch",
                               {"finite importances of at least 0"},
                               {static_cast<float>(importances_[i]), " for input ", i});
  }

  /// Importances of all inputs, one group behind the other.
  [[nodiscard]] std::span<const double> importances() const noexcept { return importances_; }
  /// Groups of inputs, each of which the outputs of the same group read; 1 of a matrix.
  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }

 private:
  [[noreturn]] static void refuse_dead() {
    raise(errc::no_data, "tq::WeightedSearch: expected an input that is not always 0, got none");
  }

  // Returns false where all inputs are always 0.
  template <HessianMatrix H>
  [[nodiscard]] bool append(const H& h, double damping) {
    if (h.tokens() == 0)
      raise(errc::no_data, "tq::WeightedSearch: expected a Hessian of tokens, got none");
    double sum = 0;
    std::size_t live = 0;
    for (std::size_t i = 0; i < h.inputs(); ++i) {
      sum += h(i, i);
      live += h(i, i) > 0;
    }
    if (!(damping >= 0 && damping <= 1e6))
      detail::raise_expected(errc::bad_argument, "tq::WeightedSearch", {"damping of 0 to 1e6"},
                             {static_cast<float>(damping)});
    const double more = live == 0 ? 1.0 : damping * (sum / static_cast<double>(live));
    for (std::size_t i = 0; i < h.inputs(); ++i) importances_.push_back(h(i, i) + more);
    return live != 0;
  }

  std::size_t groups_ = 1;
  std::vector<double> importances_;
};

namespace detail {

// Calls f(search, number) for the elements of every block. `importances` are those of all groups.
template <class Search, Granularity G, Executor E, class F>
void search_blocks(const StackedRows& weights, std::span<const double> importances,
                   const G& granularity, const Search& prototype, const E& executor, const F& f) {
  const ConstTensorView& rows = weights.rows();
  const ColumnMap map(weights.shape(), granularity.block(weights.shape()));
  const auto columns = map.columns_of_groups();
  const std::size_t height = map.block_rows(),
                    count = (weights.outputs() + height - 1) / height * map.groups(),
                    tasks = std::min<std::size_t>(
                        count, 4 * std::max<std::size_t>(executor.concurrency(), 1));
  executor(tasks, [&](std::size_t task) {
    Search search = prototype;
    for (std::size_t i = count * task / tasks; i < count * (task + 1) / tasks; ++i) {
      search.clear();
      const std::size_t top = i / map.groups() * height;
      for (std::size_t r = top; r < std::min(top + height, weights.outputs()); ++r) {
        const double* of_row =
            importances.data() + r / weights.outputs_of_group() * weights.inputs();
        const float* row = rows.data() + static_cast<std::ptrdiff_t>(r) * rows.stride(0);
        for (const std::uint32_t c : columns[i % map.groups()])
          search.push_back(row[static_cast<std::ptrdiff_t>(c) * rows.stride(1)], of_row[c]);
      }
      f(search, i);
    }
  });
}

template <class Scale>
inline constexpr bool is_e4m3_two_level = false;
template <BlockScales Least>
inline constexpr bool is_e4m3_two_level<TwoLevel<float8_e4m3fn, Least>> = true;

// The scales of two levels whose codes leave the least error; blocks of scale 0 keep it.
// `for_each_block(f)` calls f(search, number).
template <class Scale, class ForEachBlock>
[[nodiscard]] Scales<Scale> searched_codes(const Scales<Scale>& start,
                                           const ForEachBlock& for_each_block) {
  const float tensor_scale = start.tensor_scale();
  std::vector<std::uint8_t> codes(start.stored().begin(), start.stored().end());
  constexpr std::uint8_t most = 0x7e;  // 448
  const auto value = [&](std::uint8_t code) {
    return uncontracted(value_of<float8_e4m3fn::format>(code) * tensor_scale);
  };
  for_each_block([&](auto& blocks, std::size_t i) {
    if (codes[i] != 0) codes[i] = blocks.best_code(codes[i], most, value);
  });
  return Scales<Scale>(std::move(codes), tensor_scale);
}

}  // namespace detail

/// Parameters that leave the least squared error of `weights` [outputs, inputs], or [outputs, ...]
/// of the groups of `search` as `gptq` takes them, weighted by the importances of inputs, among
/// ranges around the observed ones: no block is worse than by its range. Block scales of E4M3 under
/// a scale of the tensor are found among their codes. The result does not depend on `executor`.
/// Throws: `errc::shape_mismatch` for other inputs; `errc::not_finite` for NaN or infinite weights;
/// `errc::bad_axis`, `errc::bad_group_size` when the granularity does not fit.
template <AnyParams Params, Backend B = default_backend, Executor E = Serial,
          Readable X = ConstTensorView>
[[nodiscard]] Params calibrate(
    const X& weights, const WeightedSearch& search,
    const typename Params::granularity_type& granularity = typename Params::granularity_type{},
    const E& executor = serial) {
  using Scale = typename Params::scale_type;
  using Blocks = detail::BlockSearch<detail::BlockRounding<B, Params>>;
  constexpr bool two_level = detail::is_e4m3_two_level<Scale>;
  static_assert(std::same_as<Scale, float> || CodedElement<Scale> ||
                    (two_level && !Params::has_zero_point && !Params::has_offset),
                "tq::calibrate: a weighted search knows float32 scales, small floats and E4M3 "
                "scales on two levels without zero points");
  const auto floats = detail::read_floats("tq::calibrate", weights);
  const auto& view = floats.view();
  const detail::StackedRows rows("tq::calibrate", view, search.groups(),
                                 search.importances().size() / search.groups());
  detail::require_possible("tq::calibrate", granularity, view.shape());
  std::vector<Range> ranges(param_count(granularity, view.shape()));
  const auto for_each_block = [&](const auto& f) {
    if (view.size() != 0)
      detail::search_blocks(rows, search.importances(), granularity, Blocks(), executor, f);
  };
  if constexpr (two_level) {
    for_each_block([&](Blocks& blocks, std::size_t i) { ranges[i] = blocks.seen(); });
    const Params start = fit_params<Params>(granularity, ranges);
    return Params(granularity,
                  detail::searched_codes<Scale>(start.stored_scales(), for_each_block));
  } else {
    for_each_block([&](Blocks& blocks, std::size_t i) { ranges[i] = blocks.best_range(); });
    return fit_params<Params>(granularity, ranges);
  }
}

}  // namespace tq
