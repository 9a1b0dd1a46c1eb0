// SPDX-License-Identifier: MIT
#pragma once
// ReadAhead: small reads that follow one another, of thousands of small tensors, made few large
// ones; before large ones the system is told what will be read, and reads it meanwhile.

#include <tq/bodies.hpp>
#include <tq/files/byte_source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::io::detail {

// Reads from one source as `ByteSource::read`. A small read near the last one takes what follows as
// well, which is kept for the next.
class ReadAhead {
 public:
  TQ_API void read(const ByteSource& source, std::uint64_t offset, std::span<std::byte> out);

 private:
  // At a read up to `end`: where reads follow one another, one to two stretches after it are
  // announced.
  TQ_API void announce(const ByteSource& source, std::uint64_t end, bool follows);

  static constexpr std::size_t short_length = 1024, window = std::size_t{1} << 16;
  static constexpr std::uint64_t stretch = std::uint64_t{1} << 22;
  std::uint64_t last_ = 0;       // the end of the last read
  std::uint64_t announced_ = 0;  // the end of what the system was told
  std::uint64_t begin_ = 0;      // of what is kept
  std::vector<std::byte> kept_;
};

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/files/read_ahead.ipp>
#endif
