// SPDX-License-Identifier: MIT
#pragma once
// WriteGather: small writes to several places of a file, each in order, put together to few large
// ones.

#include <tq/bodies.hpp>
#include <tq/files/atomic_file.hpp>

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

  TQ_API void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  TQ_API void flush();

 private:
  struct Run {
    std::uint64_t offset = 0, used = 0;
    std::vector<std::byte> bytes;
  };
  static constexpr std::size_t places = 6, most = std::size_t{1} << 16;

  // The run that ends at `offset`, or an empty one.
  TQ_API Run& run_at(std::uint64_t offset);
  TQ_API void flush(Run& run);

  AtomicFile* file_;
  std::array<Run, places> runs_;
  std::uint64_t clock_ = 0;
};

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/files/write_gather.ipp>
#endif
