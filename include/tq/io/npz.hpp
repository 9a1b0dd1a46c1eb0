// SPDX-License-Identifier: MIT
#pragma once
// NumPy .npz archives: members listed on opening, each read on demand.

#include <tq/io/byte_source.hpp>
#include <tq/io/failure.hpp>
#include <tq/io/name_index.hpp>
#include <tq/io/npy.hpp>
#include <tq/io/zip.hpp>
#include <tq/io/zip_member.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// An open .npz archive. Opening checks the directory and the header of every member.
///
/// Stricter than NumPy: every member is `<name>.npy`, names are unique, members do not overlap, and
/// archives that are encrypted, split or preceded by other data are refused; members obey
/// `NpyReader`.
class NpzReader {
 public:
  /// Throws: `errc::io_failure`; `errc::malformed`; `errc::unsupported`; each names the member.
  [[nodiscard]] static NpzReader open(const std::filesystem::path& path) {
    return NpzReader(ByteSource::open(path));
  }
  /// Reads from any source. Throws: as `open`.
  explicit NpzReader(ByteSource source)
      : source_(std::move(source)),
        entries_(detail::read_zip_directory(source_)),
        index_(entries_.size()) {
    constexpr std::string_view suffix = ".npy";
    for (const detail::ZipEntry& e : entries_) {
      if (!e.name.ends_with(suffix))
        detail::zip_fail(source_, detail::shown(e.name), "a member named <name>.npy", "another",
                         e.header_offset, errc::unsupported);
      std::string name = e.name.substr(0, e.name.size() - suffix.size());
      if (find(name) != nullptr)
        detail::zip_fail(source_, detail::shown(name), "every name once", "it twice",
                         e.header_offset);
      detail::ZipMemberStream stream(source_, e);
      NpyHeader header =
          detail::read_npy_header(stream, e.size, source_.name(), detail::shown(name));
      tensors_.push_back({std::move(name), header.dtype, std::move(header.shape), e.data_offset,
                          header.data_bytes});
      (void)index_.add_next(tensors_);
    }
  }

  /// All members in the order of the directory; `offset` is that of the stored member.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// What the directory says of a member, or null where there is none of that name.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const {
    const std::optional<std::size_t> place = index_.find(tensors_, name);
    return place ? &tensors_[*place] : nullptr;
  }

  /// One member, its CRC-32 checked. Throws: `errc::unknown_name`; `errc::malformed`;
  /// `errc::io_failure`.
  [[nodiscard]] Tensor read(const std::string& name) const {
    const TensorInfo& entry = info(name);
    Tensor out{entry.name, entry.dtype, entry.shape,
               std::vector<std::byte>(static_cast<std::size_t>(entry.size_bytes))};
    read_into(name, out.bytes);
    return out;
  }

  /// The same bytes into memory of the caller. Throws: as `read`. Precondition: `out` has
  /// info(name).size_bytes.
  void read_into(const std::string& name, std::span<std::byte> out) const {
    const TensorInfo& known = info(name);
    const detail::ZipEntry& entry = entries_[static_cast<std::size_t>(&known - tensors_.data())];
    detail::ZipMemberStream stream(source_, entry);
    const NpyHeader header =
        detail::read_npy_header(stream, entry.size, source_.name(), detail::shown(name));
    if (header.dtype != known.dtype ||
        header.shape != known.shape)  // `out` is as large as that was
      detail::zip_fail(source_, detail::shown(name), "the tensor that was there when it was opened",
                       std::string(to_string(header.dtype)) + " " + shape_text(header.shape),
                       entry.data_offset);
    detail::read_npy_data(stream, header, out);
    stream.finish();
  }

  /// What the directory says of a member. Throws: `errc::unknown_name`.
  [[nodiscard]] const TensorInfo& info(std::string_view name) const {
    const TensorInfo* const found = find(name);
    if (found == nullptr)
      detail::fail(errc::unknown_name, "tq::io::NpzReader", source_.name(), detail::shown(name),
                   "expected a member of this name, got none");
    return *found;
  }

 private:
  ByteSource source_;
  std::vector<detail::ZipEntry> entries_;
  std::vector<TensorInfo> tensors_;
  NameIndex index_;
};

}  // namespace tq::io
