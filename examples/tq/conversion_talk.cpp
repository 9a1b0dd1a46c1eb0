// SPDX-License-Identifier: MIT
#include "conversion_talk.hpp"

#include "option_names.hpp"

#include <iostream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tool {

namespace {

// The allocator keeps large blocks for the thread that frees them; many threads would keep many.
void return_large_blocks_to_the_system() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

}  // namespace

// On standard error, as the output may be JSON.
void ConversionTalk::tell_restart(const std::string& changed) const {
  std::cerr << "tq " << command_
            << ": the shards of an unfinished run are made anew, as the input has changed: "
            << with_option_names(changed) << '\n';
}

void ConversionTalk::advance(std::uint64_t done, std::uint64_t all) {
  if (!progress_) {
    return_large_blocks_to_the_system();
    progress_.emplace(command_, all);
    return;
  }
  progress_->advance(done - done_);
  done_ = done;
}

}  // namespace tool
