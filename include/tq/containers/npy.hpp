// SPDX-License-Identifier: MIT
#pragma once
// NumPy .npy files: read with any byte order and memory order, written little-endian in C order.

#include <tq/containers/detail/npy_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/file_content.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

namespace detail {

// Visits the elements of a tensor in column-major order and knows the row-major place of each.
class FortranCursor {
 public:
  explicit FortranCursor(std::span<const std::size_t> shape)
      : shape_(shape), stride_(shape.size(), 1), index_(shape.size(), 0) {
    for (std::size_t axis = shape.size(); axis-- > 1;)
      stride_[axis - 1] = stride_[axis] * shape[axis];
  }
  [[nodiscard]] std::size_t place() const noexcept { return place_; }
  void advance() noexcept {
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      place_ += stride_[axis];
      if (++index_[axis] < shape_[axis]) return;
      place_ -= stride_[axis] * shape_[axis];
      index_[axis] = 0;
    }
  }

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

// Raises where the first bytes show that the file is no array but something known.
inline void refuse_other_than_npy(const ByteSource& source) {
  constexpr std::string_view magic = "\x93NUMPY";
  std::array<char, magic.size()> begin{};
  const bool is_npy = source.size() >= begin.size() && [&] {
    source.read(0, std::as_writable_bytes(std::span<char>(begin)));
    return std::string_view(begin.data(), begin.size()) == magic;
  }();
  if (!is_npy) refuse_foreign_content(source, "tq::io::read_npy", "a .npy file");
}

// A next(span) that walks through a source from `offset`, which it moves.
[[nodiscard]] inline auto sequential(const ByteSource& source, std::uint64_t& offset) {
  return [&source, &offset](std::span<std::byte> out) {
    source.read(offset, out);
    offset += out.size();
  };
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
  [[nodiscard]] static NpyReader open(const std::filesystem::path& path) {
    return NpyReader(ByteSource::open(path), path.stem().string());
  }
  /// Reads from any source; `name` becomes the name of the tensor. Throws: as `open`.
  explicit NpyReader(ByteSource source, std::string name = "") : source_(std::move(source)) {
    detail::refuse_other_than_npy(source_);
    std::uint64_t at = 0;
    header_ = detail::read_npy_header(detail::sequential(source_, at), source_.size(),
                                      source_.name(), "");
    info_ = {std::move(name), header_.dtype, header_.shape, header_.data_offset,
             header_.data_bytes};
  }

  [[nodiscard]] const NpyHeader& header() const noexcept { return header_; }
  [[nodiscard]] const TensorInfo& info() const noexcept { return info_; }

  /// The tensor, row-major and little-endian whatever the file has. Throws: `errc::io_failure`.
  [[nodiscard]] Tensor read() const {
    std::uint64_t at = header_.data_offset;
    return {info_.name, info_.dtype, info_.shape,
            detail::read_npy_data(detail::sequential(source_, at), header_)};
  }
  /// The same bytes into memory of the caller. Throws: `errc::io_failure`.
  /// Precondition: `out` has info().size_bytes.
  void read_into(std::span<std::byte> out) const {
    std::uint64_t at = header_.data_offset;
    detail::read_npy_data(detail::sequential(source_, at), header_, out);
  }

  /// Whether the file has the bytes as `read` gives them, so that `read_range` can.
  [[nodiscard]] bool is_plain() const noexcept {
    const bool row_major = !header_.fortran_order || header_.shape.size() < 2;
    return row_major && (!header_.big_endian || bits(header_.dtype) == 8);
  }
  /// Bytes [offset, offset + out.size()) of the data. Throws: `errc::malformed` past the end of the
  /// file; `errc::io_failure`. Precondition: is_plain().
  void read_range(std::uint64_t offset, std::span<std::byte> out) const {
    source_.read(tq::detail::sum_or_most(header_.data_offset, offset), out);
  }

 private:
  ByteSource source_;
  NpyHeader header_;
  TensorInfo info_;
};

/// Reads a .npy file at once; the name of the tensor is the stem of the path. Throws: as
/// `NpyReader`.
[[nodiscard]] inline Tensor read_npy(const std::filesystem::path& path) {
  return NpyReader::open(path).read();
}

/// Writes a .npy file, atomically. Throws: `errc::unsupported` for a type .npy cannot name;
/// `errc::shape_mismatch`; `errc::io_failure`.
inline void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  static_cast<void>(detail::checked_count("tq::io::write_npy", tensor));
  const std::string header =
      detail::npy_header_text(tensor.dtype, tensor.shape, path.string(), tensor.name);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span<const char>(header)));
  file.write(tensor.bytes);
  file.commit();
}

}  // namespace tq::io
