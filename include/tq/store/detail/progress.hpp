// SPDX-License-Identifier: MIT
#pragma once
// Progress: how much of the work is done, told from any thread.

#include <tq/config.hpp>

#include <cstdint>
#include <functional>
#include <mutex>

namespace tq::store::detail {

// Calls tell(done, all) at the start and after every part, where there is a function to call.
class Progress {
 public:
  using Tell = std::function<void(std::uint64_t done, std::uint64_t all)>;

  Progress(const Tell& tell, std::uint64_t all) : tell_(tell), all_(all) { add(0); }
  void add(std::uint64_t part) {
    const std::lock_guard lock(mutex_);
    done_ += part;
    if (tell_) tell_(done_, all_);
  }

 private:
  const Tell& tell_;
  std::uint64_t all_, done_ = 0;
  std::mutex mutex_;
};

}  // namespace tq::store::detail
