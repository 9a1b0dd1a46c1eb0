// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/team.hpp.

#include <tq/error.hpp>
#include <tq/store/team.hpp>

#include <exception>
#include <new>

namespace tq::store {

TQ_API std::vector<std::string> Team::gather(const std::string& mine) const { return {mine}; }

TQ_API std::vector<std::string> on_all_ranks(const Team& team,
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
