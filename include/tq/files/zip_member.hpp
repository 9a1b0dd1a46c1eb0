// SPDX-License-Identifier: MIT
#pragma once
// A zip member read front to back: stored or inflated, its size and checksum verified at the end.

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
  ZipMemberStream(const ByteSource& source, const ZipEntry& entry)
      : source_(source), entry_(entry), at_(entry.data_offset), left_(entry.stored_size) {
    if (entry.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
      fail_here("memory for zlib", "none");
  }
  ZipMemberStream(const ZipMemberStream&) = delete;
  ZipMemberStream& operator=(const ZipMemberStream&) = delete;
  ~ZipMemberStream() {
    if (entry_.deflated) inflateEnd(&stream_);
  }

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
  void finish() {
    std::array<std::byte, 4096> sink;
    while (given_ < entry_.size)
      (*this)(std::span<std::byte>(sink).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(sink.size(), entry_.size - given_))));
    if (entry_.deflated) {
      if (!ended_) {  // the end marker may follow the last byte
        stream_.next_out = reinterpret_cast<Bytef*>(sink.data());
        stream_.avail_out = 1;
        step();
      }
      if (!ended_ || stream_.avail_in != 0 || left_ != 0 || stream_.total_out != given_)
        fail_here("compressed data to end after " + std::to_string(entry_.size) + " bytes",
                  "other data");
    }
    if (crc_ != entry_.crc) fail_here("CRC-32 " + std::to_string(entry_.crc), std::to_string(crc_));
  }

 private:
  [[noreturn]] void fail_here(std::string_view expected, std::string_view got) const {
    zip_fail(source_, shown(entry_.name), expected, got, at_);
  }

  // Runs inflate until the output is full, the stream ends or the input is used up.
  void step() {
    while (stream_.avail_out != 0 && !ended_) {
      if (stream_.avail_in == 0) {
        if (left_ == 0) return;
        const std::size_t count =
            static_cast<std::size_t>(std::min<std::uint64_t>(input_.size(), left_));
        source_.read(at_, std::span<std::byte>(input_).first(count));
        at_ += count;
        left_ -= count;
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(count);
      }
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) ended_ = true;
      else if (result != Z_OK && result != Z_BUF_ERROR)
        fail_here("deflate data", stream_.msg != nullptr ? stream_.msg : "broken data");
    }
  }

  void inflate_into(std::span<std::byte> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    step();
    if (stream_.avail_out != 0)
      fail_here(std::to_string(entry_.size) + " inflated bytes",
                std::to_string(given_ + out.size() - stream_.avail_out));
  }

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
