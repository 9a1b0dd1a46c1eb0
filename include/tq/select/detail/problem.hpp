// SPDX-License-Identifier: MIT
#pragma once
// SelectionProblem: nodes with candidates, of which one each is to be chosen.

#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>
#include <tq/select/detail/disjoint_sets.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// The cost of a choice. Bytes are exact; errors add up, so they are relative squared errors or
/// rises of a loss, never dB.
struct SelectionCost {
  std::uint64_t bytes = 0;
  double error = 0;
  double seconds = 0;

  SelectionCost& operator+=(const SelectionCost& other) noexcept {
    bytes += other.bytes;
    error += other.error;
    seconds += other.seconds;
    return *this;
  }
  friend SelectionCost operator+(SelectionCost a, const SelectionCost& b) noexcept {
    return a += b;
  }
  friend bool operator==(const SelectionCost&, const SelectionCost&) = default;
};

/// Costs of neighbours beside their own costs, such as a conversion between their formats.
struct SelectionEdge {
  std::size_t from = 0, to = 0;      ///< numbers of two nodes
  std::vector<SelectionCost> costs;  ///< [candidates of from, candidates of to], row-major
};

/// One candidate of every node is to be chosen. Tied nodes take the candidate of the same number:
/// tensors in one storage, or the queries, keys and values of an attention.
struct SelectionProblem {
  std::vector<std::vector<SelectionCost>> nodes;  ///< the costs of every candidate
  std::vector<std::vector<std::size_t>> ties{};   ///< groups of numbers of nodes
  std::vector<SelectionEdge> edges{};
};

namespace detail {

inline void require_cost(const SelectionCost& cost, const std::string& of) {
  const auto check = [&](const char* what, double value) {
    if (!std::isfinite(value) || value < 0)
      raise_expected(errc::bad_argument, "tq::SelectionFrontier",
                     {what, " that are finite and not negative"},
                     {tq::detail::shortest_text(value), " for ", of});
  };
  check("errors", cost.error);
  check("seconds", cost.seconds);
}

// Adds the largest of some costs to a total that must not overflow.
inline void add_largest(const std::vector<SelectionCost>& costs, SelectionCost& total) {
  SelectionCost largest;
  for (const SelectionCost& c : costs) {
    largest.bytes = std::max(largest.bytes, c.bytes);
    largest.error = std::max(largest.error, c.error);
    largest.seconds = std::max(largest.seconds, c.seconds);
  }
  if (largest.bytes > std::numeric_limits<std::uint64_t>::max() - total.bytes)
    raise(errc::unsupported,
          "tq::SelectionFrontier: expected bytes whose sum is below 2^64, got more");
  total += largest;
  for (const double sum : {total.error, total.seconds})
    if (sum > std::numeric_limits<double>::max() / 2)  // whatever the order of the sum
      raise(errc::unsupported,
            "tq::SelectionFrontier: expected errors and seconds whose sums are finite, got more");
}

inline void require_ties(const SelectionProblem& problem) {
  for (const std::vector<std::size_t>& group : problem.ties)
    for (const std::size_t i : group) {
      if (i >= problem.nodes.size())
        raise_expected(errc::bad_argument, "tq::SelectionFrontier",
                       {"ties of nodes below ", problem.nodes.size()}, {"node ", i});
      const std::size_t expected = problem.nodes[group.front()].size();
      if (problem.nodes[i].size() != expected)
        raise_expected(errc::shape_mismatch, "tq::SelectionFrontier",
                       {"tied nodes to have as many candidates"},
                       {expected, " and ", problem.nodes[i].size()});
    }
}

inline void require_edge(const SelectionProblem& problem, const SelectionEdge& edge) {
  const std::size_t n = problem.nodes.size();
  if (edge.from >= n || edge.to >= n || edge.from == edge.to)
    raise_expected(errc::bad_argument, "tq::SelectionFrontier",
                   {"edges between two nodes below ", n}, {edge.from, " and ", edge.to});
  const std::size_t expected = problem.nodes[edge.from].size() * problem.nodes[edge.to].size();
  if (edge.costs.size() != expected)
    raise_expected(errc::shape_mismatch, "tq::SelectionFrontier", {expected, " costs of an edge"},
                   {edge.costs.size()});
}

// Throws: errc::bad_argument, shape_mismatch, unsupported.
inline void require_valid(const SelectionProblem& problem) {
  SelectionCost total;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const std::string node = "node " + std::to_string(i);
    if (problem.nodes[i].empty())
      raise_expected(errc::no_data, "tq::SelectionFrontier", {"candidates"}, {"none for ", node});
    for (const SelectionCost& cost : problem.nodes[i]) require_cost(cost, node);
    add_largest(problem.nodes[i], total);
  }
  require_ties(problem);
  for (const SelectionEdge& edge : problem.edges) {
    require_edge(problem, edge);
    for (const SelectionCost& cost : edge.costs) require_cost(cost, "an edge");
    add_largest(edge.costs, total);
  }
}

// A problem without ties: every node stands for all that are tied to it, and no two edges join the
// same nodes.
struct MergedProblem {
  std::vector<std::size_t> merged;  // of every node before: its number now
  std::vector<std::vector<SelectionCost>> nodes;
  std::vector<SelectionEdge> edges;  // from < to

  [[nodiscard]] bool has_seconds() const {
    for (const auto& node : nodes)
      for (const SelectionCost& cost : node)
        if (cost.seconds != 0) return true;
    for (const SelectionEdge& edge : edges)
      for (const SelectionCost& cost : edge.costs)
        if (cost.seconds != 0) return true;
    return false;
  }
};

// Numbers the groups of tied nodes in the order of their first members.
[[nodiscard]] inline std::vector<std::size_t> merged_numbers(const SelectionProblem& problem) {
  DisjointSets groups(problem.nodes.size());
  for (const std::vector<std::size_t>& group : problem.ties)
    for (const std::size_t i : group) groups.join(group.front(), i);
  std::vector<std::size_t> number(problem.nodes.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < number.size(); ++i)
    number[i] = groups.root(i) == i ? count++ : number[groups.root(i)];
  return number;
}

// Adds an edge to one between the same nodes, or to the node where both ends became one.
inline void merge_edge(const SelectionEdge& edge, MergedProblem& out) {
  const std::size_t from = out.merged[edge.from], to = out.merged[edge.to];
  std::vector<SelectionCost>&node = out.nodes[from], &other = out.nodes[to];
  if (from == to) {
    for (std::size_t j = 0; j < node.size(); ++j) node[j] += edge.costs[j * node.size() + j];
    return;
  }
  const std::size_t low = std::min(from, to), high = std::max(from, to);
  auto found = std::find_if(out.edges.begin(), out.edges.end(),
                            [&](const SelectionEdge& e) { return e.from == low && e.to == high; });
  if (found == out.edges.end())
    found = out.edges.insert(out.edges.end(),
                             {low, high, std::vector<SelectionCost>(edge.costs.size())});
  for (std::size_t j = 0; j < node.size(); ++j)
    for (std::size_t k = 0; k < other.size(); ++k)
      found->costs[from < to ? j * other.size() + k : k * node.size() + j] +=
          edge.costs[j * other.size() + k];
}

[[nodiscard]] inline MergedProblem merge_ties(const SelectionProblem& problem) {
  MergedProblem out{merged_numbers(problem), {}, {}};
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    if (out.merged[i] == out.nodes.size()) {
      out.nodes.push_back(problem.nodes[i]);
      continue;
    }
    std::vector<SelectionCost>& sum = out.nodes[out.merged[i]];
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += problem.nodes[i][j];
  }
  for (const SelectionEdge& edge : problem.edges) merge_edge(edge, out);
  return out;
}

}  // namespace detail

}  // namespace tq
