// SPDX-License-Identifier: MIT
#pragma once
// WriteGather: small writes to several places of a file, each in order, put together to few large
// ones.

#include <tq/files/atomic_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::io::detail {

// Up to `places` runs of bytes that grow, the one that grew least recently written first when
// another begins.
class WriteGather {
 public:
  explicit WriteGather(AtomicFile& file) : file_(&file) {}

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
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
  void flush() {
    for (Run& run : runs_) flush(run);
  }

 private:
  struct Run {
    std::uint64_t offset = 0, used = 0;
    std::vector<std::byte> bytes;
  };
  static constexpr std::size_t places = 6, most = std::size_t{1} << 16;

  // The run that ends at `offset`, or an empty one.
  Run& run_at(std::uint64_t offset) {
    for (Run& run : runs_)
      if (!run.bytes.empty() && run.offset + run.bytes.size() == offset) return run;
    Run& oldest = *std::min_element(runs_.begin(), runs_.end(),
                                    [](const Run& a, const Run& b) { return a.used < b.used; });
    flush(oldest);
    return oldest;
  }
  void flush(Run& run) {
    if (!run.bytes.empty()) file_->write_at(run.offset, run.bytes);
    run.bytes.clear();
  }

  AtomicFile* file_;
  std::array<Run, places> runs_;
  std::uint64_t clock_ = 0;
};

}  // namespace tq::io::detail
