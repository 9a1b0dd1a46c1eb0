// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/observer.hpp.

#include <tq/observe/observer.hpp>

namespace tq::detail {

TQ_CORE_API std::string where_of(const char* function, const std::string& name) {
  return std::string("tq::Observer::") + function + (name.empty() ? "" : ": tensor '" + name + "'");
}

}  // namespace tq::detail
