// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/zip_member.hpp.

#include <tq/files/zip_member.hpp>

#include <zlib.h>

namespace tq::io::detail {

TQ_API ZipMemberStream::ZipMemberStream(const ByteSource& source, const ZipEntry& entry)
    : source_(source), entry_(entry), at_(entry.data_offset), left_(entry.stored_size) {
  if (entry.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
    fail_here("memory for zlib", "none");
}

TQ_API ZipMemberStream::~ZipMemberStream() {
  if (entry_.deflated) inflateEnd(&stream_);
}

TQ_API void ZipMemberStream::finish() {
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

TQ_API void ZipMemberStream::fail_here(std::string_view expected, std::string_view got) const {
  zip_fail(source_, shown(entry_.name), expected, got, at_);
}

TQ_API void ZipMemberStream::step() {
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

TQ_API void ZipMemberStream::inflate_into(std::span<std::byte> out) {
  stream_.next_out = reinterpret_cast<Bytef*>(out.data());
  stream_.avail_out = static_cast<uInt>(out.size());
  step();
  if (stream_.avail_out != 0)
    fail_here(std::to_string(entry_.size) + " inflated bytes",
              std::to_string(given_ + out.size() - stream_.avail_out));
}

}  // namespace tq::io::detail
