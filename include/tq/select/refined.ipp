// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/select/refined.hpp.

#include <tq/select/refined.hpp>

namespace tq {

namespace detail {

TQ_API std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return b > ~a ? ~std::uint64_t{0} : a + b;
}

TQ_API bool fits_room(std::uint64_t more, std::uint64_t fewer, std::uint64_t room) noexcept {
  return more <= saturated_sum(fewer, room);
}

// The candidates of a node that none of as few bytes is better than, by bytes.
TQ_API std::vector<std::size_t> undominated(const PrecisionNode& node) {
  std::vector<std::size_t> order(node.candidates.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto& c = node.candidates;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return c[a].bytes != c[b].bytes ? c[a].bytes < c[b].bytes : c[a].error < c[b].error;
  });
  std::vector<std::size_t> out;
  for (const std::size_t i : order)
    if (out.empty() || c[i].error < c[out.back()].error) out.push_back(i);
  return out;
}

TQ_API std::vector<std::size_t> neighbours_of(const PrecisionNode& node, std::size_t current,
                                              std::size_t count) {
  std::vector<std::size_t> smaller, larger;
  for (const std::size_t i : undominated(node))
    if (i != current)
      (node.candidates[i].bytes <= node.candidates[current].bytes ? smaller : larger).push_back(i);
  std::vector<std::size_t> out(
      smaller.end() - static_cast<std::ptrdiff_t>(std::min(count, smaller.size())), smaller.end());
  out.insert(out.end(), larger.begin(),
             larger.begin() + static_cast<std::ptrdiff_t>(std::min(count, larger.size())));
  return out;
}

}  // namespace detail

}  // namespace tq
