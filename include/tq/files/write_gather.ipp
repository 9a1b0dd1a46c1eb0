// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/write_gather.hpp.

#include <tq/files/write_gather.hpp>

#include <algorithm>

namespace tq::io::detail {

TQ_API void WriteGather::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  Run& run = run_at(offset);
  run.used = ++clock_;
  if (run.bytes.size() + bytes.size() > most) flush(run);
  if (bytes.size() >= most / 2) {
    flush(run);
    file_->write_at(offset, bytes);
    return;
  }
  if (run.bytes.empty()) run.offset = offset;
  run.bytes.insert(run.bytes.end(), bytes.begin(), bytes.end());
}

TQ_API void WriteGather::flush() {
  for (Run& run : runs_) flush(run);
}

TQ_API WriteGather::Run& WriteGather::run_at(std::uint64_t offset) {
  for (Run& run : runs_)
    if (!run.bytes.empty() && run.offset + run.bytes.size() == offset) return run;
  Run& oldest = *std::min_element(runs_.begin(), runs_.end(),
                                  [](const Run& a, const Run& b) { return a.used < b.used; });
  flush(oldest);
  return oldest;
}

TQ_API void WriteGather::flush(Run& run) {
  if (!run.bytes.empty()) file_->write_at(run.offset, run.bytes);
  run.bytes.clear();
}

}  // namespace tq::io::detail
