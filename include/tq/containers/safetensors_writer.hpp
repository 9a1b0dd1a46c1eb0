// SPDX-License-Identifier: MIT
#pragma once
// Writing safetensors files: tensors are declared first, then their bytes follow one by one.

#include <tq/bodies.hpp>
#include <tq/containers/raw_tensor.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/write_gather.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tq::io {

/// A tensor promised to a writer.
struct TensorDecl {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::optional<RawTensor> raw{};  ///< of another type, in place of `dtype` and `shape`

  /// Size of the data, or nothing for a shape that does not fill whole bytes below 2^64 bits.
  [[nodiscard]] TQ_API std::optional<std::uint64_t> bytes() const;
};

namespace detail {

// The names of types that have no `DType`, by the names of tensors.
using RawTypes = std::map<std::string, std::string, std::less<>>;

// The compact JSON of the reference writer, padded with spaces to a multiple of 8 bytes. The
// offsets of `tensors` are relative to the data.
[[nodiscard]] TQ_API std::string safetensors_header_text(std::span<const TensorInfo> tensors,
                                                         const Metadata& metadata,
                                                         const RawTypes& raw = {});

}  // namespace detail

/// Writes a safetensors file atomically, holding at most one tensor in memory, or parts of one. The
/// order of the data is that of the reference writer: widest dtype first, then by name; tensors of
/// types that have no `DType` come last, so that the others lie where their readers want them.
///
///     SafetensorsWriter writer(path, declarations, {{"format", "pt"}});
///     for (const TensorInfo& t : writer.order()) writer.write(t.name, bytes_of(t.name));
///     writer.finish();   // without it the target keeps its old content
class SafetensorsWriter {
 public:
  /// Throws: `errc::bad_argument` for a name that is repeated, "__metadata__" or not UTF-8, or a
  /// header over the limit; `errc::unsupported` for c128; `errc::shape_mismatch` for a shape that
  /// does not fill whole bytes; `errc::io_failure`.
  TQ_API SafetensorsWriter(const std::filesystem::path& path,
                           std::span<const TensorDecl> declarations, const Metadata& metadata = {},
                           Links links = Links::followed);
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// Bytes of the file that a writer makes of these declarations: header, its padding and data.
  /// Throws: as the constructor, but for `errc::io_failure`.
  [[nodiscard]] TQ_API static std::uint64_t file_bytes(std::span<const TensorDecl> declarations,
                                                       const Metadata& metadata = {});

  /// Bytes that a tensor adds to any file of several, at least: its data, and its entry in the
  /// header as that of a first tensor, whose offsets have the fewest digits. Throws: as
  /// `file_bytes`.
  [[nodiscard]] TQ_API static std::uint64_t least_bytes(const TensorDecl& declaration);

  /// The declared tensors in the order their data must come; `offset` is from the start of the
  /// file.
  [[nodiscard]] const std::vector<TensorInfo>& order() const noexcept { return order_; }

  /// Writes all bytes of the next tensor of `order()`, row-major, little-endian, sub-byte types
  /// packed. Throws: `errc::bad_argument` for another name; `errc::shape_mismatch`;
  /// `errc::io_failure`.
  TQ_API void write(std::string_view name, std::span<const std::byte> bytes);

  /// Writes the next bytes of a tensor; tensors, and their parts among one another, come in any
  /// order. Not to be mixed with `write`. Throws: `errc::unknown_name`; `errc::shape_mismatch` for
  /// more bytes than the tensor has; `errc::io_failure`.
  TQ_API void append(std::string_view name, std::span<const std::byte> bytes);

  /// Writes bytes of a tensor from its byte number `begin` on; every byte comes once, in any order.
  /// Not to be mixed with `append` for one tensor. Throws: as `append`.
  TQ_API void place(std::string_view name, std::uint64_t begin, std::span<const std::byte> bytes);

  /// Asks `produce` for each remaining tensor in order, writes it and lets it go, then finishes.
  /// Throws: as `write` and `finish`; `errc::shape_mismatch` when dtype or shape is not as
  /// declared.
  TQ_API void write_all(const std::function<Tensor(const TensorInfo&)>& produce);

  /// Pushes all data to the device, so that the rename is all that `finish` has left to do. Throws:
  /// as `finish`.
  TQ_API void flush();

  /// Makes the file visible under its name. Tensors without elements need not be written. Throws:
  /// `errc::bad_argument` when data is missing; `errc::io_failure`.
  TQ_API void finish();

 private:
  void append(std::size_t i, std::span<const std::byte> bytes) { put(i, written_[i], bytes); }
  TQ_API void put(std::size_t i, std::uint64_t begin, std::span<const std::byte> bytes);

  [[noreturn]] TQ_API void refuse(errc code, std::string_view name, std::string_view expected,
                                  std::string_view got) const;

  [[nodiscard]] TQ_API static detail::RawTypes raw_types(std::span<const TensorDecl> declarations);

  [[nodiscard]] TQ_API static std::vector<TensorInfo> plan(const std::string& file,
                                                           std::span<const TensorDecl> declarations,
                                                           const Metadata& metadata);

  std::vector<TensorInfo> order_;
  std::unordered_map<std::string_view, std::size_t> index_;  // of names in `order_`
  std::vector<std::uint64_t> written_;                       // bytes of each
  std::uint64_t missing_ = 0;                                // bytes of all that are not
  AtomicFile file_;
  detail::WriteGather gather_;
  std::size_t next_ = 0;
};

/// Writes tensors that are all in memory. Throws: as `SafetensorsWriter`.
TQ_API void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors,
                              const Metadata& metadata = {});

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/safetensors_writer.ipp>
#endif
