// SPDX-License-Identifier: MIT
#pragma once
// NumPy .npz archives: members listed on opening, each read on demand.

#include <tq/bodies.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/name_index.hpp>
#include <tq/files/zip.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// An open .npz archive. Opening checks the directory and the header of every array; members that
/// are none, or of a type that is not numeric, are `others`.
///
/// Stricter than NumPy: names of arrays are unique, members do not overlap, and archives that are
/// split or preceded by other data are refused; arrays obey `NpyReader`.
class NpzReader {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed`; `errc::unsupported`; each names the member.
  [[nodiscard]] TQ_API static NpzReader open(const std::filesystem::path& path);
  /// Reads from any source. Throws: as `open`.
  TQ_API explicit NpzReader(ByteSource source);

  /// All arrays in the order of the directory; `offset` is that of the stored member.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  /// The other members of the archive: files that are no arrays, and arrays of text, objects or
  /// records.
  [[nodiscard]] const std::vector<OtherMember>& others() const noexcept { return others_; }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// The directory entry of a member, or null if no member has that name.
  [[nodiscard]] TQ_API const TensorInfo* find(std::string_view name) const;

  /// A member, its CRC-32 checked. Throws: `errc::unknown_name`; `errc::unsupported` for members in
  /// `others`; `errc::malformed`; `errc::io_failure`.
  [[nodiscard]] TQ_API Tensor read(const std::string& name) const;

  /// The same bytes into memory of the caller. Throws: as `read`. Precondition: `out` has
  /// info(name).size_bytes.
  TQ_API void read_into(const std::string& name, std::span<std::byte> out) const;

  /// The directory entry of a member. Throws: `errc::unknown_name`; `errc::unsupported` for members
  /// in `others`.
  [[nodiscard]] TQ_API const TensorInfo& info(std::string_view name) const;

 private:
  TQ_API void add(detail::ZipEntry&& entry);

  ByteSource source_;
  std::vector<detail::ZipEntry> entries_;  // of `tensors_`
  std::vector<TensorInfo> tensors_;
  std::vector<OtherMember> others_;
  NameIndex index_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/npz.ipp>
#endif
