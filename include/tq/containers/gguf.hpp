// SPDX-License-Identifier: MIT
#pragma once
// Reading GGUF files one tensor at a time.

#include <tq/bodies.hpp>
#include <tq/containers/detail/gguf_cursor.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/name_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// The files that a reader takes: little-endian ones, or also the rare big-endian ones, whose
/// numbers it swaps.
enum class GgufByteOrder : std::uint8_t { little, any };

/// An open GGUF file of version 2 or 3. The whole header is checked on opening: after that no read
/// can miss.
///
/// Stricter than ggml, as the text of the format asks: keys, strings and tensor names are UTF-8;
/// bools are 0 or 1; the number of elements is below 2^63. As in ggml arrays of arrays are refused,
/// tensors lie in the order of their entries without holes, and the last one is padded too.
class GgufReader {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed`, naming the key or tensor.
  [[nodiscard]] TQ_API static GgufReader open(const std::filesystem::path& path,
                                              GgufByteOrder order = GgufByteOrder::little);
  /// Reads from any source. Throws: as `open`.
  TQ_API explicit GgufReader(ByteSource source, GgufByteOrder order = GgufByteOrder::little);

  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  [[nodiscard]] bool is_big_endian() const noexcept { return is_big_endian_; }
  [[nodiscard]] std::uint32_t alignment() const noexcept { return alignment_; }
  /// Where the data of tensors begin, in bytes from the start of the file.
  [[nodiscard]] std::uint64_t data_offset() const noexcept { return data_offset_; }
  [[nodiscard]] const std::string& file_name() const noexcept { return source_.name(); }
  /// The bytes of the file, with tensors at their `offset`.
  [[nodiscard]] const ByteSource& source() const noexcept { return source_; }

  /// All keys and values in the order of the file.
  [[nodiscard]] const std::vector<GgufEntry>& entries() const noexcept { return entries_; }
  /// The value of a key, or null if the file has no such key.
  [[nodiscard]] TQ_API const GgufValue* find_value(std::string_view key) const noexcept;

  /// All tensors in the order of their data.
  [[nodiscard]] const std::vector<GgufTensor>& tensors() const noexcept { return tensors_; }
  /// The entry of a tensor, or null if no tensor has that name.
  [[nodiscard]] TQ_API const GgufTensor* find(std::string_view name) const;
  /// The entry of a tensor. Throws: `errc::unknown_name`.
  [[nodiscard]] TQ_API const GgufTensor& info(std::string_view name) const;

  /// The stored bytes of a tensor, little-endian. Throws: `errc::unknown_name`; `errc::io_failure`;
  /// `errc::unsupported` for types of a big-endian file whose blocks are not understood.
  [[nodiscard]] TQ_API std::vector<std::byte> read_bytes(std::string_view name) const;

  /// Bytes [offset, offset + out.size()) of one tensor, little-endian.
  /// Throws: as `read_bytes`; `errc::bad_argument` outside the tensor, or for a part of a block in
  /// a big-endian file.
  TQ_API void read_range(const GgufTensor& tensor, std::uint64_t offset,
                         std::span<std::byte> out) const;

  /// One tensor of numbers. Throws: as `read_bytes`; `errc::unsupported` for types of blocks, whose
  /// bytes `read_bytes` gives.
  [[nodiscard]] TQ_API Tensor read(std::string_view name) const;

 private:
  TQ_API void read_version(detail::GgufCursor& cursor, GgufByteOrder order);

  TQ_API void read_entry(detail::GgufCursor& cursor, std::uint64_t i);

  TQ_API void read_alignment(detail::GgufCursor& cursor);

  // Reads an entry whose data should begin at `end`, from the start of all data, and moves `end`.
  TQ_API void read_tensor(detail::GgufCursor& cursor, std::uint64_t i, std::uint64_t& end);

  template <class List>
  NameIndex require_names(const List& list, std::string_view expected) const {
    NameIndex index(list.size());
    for (const auto& named : list)
      if (!index.add_next(list))
        detail::fail(errc::malformed, "tq::io::GgufReader", source_.name(),
                     detail::shown(named.name), detail::expected_got(expected, "it twice"));
    return index;
  }

  ByteSource source_;
  std::uint32_t version_ = 0, alignment_ = 32;
  bool is_big_endian_ = false;
  std::uint64_t data_offset_ = 0;
  std::vector<GgufEntry> entries_;
  std::vector<GgufTensor> tensors_;
  NameIndex index_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/gguf.ipp>
#endif
