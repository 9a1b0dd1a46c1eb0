// SPDX-License-Identifier: MIT
#pragma once
// A zip member read front to back: stored or inflated, its size and checksum verified at the end.

#include <tq/bodies.hpp>
#include <tq/files/zip.hpp>

#include <zlib.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tq::io::detail {

// next(span) over the bytes of a member. Never gives more than the size the directory declares.
class ZipMemberStream {
 public:
  TQ_API ZipMemberStream(const ByteSource& source, const ZipEntry& entry);
  ZipMemberStream(const ZipMemberStream&) = delete;
  ZipMemberStream& operator=(const ZipMemberStream&) = delete;
  TQ_API ~ZipMemberStream();

  // Fills `out`, or raises when the member ends before.
  void operator()(std::span<std::byte> out) {
    if (out.size() > entry_.size - given_)
      fail_here(std::to_string(out.size()) + " bytes more", std::to_string(entry_.size - given_));
    while (!out.empty()) {
      const std::span<std::byte> chunk = out.first(std::min(out.size(), std::size_t{1} << 20));
      if (entry_.deflated) {
        inflate_into(chunk);
      } else {
        source_.read(at_, chunk);
        at_ += chunk.size();
      }
      crc_ = static_cast<std::uint32_t>(::crc32(crc_, reinterpret_cast<const Bytef*>(chunk.data()),
                                                static_cast<uInt>(chunk.size())));
      given_ += chunk.size();
      out = out.subspan(chunk.size());
    }
  }

  // Reads what is left, then checks the end of the compressed data and the checksum.
  TQ_API void finish();

 private:
  [[noreturn]] TQ_API void fail_here(std::string_view expected, std::string_view got) const;

  // Runs inflate until the output is full, the stream ends or the input is used up.
  TQ_API void step();

  TQ_API void inflate_into(std::span<std::byte> out);

  const ByteSource& source_;
  const ZipEntry& entry_;
  std::uint64_t at_;    // next stored byte
  std::uint64_t left_;  // stored bytes not yet read
  std::uint64_t given_ = 0;
  std::uint32_t crc_ = 0;
  bool ended_ = false;
  z_stream stream_{};
  std::array<std::byte, 16384> input_;
};

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/files/zip_member.ipp>
#endif
