// SPDX-License-Identifier: MIT
// Bounds and what they rule out, against all selections there are.
#include <tq/select/detail/reduce.hpp>

#include <tq/select/detail/hull_bound.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace {

using Nodes = std::vector<std::vector<tq::SelectionCost>>;

Nodes random_nodes(std::size_t nodes, std::size_t candidates, unsigned seed) {
  std::mt19937 random(seed);
  const auto real = [&] { return static_cast<double>(random()) * 0x1p-32; };
  Nodes list(nodes);
  for (auto& node : list)
    for (std::size_t j = 0; j < candidates; ++j) {
      const double bits = 1 + 8 * real();
      node.push_back({static_cast<std::uint64_t>(1000 * bits),
                      std::exp2(-2 * bits) * (0.5 + 4 * real()), real()});
    }
  return list;
}

std::vector<tq::SelectionCost> all_sums(const Nodes& nodes) {
  std::vector<tq::SelectionCost> sums(1);
  for (const auto& node : nodes) {
    std::vector<tq::SelectionCost> next;
    for (const tq::SelectionCost& s : sums)
      for (const tq::SelectionCost& c : node) next.push_back(s + c);
    sums = std::move(next);
  }
  return sums;
}

double least_error(const std::vector<tq::SelectionCost>& sums, std::uint64_t bytes) {
  double least = std::numeric_limits<double>::infinity();
  for (const tq::SelectionCost& s : sums)
    if (s.bytes <= bytes) least = std::min(least, s.error);
  return least;
}

}  // namespace

TEST_CASE("no selection is better than the bound, and it is tight on the path") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Nodes nodes = random_nodes(4, 5, seed);
    const tq::detail::HullBound bound(nodes, tq::detail::bytes_of);
    for (const tq::SelectionCost& s : all_sums(nodes)) {
      CHECK(bound.least_error(tq::detail::bytes_of(s)) <= s.error);
      CHECK(bound.least_cost(s.error) <= tq::detail::bytes_of(s));
    }
    const tq::detail::GreedyPath path(nodes, bound);
    CHECK(path.costs().size() == bound.steps().size() + 1);
    for (std::size_t k = 0; k < path.costs().size(); ++k) {
      const tq::SelectionCost& at = path.costs()[k];
      CHECK(std::abs(bound.least_error(tq::detail::bytes_of(at)) - at.error) < 1e-9);
      CHECK(std::abs(bound.least_cost(at.error) / tq::detail::bytes_of(at) - 1) < 1e-6);
      tq::SelectionCost sum;
      const std::vector<std::size_t> choices = path.choices(k);
      for (std::size_t i = 0; i < nodes.size(); ++i) sum += nodes[i][choices[i]];
      CHECK(sum == at);
    }
    CHECK(std::isinf(bound.least_error(1)));
    CHECK(std::isinf(bound.least_cost(0)));
  }
}

TEST_CASE("what is left out is in no best selection") {
  std::size_t before = 0, after = 0;
  for (unsigned seed = 100; seed < 130; ++seed) {
    const Nodes nodes = random_nodes(5, 5, seed);
    const tq::detail::HullBound bound(nodes, tq::detail::bytes_of);
    const tq::detail::GreedyPath path(nodes, bound);
    const tq::detail::ReducedNodes left = tq::detail::reduced(nodes, bound, path);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      before += nodes[i].size();
      after += left.nodes[i].size();
      for (std::size_t j = 0; j < left.nodes[i].size(); ++j)
        CHECK(left.nodes[i][j] == nodes[i][left.numbers[i][j]]);
    }
    const std::vector<tq::SelectionCost> all = all_sums(nodes), rest = all_sums(left.nodes);
    for (std::size_t k = 0; k < all.size(); k += 7)
      CHECK(least_error(rest, all[k].bytes) == least_error(all, all[k].bytes));
  }
  CHECK(after < before);
}
