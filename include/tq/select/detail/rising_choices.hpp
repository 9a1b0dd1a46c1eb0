// SPDX-License-Identifier: MIT
#pragma once
// RisingChoices: the choices of a model one after the other, by the bytes of its nodes.

#include <tq/select/detail/problem.hpp>
#include <tq/select/precision_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace tq::detail {

// A candidate for each node, with the sum of their bytes. Tied nodes have the same number.
struct RisingChoice {
  std::uint64_t bytes = 0;
  std::vector<std::size_t> candidates{};
};

// All choices by rising bytes, each once. The bytes of edges are not counted.
// Source: the enumeration of the smallest sums of several sorted lists (Lawler, "A procedure for
// computing the K best solutions to discrete optimization problems", 1972).
class RisingChoices {
 public:
  // `model`: with ties that are aligned, as that of a PrecisionSelector.
  explicit RisingChoices(const PrecisionModel& model)
      : merged_(merged_numbers(
            {std::vector<std::vector<SelectionCost>>(model.nodes.size()), model.ties, {}})) {
    for (std::size_t i = 0; i < merged_.size(); ++i) add(model.nodes[i], merged_[i]);
    State first;
    for (std::size_t g = 0; g < lists_.size(); ++g) {
      std::ranges::stable_sort(lists_[g], {}, &Entry::bytes);
      first.bytes += lists_[g].front().bytes;
      if (lists_[g].size() > 1) order_.push_back(g);
    }
    std::ranges::stable_sort(order_, {}, [&](std::size_t g) { return step(g, 1); });
    states_.push(std::move(first));
  }

  // Nothing after the last.
  [[nodiscard]] std::optional<RisingChoice> next() {
    if (states_.empty()) return std::nullopt;
    const State state = states_.top();
    states_.pop();
    push_next(state);
    std::vector<std::size_t> places(lists_.size());
    for (const Move& move : state.moves) places[order_[move.at]] = move.place;
    RisingChoice out{state.bytes, {}};
    for (const std::size_t g : merged_) out.candidates.push_back(lists_[g][places[g]].candidate);
    return out;
  }

 private:
  struct Entry {
    std::uint64_t bytes;
    std::size_t candidate;
  };
  // From the first entry of a list to another. `at`: the list's place in `order_`.
  struct Move {
    std::size_t at, place;
  };
  struct State {
    std::uint64_t bytes = 0;
    std::vector<Move> moves{};
    bool operator<(const State& other) const { return bytes > other.bytes; }  // least on top
  };

  void add(const PrecisionNode& node, std::size_t group) {
    if (group == lists_.size()) {
      lists_.emplace_back();
      for (std::size_t j = 0; j < node.candidates.size(); ++j) lists_.back().push_back({0, j});
    }
    for (Entry& entry : lists_[group]) entry.bytes += node.candidates[entry.candidate].bytes;
  }

  // The bytes from an entry of a list to the next.
  [[nodiscard]] std::uint64_t step(std::size_t group, std::size_t to) const {
    return lists_[group][to].bytes - lists_[group][to - 1].bytes;
  }

  // Each choice comes from one other: that whose last move goes less far, or is not made, or is
  // made in the list before.
  void push_next(const State& state) {
    const std::size_t at = state.moves.empty() ? 0 : state.moves.back().at + 1;
    if (!state.moves.empty()) {
      const Move last = state.moves.back();
      const std::size_t group = order_[last.at];
      if (last.place + 1 < lists_[group].size()) {
        State further = state;
        further.bytes += step(group, last.place + 1);
        ++further.moves.back().place;
        states_.push(std::move(further));
      }
    }
    if (at == order_.size()) return;
    State more = state;
    more.bytes += step(order_[at], 1);
    more.moves.push_back({at, 1});
    if (!state.moves.empty() && state.moves.back().place == 1) {
      State other = state;
      other.bytes += step(order_[at], 1) - step(order_[at - 1], 1);
      other.moves.back() = {at, 1};
      states_.push(std::move(other));
    }
    states_.push(std::move(more));
  }

  std::vector<std::size_t> merged_;        // of every node: its list
  std::vector<std::vector<Entry>> lists_;  // by rising bytes
  std::vector<std::size_t> order_;         // lists of several entries, by their first steps
  std::priority_queue<State> states_;
};

}  // namespace tq::detail
