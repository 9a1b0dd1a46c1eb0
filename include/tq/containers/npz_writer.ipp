// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/npz_writer.hpp.

#include <tq/containers/detail/npy_header.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/utf8.hpp>

#include <zlib.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace tq::io {

TQ_API void NpzWriter::add(const Tensor& tensor) {
  const std::string file = file_.target().string();
  static_cast<void>(detail::checked_count("tq::io::NpzWriter", tensor));
  const std::string header = detail::npy_header_text(tensor.dtype, tensor.shape, file, tensor.name);
  Member m{tensor.name + ".npy", 0, header.size() + tensor.bytes.size(), file_.position()};
  if (tensor.name.empty() || m.name.size() > 65535 || !is_utf8(m.name) ||
      m.name.find('\0') != m.name.npos || !names_.insert(m.name).second)
    detail::fail(errc::bad_argument, "tq::io::NpzWriter", file, detail::shown(tensor.name),
                 "expected a name used once, in UTF-8, of 1 to 65531 bytes");
  m.crc = crc32_of(crc32_of(0, std::as_bytes(std::span<const char>(header))), tensor.bytes);

  const bool wide = m.size >= limit32;
  std::vector<std::byte> out;
  put(out, std::uint32_t{0x04034b50});
  put_common(out, m, wide ? 45 : 20);
  put_sizes(out, m, wide);
  put(out, static_cast<std::uint16_t>(m.name.size()));
  put(out, static_cast<std::uint16_t>(wide ? 20 : 0));
  put_text(out, m.name);
  if (wide) {
    put(out, std::uint16_t{1});
    put(out, std::uint16_t{16});
    put(out, m.size);
    put(out, m.size);
  }
  file_.write(out);
  file_.write(std::as_bytes(std::span<const char>(header)));
  file_.write(tensor.bytes);
  members_.push_back(std::move(m));
}

TQ_API void NpzWriter::finish() {
  const std::uint64_t begin = file_.position();
  for (const Member& m : members_) {
    std::vector<std::byte> extra;
    if (m.size >= limit32) {
      put(extra, m.size);
      put(extra, m.size);
    }
    if (m.offset >= limit32) put(extra, m.offset);
    std::vector<std::byte> out;
    const int version = extra.empty() ? 20 : 45;
    put(out, std::uint32_t{0x02014b50});
    put(out, static_cast<std::uint16_t>(version));
    put_common(out, m, version);
    put_sizes(out, m, m.size >= limit32);
    put(out, static_cast<std::uint16_t>(m.name.size()));
    put(out, static_cast<std::uint16_t>(extra.empty() ? 0 : extra.size() + 4));
    out.resize(out.size() + 10);  // no comment, disk 0, no attributes
    put(out, static_cast<std::uint32_t>(std::min(m.offset, limit32)));
    put_text(out, m.name);
    if (!extra.empty()) {
      put(out, std::uint16_t{1});
      put(out, static_cast<std::uint16_t>(extra.size()));
      out.insert(out.end(), extra.begin(), extra.end());
    }
    file_.write(out);
  }
  write_end(begin);
  file_.commit();
}

TQ_API void NpzWriter::put_text(std::vector<std::byte>& out, const std::string& text) {
  const auto bytes = std::as_bytes(std::span<const char>(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

TQ_API void NpzWriter::put_common(std::vector<std::byte>& out, const Member& m, int version) {
  put(out, static_cast<std::uint16_t>(version));
  put(out, std::uint16_t{0x0800});
  put(out, std::uint16_t{0});
  put(out, std::uint16_t{0});
  put(out, std::uint16_t{0x0021});
  put(out, m.crc);
}

TQ_API void NpzWriter::put_sizes(std::vector<std::byte>& out, const Member& m, bool wide) {
  const auto size = static_cast<std::uint32_t>(wide ? limit32 : m.size);
  put(out, size);
  put(out, size);
}

TQ_API void NpzWriter::write_end(std::uint64_t begin) {
  const std::uint64_t end = file_.position();
  const std::uint64_t count = members_.size();
  const std::uint64_t size = end - begin;
  std::vector<std::byte> out;
  if (count >= 0xffffu || size >= limit32 || begin >= limit32) {
    put(out, std::uint32_t{0x06064b50});
    put(out, std::uint64_t{44});
    put(out, std::uint16_t{45});
    put(out, std::uint16_t{45});
    put(out, std::uint64_t{0});  // this disk, and the disk of the directory
    put(out, count);
    put(out, count);
    put(out, size);
    put(out, begin);
    put(out, std::uint32_t{0x07064b50});
    put(out, std::uint32_t{0});
    put(out, end);
    put(out, std::uint32_t{1});
  }
  put(out, std::uint32_t{0x06054b50});
  put(out, std::uint32_t{0});  // this disk, and the disk of the directory
  put(out, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffffu)));
  put(out, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffffu)));
  put(out, static_cast<std::uint32_t>(std::min(size, limit32)));
  put(out, static_cast<std::uint32_t>(std::min(begin, limit32)));
  put(out, std::uint16_t{0});
  file_.write(out);
}

TQ_API std::uint32_t NpzWriter::crc32_of(std::uint32_t crc, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), std::size_t{1} << 30);
    crc = static_cast<std::uint32_t>(
        ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(count)));
    bytes = bytes.subspan(count);
  }
  return crc;
}

TQ_API void write_npz(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  NpzWriter writer(path);
  for (const Tensor& t : tensors) writer.add(t);
  writer.finish();
}

}  // namespace tq::io
