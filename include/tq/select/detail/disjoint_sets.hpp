// SPDX-License-Identifier: MIT
#pragma once
// DisjointSets: numbers in groups that are joined.

#include <tq/config.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tq::detail {

// The numbers below n, each in a group of its own at first.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : smaller_(n) {
    std::iota(smaller_.begin(), smaller_.end(), std::size_t{0});
  }
  // The smallest number of a group.
  [[nodiscard]] std::size_t root(std::size_t i) {
    while (smaller_[i] != i) i = smaller_[i] = smaller_[smaller_[i]];
    return i;
  }
  // Makes one group of two. False where they were one already.
  bool join(std::size_t i, std::size_t j) {
    const std::size_t a = root(i), b = root(j);
    smaller_[std::max(a, b)] = std::min(a, b);
    return a != b;
  }

 private:
  std::vector<std::size_t> smaller_;  // of every number: a smaller one of its group, or itself
};

}  // namespace tq::detail
