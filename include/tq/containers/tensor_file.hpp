// SPDX-License-Identifier: MIT
#pragma once
// One way to open any tensor file: .npy, .npz, .safetensors, a sharded .index.json or .gguf, of
// which a split model is opened by its first part.

#include <tq/bodies.hpp>
#include <tq/containers/gguf_tensors.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/shard.hpp>
#include <tq/files/read_ahead.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tq::io {

/// An open tensor file of any kind. One reader serves one thread; `another` serves another.
class TensorFile {
 public:
  using Reader =
      std::variant<NpyReader, NpzReader, SafetensorsReader, SafetensorsIndexReader, GgufTensors>;

  TQ_API TensorFile(Reader reader, const std::filesystem::path& path);

  /// Another reader of the file, which shares the parsed contents.
  [[nodiscard]] TensorFile another() const { return TensorFile(contents_); }

  /// The tensors of the file, in file order; a .npy file holds one tensor, named after its stem.
  [[nodiscard]] TQ_API std::span<const TensorInfo> tensors() const noexcept;
  /// The other members of the file: text and folders of an archive, tensors of other types.
  [[nodiscard]] TQ_API std::span<const OtherMember> others() const noexcept;
  /// The text pairs of a safetensors file; empty for the other kinds.
  [[nodiscard]] TQ_API const Metadata& metadata() const noexcept;

  /// All files that are read: the one that was opened, and the shards of an index or of a split
  /// GGUF model.
  [[nodiscard]] TQ_API const std::vector<std::filesystem::path>& files() const noexcept;
  /// The files that tensors are in: the shards, or the one that was opened.
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return contents_->shards; }

  /// One tensor. Throws: `errc::unknown_name`; `errc::malformed`; `errc::io_failure`.
  [[nodiscard]] TQ_API Tensor read(const std::string& name);

  /// The entry of a tensor, or null if no tensor has that name.
  [[nodiscard]] TQ_API const TensorInfo* find(std::string_view name) const;

  /// The entry of a tensor in a GGUF file whose blocks are read as float32; else null.
  [[nodiscard]] TQ_API const GgufTensor* find_blocks(std::string_view name) const;

  /// The blocks that `find_blocks` finds, as they are stored. Throws: `errc::unknown_name` for
  /// another tensor; `errc::io_failure`.
  [[nodiscard]] TQ_API std::vector<std::uint8_t> read_blocks(const std::string& name) const;

  /// The entry of a tensor. Throws: `errc::unknown_name`.
  [[nodiscard]] TQ_API const TensorInfo& info(const std::string& name) const;

  /// Bytes [offset, offset + out.size()) of a tensor as `read` gives them. What cannot be read in
  /// parts (a member of an archive, and .npy data in another order) is read whole and kept until
  /// another tensor is asked for, in memory that is used again. Throws: as `read`;
  /// `errc::bad_argument` outside the tensor.
  TQ_API void read_range(const std::string& name, std::uint64_t offset, std::span<std::byte> out);
  /// The same of an entry of `tensors()`.
  TQ_API void read_range(const TensorInfo& info, std::uint64_t offset, std::span<std::byte> out);

  /// Bytes [offset, offset + out.size()) of one of `others()` that is a tensor of a type that is
  /// not read. Throws: `errc::bad_argument` for another, or outside of it; `errc::io_failure`.
  TQ_API void read_raw(const OtherMember& other, std::uint64_t offset,
                       std::span<std::byte> out) const;

 private:
  TQ_API static void require_name(const NpyReader& reader, const std::string& name);

  template <class Read>
  void copy_kept(const TensorInfo& info, std::uint64_t offset, std::span<std::byte> out,
                 Read&& read) {
    if (!kept_name_ || *kept_name_ != info.name) {
      kept_name_.reset();
      kept_.resize(static_cast<std::size_t>(info.size_bytes));
      read();
      kept_name_ = info.name;
    }
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }

  // The part that all readers of the file share.
  struct Contents {
    Reader reader;
    std::vector<std::filesystem::path> files;
    std::vector<Shard> shards;
  };
  explicit TensorFile(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
  SafetensorsIndexReader::OpenShard open_;
  detail::ReadAhead ahead_;
  std::string ahead_of_;  // the shard that it is for
  std::optional<std::string> kept_name_;
  std::vector<std::byte> kept_;  // of the tensor of that name
};

/// Opens a tensor file by its extension. Throws: `errc::unsupported` for another extension of a
/// file; `errc::io_failure`; `errc::malformed`.
[[nodiscard]] TQ_API TensorFile open_tensor_file(const std::filesystem::path& path);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/tensor_file.ipp>
#endif
