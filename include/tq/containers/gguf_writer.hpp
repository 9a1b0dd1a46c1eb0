// SPDX-License-Identifier: MIT
#pragma once
// Writing GGUF files: keys and tensors are declared first, then bytes follow one by one.

#include <tq/bodies.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/write_gather.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tq::io {

/// A tensor promised to a writer; `shape` is row-major.
struct GgufTensorDecl {
  std::string name;
  layouts::gguf::Type type = layouts::gguf::Type::f32;
  std::vector<std::size_t> shape;
};

/// Writes a little-endian GGUF file of version 3 atomically, holding at most parts of tensors in
/// memory. Keys and tensors stay in the order in which they are declared; data are aligned as the
/// key `general.alignment` says.
///
///     GgufWriter writer(path, entries, declarations);
///     for (const GgufTensor& t : writer.order()) writer.append(t.name, bytes_of(t.name));
///     writer.finish();   // without it the target keeps its old content
class GgufWriter {
 public:
  /// Throws: `errc::bad_argument` for a key or name that is repeated, too long or not UTF-8, and
  /// for an alignment that is not a uint32 power of two; `errc::shape_mismatch` for more than 4
  /// extents and rows that are not whole blocks; `errc::io_failure`.
  TQ_API GgufWriter(const std::filesystem::path& path, std::span<const GgufEntry> entries,
                    std::span<const GgufTensorDecl> declarations, Links links = Links::followed);
  GgufWriter(const GgufWriter&) = delete;
  GgufWriter& operator=(const GgufWriter&) = delete;

  /// The declared tensors; `offset` is from the start of the file.
  [[nodiscard]] const std::vector<GgufTensor>& order() const noexcept { return order_; }

  /// Writes the next bytes of a tensor, little-endian; tensors, and their parts among one another,
  /// come in any order. Throws: `errc::unknown_name`; `errc::shape_mismatch` for more bytes than
  /// the tensor has; `errc::io_failure`.
  TQ_API void append(std::string_view name, std::span<const std::byte> bytes);

  /// Makes the file visible under its name. Tensors without elements need not be written. Throws:
  /// `errc::bad_argument` when data is missing; `errc::io_failure`.
  TQ_API void finish();

 private:
  [[noreturn]] TQ_API void refuse(errc code, std::string_view item, std::string_view expected,
                                  std::string_view got) const;

  TQ_API void write_zeros(std::uint64_t from, std::uint64_t to);

  // Checks everything, and gives offsets from the start of all data; sets `alignment_` and `end_`.
  [[nodiscard]] TQ_API std::vector<GgufTensor> plan(std::span<const GgufEntry> entries,
                                                    std::span<const GgufTensorDecl> declarations);

  TQ_API void check_value(const GgufEntry& e);

  std::string path_;
  std::uint32_t alignment_ = 32;
  std::uint64_t end_ = 0;  // of all data, with the last padding
  std::vector<GgufTensor> order_;
  std::unordered_map<std::string_view, std::size_t> index_;  // of names in `order_`
  std::vector<std::uint64_t> written_;                       // bytes of each
  AtomicFile file_;
  detail::WriteGather gather_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/gguf_writer.ipp>
#endif
