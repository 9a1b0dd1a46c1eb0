// SPDX-License-Identifier: MIT
#pragma once
// The directory of a zip archive, zip64 included, and the bytes of one member: what .npz needs of
// zip.

#include <tq/bodies.hpp>
#include <tq/files/byte_source.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

// A member as the central directory describes it; `data_offset` is where its stored bytes begin.
struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;
  std::string unreadable;  // why its bytes cannot be read, or empty
};

[[noreturn]] TQ_API void zip_fail(const ByteSource& source, std::string_view item,
                                  std::string_view expected, std::string_view got, std::uint64_t at,
                                  errc code = errc::malformed);

// Reads the directory and checks every local header against it; members may not share bytes.
[[nodiscard]] TQ_API std::vector<ZipEntry> read_zip_directory(const ByteSource& source);

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/files/zip.ipp>
#endif
