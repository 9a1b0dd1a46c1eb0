// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/detail/slot_store.hpp.

#include <tq/observe/detail/slot_store.hpp>

namespace tq::detail {

TQ_CORE_API std::mutex& slot_mutex() noexcept {
  static std::mutex shared;
  return shared;
}

}  // namespace tq::detail
