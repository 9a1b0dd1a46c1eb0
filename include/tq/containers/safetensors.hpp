// SPDX-License-Identifier: MIT
#pragma once
// Reading safetensors files one tensor at a time.

#include <tq/bodies.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/name_index.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// An open safetensors file. The whole header is checked on opening: after that no read can miss.
///
/// Stricter than the reference reader, as the text of the format asks: the header's first byte is
/// '{'; tensor names, metadata keys and fields are unique; a tensor is an object with exactly
/// dtype, shape and data_offsets, and dtype is a string.
class SafetensorsReader {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed`, naming the tensor.
  [[nodiscard]] TQ_API static SafetensorsReader open(const std::filesystem::path& path);
  /// Reads from any source. Throws: as `open`.
  TQ_API explicit SafetensorsReader(ByteSource source);

  /// All tensors in the order of their data.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  /// Tensors of types that this reader does not know; reading one is an error, its bytes are in
  /// `source` where its `raw` says.
  [[nodiscard]] const std::vector<OtherMember>& others() const noexcept { return others_; }
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
  [[nodiscard]] const std::string& file_name() const noexcept { return source_.name(); }
  /// The bytes of the file, with tensors at their `offset`.
  [[nodiscard]] const ByteSource& source() const noexcept { return source_; }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// The entry of a tensor, or null if no tensor has that name.
  [[nodiscard]] TQ_API const TensorInfo* find(std::string_view name) const;

  /// The member of `others` that has a name, or null if none has it.
  [[nodiscard]] TQ_API const OtherMember* find_other(std::string_view name) const;

  /// The entry of a tensor. Throws: `errc::unknown_name`; `errc::unsupported` for one of `others`.
  [[nodiscard]] TQ_API const TensorInfo& info(std::string_view name) const;

  /// One tensor. Throws: `errc::unknown_name`; `errc::io_failure`.
  [[nodiscard]] TQ_API Tensor read(const std::string& name) const;

  /// Bytes [offset, offset + out.size()) of one tensor.
  /// Throws: `errc::unknown_name`; `errc::bad_argument` outside the tensor; `errc::io_failure`.
  TQ_API void read_range(std::string_view name, std::uint64_t offset,
                         std::span<std::byte> out) const;

 private:
  TQ_API void leave_out(const std::map<std::string, std::string>& unknown);

  ByteSource source_;
  std::vector<TensorInfo> tensors_;
  std::vector<OtherMember> others_;
  Metadata metadata_;
  NameIndex index_, other_index_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/safetensors.ipp>
#endif
