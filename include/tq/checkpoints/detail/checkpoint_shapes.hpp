// SPDX-License-Identifier: MIT
#pragma once
// Finds the blocks of a weight from its shape and the shape of its scales, where only one size of
// blocks fits.

#include <tq/containers/tensor.hpp>
#include <tq/core/detail/sizes.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tq::io::detail {

// The size of G groups of K inputs: the hint if it fits, else a power of two; 0 if several fit.
[[nodiscard]] inline std::size_t checkpoint_group_size(std::size_t k, std::size_t groups,
                                                       std::size_t hint) {
  const auto fits = [&](std::size_t size) { return tq::detail::units_for(k, size) == groups; };
  if (groups == 1) return k;
  if (hint != 0 && fits(hint)) return hint;
  for (std::size_t size = 8; size < k && size != 0; size *= 2)  // beyond the last power it is 0
    if (fits(size)) return k % groups == 0 && k / groups != size ? 0 : size;
  return groups != 0 && k % groups == 0 ? k / groups : 0;
}

// The extents of the blocks of a weight under scales of that shape: a scale for all, per row, or
// for each block of the last axes. The block has the hinted extents; without a hint 128, or another
// power of two that divides the extent. Nothing for other shapes.
[[nodiscard]] inline std::optional<std::vector<std::size_t>> checkpoint_blocks(
    std::span<const std::size_t> weight, std::span<const std::size_t> scales,
    std::span<const std::size_t> hint = {}) {
  std::vector<std::size_t> block(weight.begin(), weight.end()), grid(scales.begin(), scales.end());
  for (std::size_t& b : block) b = std::max(b, std::size_t{1});
  if (element_count(scales) == 1) return block;
  if (grid.size() == 1 && block.size() > 1) grid.resize(block.size(), 1);  // one per row
  if (grid.size() != block.size()) return std::nullopt;
  const std::size_t leading = grid.size() - std::min(grid.size(), hint.size());
  for (std::size_t a = 0; a < grid.size(); ++a) {
    const std::size_t n = weight[a], g = grid[a], said = a < leading ? 0 : hint[a - leading];
    if (g == 1) continue;
    if (said != 0 && tq::detail::units_for(n, said) == g) block[a] = said;
    else if (g == n) block[a] = 1;
    else if (said != 0) return std::nullopt;
    else if (tq::detail::units_for(n, 128) == g) block[a] = 128;
    else if (g != 0 && n % g == 0 && std::has_single_bit(n / g)) block[a] = n / g;
    else return std::nullopt;
  }
  return block;
}

// Whether a strategy of compressed-tensors is for weights; others are for activations.
[[nodiscard]] constexpr bool is_weight_strategy(std::string_view strategy) noexcept {
  return strategy == "tensor" || strategy == "channel" || strategy == "group" ||
         strategy == "tensor_group" || strategy == "block";
}

// The scales that a strategy makes of a weight with such groups or blocks, of the last axes;
// nothing where that does not say it. Source: compressed-tensors,
// quantization/lifecycle/initialize.py, initialize_qparams.
[[nodiscard]] inline std::optional<std::vector<std::size_t>> strategy_grid(
    std::string_view strategy, std::span<const std::size_t> weight,
    std::span<const std::size_t> block) {
  std::vector<std::size_t> grid(weight.begin(), weight.end());
  if (strategy == "tensor" || grid.empty()) return std::vector<std::size_t>{1};
  if (strategy == "channel") {
    grid.back() = 1;
    return grid;
  }
  if (!is_weight_strategy(strategy) || block.empty() || block.size() > grid.size())
    return std::nullopt;
  const std::size_t leading = grid.size() - block.size();
  for (std::size_t a = leading; a < grid.size(); ++a)
    grid[a] = tq::detail::units_for(grid[a], block[a - leading]);
  return grid;
}

// Whether scales of that shape are those of the strategy. The last axis of channels may be left
// out.
[[nodiscard]] inline bool fits_strategy(std::string_view strategy,
                                        std::span<const std::size_t> weight,
                                        std::span<const std::size_t> scales,
                                        std::span<const std::size_t> block) {
  if (!is_weight_strategy(strategy)) return false;
  if (strategy == "tensor") return element_count(scales) == 1;
  const auto grid = strategy_grid(strategy, weight, block);
  if (!grid) return scales.size() == weight.size();
  std::vector<std::size_t> got(scales.begin(), scales.end());
  if (strategy == "channel" && got.size() + 1 == grid->size()) got.push_back(1);
  return got == *grid;
}

}  // namespace tq::io::detail
