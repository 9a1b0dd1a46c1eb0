// SPDX-License-Identifier: MIT
#pragma once
// PrecisionModel: the tensors of a model, and what every scheme would cost and lose in each.

#include <tq/error.hpp>
#include <tq/select/detail/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

/// The scheme of a tensor that stays as it is.
inline constexpr std::string_view float_scheme = "float";

/// Where an error or a time comes from.
enum class Evidence : std::uint8_t {
  measured,
  prior,  ///< somebody's expectation of this kind of operation, not of this tensor
};

[[nodiscard]] constexpr std::string_view to_string(Evidence evidence) noexcept {
  return evidence == Evidence::measured ? "measured" : "prior";
}

/// The work whose time a candidate has.
enum class TimedWork : std::uint8_t {
  none,                   ///< nothing was measured
  decode,                 ///< decoding all weights; of float, copying them
  lookup,                 ///< decoding some rows of an embedding, in proportion
  float_product,          ///< `FloatLinear`
  int8_product,           ///< `QuantizedLinear`
  grouped_int8_product,   ///< `GroupedLinear<Int8PerRow>`
  grouped_float_product,  ///< `GroupedLinear<FloatActivations>`
  decoded_product,        ///< decoding all weights, then a product of floats
};

[[nodiscard]] constexpr std::string_view to_string(TimedWork work) noexcept {
  switch (work) {
    case TimedWork::none: return "none";
    case TimedWork::decode: return "decode";
    case TimedWork::lookup: return "lookup";
    case TimedWork::float_product: return "float_product";
    case TimedWork::int8_product: return "int8_product";
    case TimedWork::grouped_int8_product: return "grouped_int8_product";
    case TimedWork::grouped_float_product: return "grouped_float_product";
    case TimedWork::decoded_product: break;
  }
  return "decoded_product";
}

/// The work of that name, or nothing.
[[nodiscard]] constexpr std::optional<TimedWork> find_timed_work(std::string_view name) noexcept {
  for (int i = 0; i <= static_cast<int>(TimedWork::decoded_product); ++i)
    if (to_string(static_cast<TimedWork>(i)) == name) return static_cast<TimedWork>(i);
  return std::nullopt;
}

/// A scheme for a tensor.
struct PrecisionCandidate {
  std::string scheme;       ///< a name, or `float_scheme`
  std::uint64_t bytes = 0;  ///< codes, scales, zero points and padding
  double error = 0;  ///< of all candidates in one unit that adds up: sum d^2 / sum w^2, or the rise
                     ///< of a loss
  double seconds = 0;  ///< of one call; 0 where not measured
  Evidence evidence = Evidence::measured;
  TimedWork timed = TimedWork::none;  ///< what takes the seconds
};

/// A tensor, and the schemes for it.
struct PrecisionNode {
  std::string name;
  std::uint64_t weights = 0;                   ///< elements
  std::vector<PrecisionCandidate> candidates;  ///< the first is `float_scheme`
};

/// Everything a selection is made from. Ties and edges are those of `SelectionProblem`; tied nodes
/// keep the schemes that all of them have.
struct PrecisionModel {
  std::vector<PrecisionNode> nodes;
  std::vector<std::vector<std::size_t>> ties{};
  std::vector<SelectionEdge> edges{};
};

namespace detail {

[[nodiscard]] inline const PrecisionCandidate* find_candidate(const PrecisionNode& node,
                                                              std::string_view scheme) {
  for (const PrecisionCandidate& c : node.candidates)
    if (c.scheme == scheme) return &c;
  return nullptr;
}

// Throws: errc::bad_argument unless float comes first and no scheme twice.
inline void require_candidates(const PrecisionNode& node) {
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
[[nodiscard]] inline std::vector<std::vector<std::size_t>> align_ties(PrecisionModel& model) {
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
[[nodiscard]] inline SelectionEdge aligned_edge(
    const SelectionEdge& edge, const std::vector<std::vector<std::size_t>>& numbers,
    std::size_t candidates_of_to) {
  SelectionEdge out{edge.from, edge.to, {}};
  for (const std::size_t j : numbers[edge.from])
    for (const std::size_t k : numbers[edge.to])
      out.costs.push_back(edge.costs[j * candidates_of_to + k]);
  return out;
}

// The problem of a model, whose nodes and edges are aligned on the way.
[[nodiscard]] inline SelectionProblem problem_of(PrecisionModel& model) {
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
