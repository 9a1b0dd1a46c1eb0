// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/select/precision_model.hpp.

#include <tq/select/precision_model.hpp>

#include <algorithm>
#include <utility>

namespace tq {

namespace detail {

TQ_API const PrecisionCandidate* find_candidate(const PrecisionNode& node,
                                                std::string_view scheme) {
  for (const PrecisionCandidate& c : node.candidates)
    if (c.scheme == scheme) return &c;
  return nullptr;
}

// Throws: errc::bad_argument unless float comes first and no scheme twice.
TQ_API void require_candidates(const PrecisionNode& node) {
  if (node.candidates.empty() || node.candidates.front().scheme != float_scheme)
    raise_expected(
        errc::bad_argument, "tq::PrecisionSelector",
        {"the first candidate of ", in_quotes(node.name), " to be \"float\""},
        {node.candidates.empty() ? "none" : "\"" + node.candidates.front().scheme + "\""});
  for (const PrecisionCandidate& c : node.candidates)
    if (find_candidate(node, c.scheme) != &c)
      raise_expected(errc::bad_argument, "tq::PrecisionSelector",
                     {"each scheme once for ", in_quotes(node.name)},
                     {in_quotes(c.scheme), " twice"});
}

// Leaves to tied nodes, transitively, the schemes that all have, in one order. Returns the numbers
// of the candidates before.
TQ_API std::vector<std::vector<std::size_t>> align_ties(PrecisionModel& model) {
  SelectionProblem all{std::vector<std::vector<SelectionCost>>(model.nodes.size()), model.ties, {}};
  require_ties(all);
  const std::vector<std::size_t> merged = merged_numbers(all);
  std::vector<std::vector<std::size_t>> numbers(model.nodes.size()), tied(model.nodes.size());
  for (std::size_t i = 0; i < merged.size(); ++i) tied[merged[i]].push_back(i);
  const std::vector<PrecisionNode> before = model.nodes;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::vector<std::size_t>& group = tied[merged[i]];
    model.nodes[i].candidates.clear();
    for (const PrecisionCandidate& c : before[group.front()].candidates) {
      const bool all_have = std::all_of(group.begin(), group.end(), [&](std::size_t k) {
        return find_candidate(before[k], c.scheme) != nullptr;
      });
      if (!all_have) continue;
      const PrecisionCandidate* own = find_candidate(before[i], c.scheme);
      numbers[i].push_back(static_cast<std::size_t>(own - before[i].candidates.data()));
      model.nodes[i].candidates.push_back(*own);
    }
  }
  return numbers;
}

// The costs of an edge for the candidates that are left.
TQ_API SelectionEdge aligned_edge(const SelectionEdge& edge,
                                  const std::vector<std::vector<std::size_t>>& numbers,
                                  std::size_t candidates_of_to) {
  SelectionEdge out{edge.from, edge.to, {}};
  for (const std::size_t j : numbers[edge.from])
    for (const std::size_t k : numbers[edge.to])
      out.costs.push_back(edge.costs[j * candidates_of_to + k]);
  return out;
}

TQ_API SelectionProblem problem_of(PrecisionModel& model) {
  for (const PrecisionNode& node : model.nodes) require_candidates(node);
  const auto costs_of = [&] {
    std::vector<std::vector<SelectionCost>> nodes;
    for (const PrecisionNode& node : model.nodes) {
      nodes.emplace_back();
      for (const PrecisionCandidate& c : node.candidates)
        nodes.back().push_back({c.bytes, c.error, c.seconds});
    }
    return nodes;
  };
  const SelectionProblem before{costs_of(), {}, {}};
  for (const SelectionEdge& edge : model.edges) require_edge(before, edge);
  const std::vector<std::vector<std::size_t>> numbers = align_ties(model);
  SelectionProblem out{costs_of(), model.ties, {}};
  for (SelectionEdge& edge : model.edges)
    edge = aligned_edge(edge, numbers, before.nodes[edge.to].size());
  out.edges = model.edges;
  return out;
}

}  // namespace detail

}  // namespace tq
