// SPDX-License-Identifier: MIT
#pragma once
// Those who work on one output together.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tool {

// Ranks, of which each takes some of the shards; rank 0 does what is done once. One alone, unless a
// derived class says otherwise.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual std::size_t rank() const { return 0; }
  [[nodiscard]] virtual std::size_t size() const { return 1; }
  // What every rank says, by rank. All ranks call it, as often as the others.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& mine) const {
    return {mine};
  }
};

// Calls f on every rank, and gives what it returned on each, by rank. Where it throws on one, all
// throw: tq::error as on the first of them.
std::vector<std::string> on_all_ranks(const Team& team, const std::function<std::string()>& f);

}  // namespace tool
