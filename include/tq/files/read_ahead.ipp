// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/read_ahead.hpp.

#include <tq/files/read_ahead.hpp>

#include <algorithm>
#include <utility>

namespace tq::io::detail {

TQ_API void ReadAhead::read(const ByteSource& source, std::uint64_t offset,
                            std::span<std::byte> out) {
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

TQ_API void ReadAhead::announce(const ByteSource& source, std::uint64_t end, bool follows) {
  if (!follows || announced_ < end) announced_ = end;
  if (!follows || announced_ - end >= stretch) return;
  source.will_read(announced_, stretch);
  announced_ += stretch;
}

}  // namespace tq::io::detail
