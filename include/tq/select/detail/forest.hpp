// SPDX-License-Identifier: MIT
#pragma once
// States of nodes that edges join to chains and trees.

#include <tq/select/detail/disjoint_sets.hpp>
#include <tq/select/detail/problem.hpp>
#include <tq/select/detail/states.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace tq::detail {

// Trees that have all nodes of a graph, and of its edges those that close no circle.
class SelectionForest {
 public:
  explicit SelectionForest(const MergedProblem& problem)
      : problem_(problem), trees_(problem.nodes.size()), near_(problem.nodes.size()) {
    for (const SelectionEdge& edge : problem.edges) {
      if (!trees_.join(edge.from, edge.to)) {
        left_out_.push_back(&edge);
        continue;
      }
      near_[edge.from].push_back(&edge);
      near_[edge.to].push_back(&edge);
    }
  }

  // The edges that would close a circle.
  [[nodiscard]] const std::vector<const SelectionEdge*>& left_out() const { return left_out_; }

  // The states of all nodes, with the costs of the edges that are not left out.
  [[nodiscard]] SelectionStates::List solve(SelectionStates& states) {
    SelectionStates::List all;
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
      if (trees_.root(i) != i) continue;
      SelectionStates::List tree = solve_tree(i, states);
      all = all.empty() ? std::move(tree) : states.joined(std::move(all), std::move(tree));
    }
    return all;
  }

 private:
  struct Visit {
    std::size_t node;
    const SelectionEdge* up;  // to the node that it hangs on, or null
  };

  // The nodes of a tree, each after the one that it hangs on.
  [[nodiscard]] std::vector<Visit> visits(std::size_t top) const {
    std::vector<Visit> order{{top, nullptr}};
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Visit v = order[at];
      for (const SelectionEdge* edge : near_[v.node])
        if (edge != v.up) order.push_back({edge->from == v.node ? edge->to : edge->from, edge});
    }
    return order;
  }

  [[nodiscard]] SelectionStates::List solve_tree(std::size_t top, SelectionStates& states) {
    if (near_[top].empty()) return states.choices(top, problem_.nodes[top]);
    const std::vector<Visit> order = visits(top);
    // For every node, a list for each candidate, with the subtrees below it included.
    std::vector<std::vector<SelectionStates::List>> lists(problem_.nodes.size());
    for (const Visit& v : order)  // candidates that others beat too: they may have cheaper edges
      for (std::size_t j = 0; j < problem_.nodes[v.node].size(); ++j)
        lists[v.node].push_back({states.choice(v.node, j, problem_.nodes[v.node][j])});
    for (std::size_t at = order.size(); --at > 0;) {
      const auto [node, up] = order[at];
      const std::size_t parent = up->from == node ? up->to : up->from;
      for (std::size_t j = 0; j < lists[parent].size(); ++j)
        lists[parent][j] = states.joined(std::move(lists[parent][j]),
                                         below(lists[node], *up, up->from == node, j, states));
      lists[node].clear();
    }
    SelectionStates::List all;
    for (const SelectionStates::List& list : lists[top])
      all.insert(all.end(), list.begin(), list.end());
    return states.limited(std::move(all));
  }

  // The subtree below candidate `j` of the node above, with the costs of the edge between.
  [[nodiscard]] static SelectionStates::List below(const std::vector<SelectionStates::List>& lists,
                                                   const SelectionEdge& edge, bool from_below,
                                                   std::size_t j, SelectionStates& states) {
    const std::size_t above = edge.costs.size() / lists.size();
    SelectionStates::List all;
    for (std::size_t k = 0; k < lists.size(); ++k)
      for (SelectionState s : lists[k]) {
        s.cost += edge.costs[from_below ? k * above + j : j * lists.size() + k];
        all.push_back(s);
      }
    return states.limited(std::move(all));
  }

  const MergedProblem& problem_;
  DisjointSets trees_;
  std::vector<std::vector<const SelectionEdge*>> near_;
  std::vector<const SelectionEdge*> left_out_;
};

}  // namespace tq::detail
