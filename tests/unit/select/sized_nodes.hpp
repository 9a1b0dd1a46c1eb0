// SPDX-License-Identifier: MIT
#pragma once
// A model of few nodes, the sizes of its files, and all selections of it.

#include <tq/select/precision_selector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sized_test {

inline tq::PrecisionNode sized_node(const std::string& name, std::uint64_t weights,
                                    double sensitivity) {
  return {name,
          weights,
          {{"float", 4 * weights, 0},
           {"int8", weights, sensitivity * 1e-4},
           {"int4", weights / 2, sensitivity * 1e-2}}};
}

inline tq::PrecisionModel three_nodes() {
  return {{sized_node("a", 1000, 1), sized_node("b", 600, 20), sized_node("c", 1400, 0.1)}};
}

// At most what files have beside their nodes.
inline constexpr std::uint64_t others = 57;

// Codes have headers of 100 bytes a node, int8 has 30 more where a has int4, and files are padded.
inline std::uint64_t file_bytes(const tq::PrecisionSelection& selection) {
  std::uint64_t sum = selection.cost.bytes + others;
  const bool is_mixed = selection.nodes.front().choice.scheme == "int4";
  for (const tq::SelectedPrecision& node : selection.nodes)
    if (node.choice.scheme != "float") sum += node.choice.scheme == "int8" && is_mixed ? 130 : 100;
  return (sum + 7) / 8 * 8;
}

// Calls f with every selection in which tied nodes have the same candidate.
template <class F>
void for_each_selection(const tq::PrecisionSelector& selector, F&& f) {
  const tq::PrecisionModel& model = selector.model();
  std::vector<std::size_t> choice(model.nodes.size());
  for (bool is_left = true; is_left;) {
    bool is_tied = true;
    for (const std::vector<std::size_t>& group : model.ties)
      for (const std::size_t i : group) is_tied &= choice[i] == choice[group.front()];
    if (is_tied) f(selector.chosen(choice));
    is_left = false;
    for (std::size_t i = 0; i < choice.size() && !is_left; ++i) {
      is_left = ++choice[i] < model.nodes[i].candidates.size();
      if (!is_left) choice[i] = 0;
    }
  }
}

}  // namespace sized_test
