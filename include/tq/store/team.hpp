// SPDX-License-Identifier: MIT
#pragma once
// Team: ranks that write an output together.

#include <tq/error.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <new>
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
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& mine) const {
    return {mine};
  }
};

/// Calls f on every rank, and returns the results of all, by rank. If f throws on a rank, all ranks
/// throw: the `error` of the first of them.
inline std::vector<std::string> on_all_ranks(const Team& team,
                                             const std::function<std::string()>& f);

inline std::vector<std::string> on_all_ranks(const Team& team,
                                             const std::function<std::string()>& f) {
  std::string mine;
  bool has_failed = true;
  errc code = errc::io_failure;
  try {
    mine = f();
    has_failed = false;
  } catch (const error& e) {
    code = e.code();
    mine = e.what();
  } catch (const std::bad_alloc&) {
    mine = "not enough memory";
  } catch (const std::exception& e) {
    mine = e.what();
  }
  const std::vector<std::string> codes =
      team.gather(has_failed ? std::to_string(static_cast<int>(code)) : std::string());
  std::vector<std::string> all = team.gather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!codes[rank].empty()) raise(static_cast<errc>(std::stoi(codes[rank])), all[rank]);
  return all;
}

}  // namespace tq::store
