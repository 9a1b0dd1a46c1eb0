// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/calibrate.hpp.

#include <tq/calibrate/calibrate.hpp>
#include <tq/error.hpp>

namespace tq::detail {

TQ_CORE_API void refuse_no_data(const std::string& name, std::size_t i, std::size_t n) {
  const std::string where = "tq::calibrate" + (name.empty() ? name : ": tensor '" + name + "'");
  if (n == 0) raise_text(errc::no_data, {where, ": expected data, but the observer saw none"});
  raise_text(errc::no_data, {where, ": expected finite values in every slot, but slot ", i, " of ",
                             n, " saw none"});
}

}  // namespace tq::detail
