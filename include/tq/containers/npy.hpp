// SPDX-License-Identifier: MIT
#pragma once
// NumPy .npy files: read with any byte order and memory order, written little-endian in C order.

#include <tq/bodies.hpp>
#include <tq/containers/detail/npy_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/byte_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tq::io {

namespace detail {

// Visits the elements of a tensor in column-major order and knows the row-major place of each.
class FortranCursor {
 public:
  TQ_API explicit FortranCursor(std::span<const std::size_t> shape);
  [[nodiscard]] std::size_t place() const noexcept { return place_; }
  TQ_API void advance() noexcept;

 private:
  std::span<const std::size_t> shape_;
  std::vector<std::size_t> stride_;
  std::vector<std::size_t> index_;
  std::size_t place_ = 0;
};

// Reads the data that follow a header through next(span), as row-major little-endian bytes.
// Column-major data are scattered from a small buffer, so memory holds the tensor once.
// Precondition: `out` has header.data_bytes.
template <class Next>
void read_npy_data(Next&& next, const NpyHeader& header, std::span<std::byte> out) {
  if (out.empty()) return;
  const std::size_t item = bits(header.dtype) / 8;
  if (!header.fortran_order || header.shape.size() < 2) {
    next(out);
  } else {
    std::vector<std::byte> buffer(std::min(out.size(), std::size_t{4096} * item));
    FortranCursor cursor(header.shape);
    for (std::size_t done = 0; done < out.size();) {
      const std::span<std::byte> chunk(buffer.data(), std::min(buffer.size(), out.size() - done));
      next(chunk);
      for (std::size_t i = 0; i < chunk.size(); i += item, cursor.advance())
        std::memcpy(out.data() + cursor.place() * item, chunk.data() + i, item);
      done += chunk.size();
    }
  }
  const bool is_complex = header.dtype == DType::c64 || header.dtype == DType::c128;
  if (header.big_endian) reverse_units(out.data(), out.size(), is_complex ? item / 2 : item);
}
template <class Next>
[[nodiscard]] std::vector<std::byte> read_npy_data(Next&& next, const NpyHeader& header) {
  std::vector<std::byte> out(static_cast<std::size_t>(header.data_bytes));
  read_npy_data(next, header, out);
  return out;
}

}  // namespace detail

/// An open .npy file, versions 1.0 to 3.0. The header is checked on opening, the data are read on
/// demand.
///
/// Stricter than NumPy: duplicate keys, negative extents, structured and non-numeric types, strings
/// with escapes or prefixes, comments, extents not written as plain decimal integers, trailing text
/// after the dictionary and headers over `npy_max_header` bytes are refused. Bytes after the data
/// are ignored, as NumPy does. Objects (pickles) are never read.
class NpyReader {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed`; `errc::unsupported` for types tq cannot hold.
  [[nodiscard]] TQ_API static NpyReader open(const std::filesystem::path& path);
  /// Reads from any source; `name` becomes the name of the tensor. Throws: as `open`.
  TQ_API explicit NpyReader(ByteSource source, std::string name = "");

  [[nodiscard]] const NpyHeader& header() const noexcept { return header_; }
  [[nodiscard]] const TensorInfo& info() const noexcept { return info_; }

  /// The tensor, row-major and little-endian whatever the file has. Throws: `errc::io_failure`.
  [[nodiscard]] TQ_API Tensor read() const;
  /// The same bytes into memory of the caller. Throws: `errc::io_failure`.
  /// Precondition: `out` has info().size_bytes.
  TQ_API void read_into(std::span<std::byte> out) const;

  /// Whether the file has the bytes as `read` gives them, so that `read_range` can.
  [[nodiscard]] TQ_API bool is_plain() const noexcept;
  /// Bytes [offset, offset + out.size()) of the data. Throws: `errc::malformed` past the end of the
  /// file; `errc::io_failure`. Precondition: is_plain().
  TQ_API void read_range(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  ByteSource source_;
  NpyHeader header_;
  TensorInfo info_;
};

/// Reads a .npy file at once; the name of the tensor is the stem of the path. Throws: as
/// `NpyReader`.
[[nodiscard]] TQ_API Tensor read_npy(const std::filesystem::path& path);

/// Writes a .npy file, atomically. Throws: `errc::unsupported` for a type .npy cannot name;
/// `errc::shape_mismatch`; `errc::io_failure`.
TQ_API void write_npy(const std::filesystem::path& path, const Tensor& tensor,
                      Links links = Links::followed);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/npy.ipp>
#endif
