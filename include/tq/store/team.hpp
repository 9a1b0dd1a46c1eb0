// SPDX-License-Identifier: MIT
#pragma once
// Team: ranks that write an output together.

#include <tq/bodies.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tq::store {

/// Ranks that share the shards of an output; rank 0 does the work that is done once. The class
/// itself is a single rank, derived classes are more: processes of MPI, for example.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual std::size_t rank() const { return 0; }
  [[nodiscard]] virtual std::size_t size() const { return 1; }
  /// The texts of all ranks, by rank. Every rank calls it, as often as the others.
  [[nodiscard]] TQ_API virtual std::vector<std::string> gather(const std::string& mine) const;
};

/// Calls f on every rank, and returns the results of all, by rank. If f throws on a rank, all ranks
/// throw: the `error` of the first of them.
TQ_API std::vector<std::string> on_all_ranks(const Team& team,
                                             const std::function<std::string()>& f);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/team.ipp>
#endif
