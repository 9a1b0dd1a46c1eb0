// SPDX-License-Identifier: MIT
#pragma once
// ReadAhead: small reads that follow one another, of thousands of small tensors, made few large
// ones; before large ones the system is told what will be read, and reads it meanwhile.

#include <tq/files/byte_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq::io::detail {

// Reads from one source as `ByteSource::read`. A small read near the last one takes what follows as
// well, which is kept for the next.
class ReadAhead {
 public:
  void read(const ByteSource& source, std::uint64_t offset, std::span<std::byte> out) {
    const bool is_near = offset + short_length >= last_ && offset <= last_ + short_length;
    if (out.size() > short_length) announce(source, offset + out.size(), offset == last_);
    last_ = offset + out.size();
    if (out.size() > short_length || !source.contains(offset, out.size()))
      return source.read(offset, out);
    if (offset < begin_ || last_ > begin_ + kept_.size()) {
      if (!is_near) return source.read(offset, out);
      kept_.clear();
      std::vector<std::byte> next(
          static_cast<std::size_t>(std::min<std::uint64_t>(window, source.size() - offset)));
      source.read(offset, next);
      kept_ = std::move(next);
      begin_ = offset;
    }
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(offset - begin_), out.size(),
                out.begin());
  }

 private:
  // At a read up to `end`: where reads follow one another, one to two stretches after it are
  // announced.
  void announce(const ByteSource& source, std::uint64_t end, bool follows) {
    if (!follows || announced_ < end) announced_ = end;
    if (!follows || announced_ - end >= stretch) return;
    source.will_read(announced_, stretch);
    announced_ += stretch;
  }

  static constexpr std::size_t short_length = 1024, window = std::size_t{1} << 16;
  static constexpr std::uint64_t stretch = std::uint64_t{1} << 22;
  std::uint64_t last_ = 0;       // the end of the last read
  std::uint64_t announced_ = 0;  // the end of what the system was told
  std::uint64_t begin_ = 0;      // of what is kept
  std::vector<std::byte> kept_;
};

}  // namespace tq::io::detail
