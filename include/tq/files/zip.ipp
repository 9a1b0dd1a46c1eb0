// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/zip.hpp.

#include <tq/files/failure.hpp>
#include <tq/files/file_content.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/files/zip.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace tq::io::detail {

TQ_API void zip_fail(const ByteSource& source, std::string_view item, std::string_view expected,
                     std::string_view got, std::uint64_t at, errc code) {
  fail(code, "tq::io::read_npz", source.name(), item,
       expected_got(expected, got) + ", at offset " + std::to_string(at));
}

TQ_API std::vector<std::byte> zip_bytes(const ByteSource& source, std::uint64_t offset,
                                        std::uint64_t count, std::string_view what) {
  if (!source.contains(offset, count))
    zip_fail(source, "", std::to_string(count) + " bytes of " + std::string(what),
             "a file of " + std::to_string(source.size()) + " bytes", offset);
  std::vector<std::byte> out(static_cast<std::size_t>(count));
  source.read(offset, out);
  return out;
}

struct ZipDirectory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

// Finds the end record (22 bytes and a comment that reaches the end of the file) and follows the
// zip64 locator in front of it when a field overflowed.
TQ_API ZipDirectory find_zip_directory(const ByteSource& source) {
  const std::uint64_t tail_size = std::min<std::uint64_t>(source.size(), 22 + 65535);
  const std::uint64_t tail_at = source.size() - tail_size;
  const std::vector<std::byte> tail = zip_bytes(source, tail_at, tail_size, "archive");
  std::size_t at = tail.size();
  for (std::size_t i = tail.size() >= 22 ? tail.size() - 21 : 0; i-- > 0;) {
    if (load_le<std::uint32_t>(&tail[i]) != 0x06054b50u) continue;
    if (load_le<std::uint16_t>(&tail[i + 20]) != tail.size() - i - 22) continue;
    at = i;
    break;
  }
  if (at == tail.size()) {
    const bool is_cut =
        tail_at + tail.size() >= 4 &&
        load_le<std::uint32_t>(zip_bytes(source, 0, 4, "archive").data()) == 0x04034b50u;
    if (!is_cut) refuse_foreign_content(source, "tq::io::read_npz", "a .npz archive");
    zip_fail(source, "", "the end record of a zip archive",
             is_cut ? "none (the file ends before: is it cut off?)" : "none", source.size());
  }
  const std::byte* end = &tail[at];
  ZipDirectory dir{load_le<std::uint16_t>(end + 10), load_le<std::uint32_t>(end + 12),
                   load_le<std::uint32_t>(end + 16)};
  std::uint64_t limit = tail_at + at;  // the directory lies in front of this
  const bool overflowed =
      dir.entries == 0xffffu || dir.size == 0xffffffffu || dir.offset == 0xffffffffu;
  const std::uint16_t disk = load_le<std::uint16_t>(end + 4);
  const bool has_locator = at >= 20 && load_le<std::uint32_t>(end - 20) == 0x07064b50u;
  if (!has_locator && (disk != 0 || load_le<std::uint16_t>(end + 6) != 0 ||
                       load_le<std::uint16_t>(end + 8) != dir.entries))
    zip_fail(source, "", "an archive in one file", "one in several parts", limit,
             errc::unsupported);
  if (overflowed && has_locator) {
    const std::uint64_t at64 = load_le<std::uint64_t>(end - 20 + 8);
    const std::vector<std::byte> record = zip_bytes(source, at64, 56, "zip64 end record");
    if (load_le<std::uint32_t>(record.data()) != 0x06064b50u || at64 > limit)
      zip_fail(source, "", "the zip64 end record", "other bytes", at64);
    if (load_le<std::uint32_t>(&record[16]) != 0 || load_le<std::uint32_t>(&record[20]) != 0 ||
        load_le<std::uint64_t>(&record[24]) != load_le<std::uint64_t>(&record[32]))
      zip_fail(source, "", "an archive in one file", "one in several parts", at64,
               errc::unsupported);
    dir = {load_le<std::uint64_t>(&record[32]), load_le<std::uint64_t>(&record[40]),
           load_le<std::uint64_t>(&record[48])};
    limit = at64;
  }
  if (dir.offset > limit || dir.size > limit - dir.offset)
    zip_fail(source, "", "the directory in front of its end record",
             std::to_string(dir.size) + " bytes", dir.offset);
  if (dir.entries > dir.size / 46)
    zip_fail(source, "", "46 bytes or more per entry",
             std::to_string(dir.entries) + " entries in " + std::to_string(dir.size) + " bytes",
             dir.offset);
  return dir;
}

// Replaces the fields that read 0xffffffff by those of the zip64 extra field, in its fixed order.
TQ_API bool apply_zip64(std::span<const std::byte> extra, std::array<std::uint64_t*, 3> fields) {
  bool wanted = false;
  for (const std::uint64_t* f : fields) wanted = wanted || *f == 0xffffffffu;
  while (wanted && extra.size() >= 4) {
    const std::size_t size = load_le<std::uint16_t>(&extra[2]);
    if (size > extra.size() - 4) return false;
    if (load_le<std::uint16_t>(extra.data()) == 1) {
      std::span<const std::byte> body = extra.subspan(4, size);
      for (std::uint64_t* f : fields) {
        if (*f != 0xffffffffu) continue;
        if (body.size() < 8) return false;
        *f = load_le<std::uint64_t>(body.data());
        body = body.subspan(8);
      }
      return true;
    }
    extra = extra.subspan(4 + size);
  }
  return true;  // 0xffffffff may be a true value
}

TQ_API std::vector<ZipEntry> read_zip_directory(const ByteSource& source) {
  const ZipDirectory dir = find_zip_directory(source);
  const std::vector<std::byte> raw = zip_bytes(source, dir.offset, dir.size, "directory");
  std::span<const std::byte> rest = raw;
  std::vector<ZipEntry> entries;
  for (std::uint64_t i = 0; i < dir.entries; ++i) {
    const std::uint64_t at = dir.offset + (raw.size() - rest.size());
    if (rest.size() < 46 || load_le<std::uint32_t>(rest.data()) != 0x02014b50u)
      zip_fail(source, "", "a directory entry", "other bytes", at);
    const std::size_t name_size = load_le<std::uint16_t>(&rest[28]);
    const std::size_t extra_size = load_le<std::uint16_t>(&rest[30]);
    const std::size_t total = 46 + name_size + extra_size + load_le<std::uint16_t>(&rest[32]);
    if (total > rest.size()) zip_fail(source, "", "a whole directory entry", "a cut one", at);
    ZipEntry e;
    e.name.assign(reinterpret_cast<const char*>(rest.data()) + 46, name_size);
    e.crc = load_le<std::uint32_t>(&rest[16]);
    e.stored_size = load_le<std::uint32_t>(&rest[20]);
    e.size = load_le<std::uint32_t>(&rest[24]);
    e.header_offset = load_le<std::uint32_t>(&rest[42]);
    const std::string item = shown(e.name);
    if (!apply_zip64(rest.subspan(46 + name_size, extra_size),
                     {&e.size, &e.stored_size, &e.header_offset}))
      zip_fail(source, item, "a zip64 field with the sizes", "a cut one", at);
    const unsigned method = load_le<std::uint16_t>(&rest[10]);
    if ((load_le<std::uint16_t>(&rest[8]) & 0x2041u) != 0 || (method != 0 && method != 8))
      e.unreadable = expected_got("a stored or deflated member, not encrypted",
                                  "method " + std::to_string(method));
    e.deflated = method == 8;

    if (e.header_offset >= dir.offset || dir.offset - e.header_offset < 30)
      zip_fail(source, item, "a local header before the directory", std::to_string(e.header_offset),
               at);
    std::array<std::byte, 30> local;
    source.read(e.header_offset, local);
    if (load_le<std::uint32_t>(local.data()) != 0x04034b50u)
      zip_fail(source, item, "a local header", "other bytes", e.header_offset);
    const std::size_t local_name = load_le<std::uint16_t>(&local[26]);
    e.data_offset = e.header_offset + 30 + local_name + load_le<std::uint16_t>(&local[28]);
    if (e.data_offset > dir.offset || e.stored_size > dir.offset - e.data_offset)
      zip_fail(source, item, "data before the directory", std::to_string(e.stored_size) + " bytes",
               e.data_offset);
    const std::vector<std::byte> name =
        zip_bytes(source, e.header_offset + 30, local_name, "member name");
    if (e.name != std::string_view(reinterpret_cast<const char*>(name.data()), name.size()) ||
        load_le<std::uint16_t>(&local[8]) != method)
      zip_fail(source, item, "the local header to repeat name and method", "others",
               e.header_offset);
    // Deflate gains at most a factor of 1032, so a larger size is a lie that need not be inflated.
    const bool possible = e.deflated ? e.size / 1032 <= e.stored_size : e.size == e.stored_size;
    if (!possible && e.unreadable.empty())
      zip_fail(source, item, "a size that the stored bytes can give",
               std::to_string(e.size) + " bytes from " + std::to_string(e.stored_size), at);
    entries.push_back(std::move(e));
    rest = rest.subspan(total);
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const ZipEntry& e : entries)
    ranges.emplace_back(e.header_offset, e.data_offset + e.stored_size);
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      zip_fail(source, "", "members that do not overlap", "two that do", ranges[i].first);
  return entries;
}

}  // namespace tq::io::detail
