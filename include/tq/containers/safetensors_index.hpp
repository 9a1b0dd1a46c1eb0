// SPDX-License-Identifier: MIT
#pragma once
// Sharded safetensors models: model.safetensors.index.json and the files it names.

#include <tq/bodies.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/shard.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/name_index.hpp>

#include <system_error>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

namespace detail {

// A relative path that stays in its folder, in the spelling of any operating system.
[[nodiscard]] TQ_API bool is_safe_shard_name(std::string_view name);

}  // namespace detail

/// A sharded model. Opening reads the header of every shard and checks that each tensor is in the
/// shard the index names; tensors that it does not name are `others`, as are those of types that
/// are not read. Data are read on demand, one shard open at a time. `read` keeps that shard open
/// between calls, so one reader serves one thread; what takes an `OpenShard` serves as many as
/// there are of those.
class SafetensorsIndexReader {
 public:
  /// The shard that one thread reads from, kept open between calls.
  struct OpenShard {
    std::optional<SafetensorsReader> reader;
    std::string name;
  };

  /// Throws: `errc::io_failure`; `errc::malformed`, naming file and tensor.
  [[nodiscard]] TQ_API static SafetensorsIndexReader open(const std::filesystem::path& path);

  /// All tensors, shard by shard in the order of file names; `offset` is within the shard.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  /// The other members of the shards.
  [[nodiscard]] const std::vector<OtherMember>& others() const noexcept { return others_; }
  /// The merged metadata of the shards; a key in several shards has the first shard's value.
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
  /// `metadata.total_size` of the index as written; it is not checked.
  [[nodiscard]] std::optional<std::uint64_t> total_size() const noexcept { return total_size_; }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The entry of a tensor, or null if no tensor has that name.
  [[nodiscard]] TQ_API const TensorInfo* find(std::string_view name) const;
  /// The shards in the order of file names, which is that of their tensors.
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return shards_; }
  /// The index, then the shards in the order of file names.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept { return files_; }
  /// The file name a tensor is in, relative to the index. Throws: `errc::unknown_name`;
  /// `errc::unsupported` for one of `others`.
  [[nodiscard]] TQ_API const std::string& shard_of(const std::string& name) const;

  /// The entry of a tensor. Throws: `errc::unknown_name`.
  [[nodiscard]] TQ_API const TensorInfo& info(const std::string& name) const;
  /// One tensor. Throws: `errc::unknown_name`; `errc::malformed` when the shard changed since
  /// opening; `errc::io_failure`.
  [[nodiscard]] Tensor read(const std::string& name) { return open(name, open_).read(name); }

  /// Bytes [offset, offset + out.size()) of one tensor. Throws: as `read`; `errc::bad_argument`
  /// outside the tensor.
  TQ_API void read_range(const std::string& name, std::uint64_t offset, std::span<std::byte> out);

  /// The reader of the shard that a tensor is in, which replaces what `shard` has open. Throws: as
  /// `read`.
  [[nodiscard]] TQ_API const SafetensorsReader& open(const std::string& name,
                                                     OpenShard& shard) const;

 private:
  TQ_API explicit SafetensorsIndexReader(const std::filesystem::path& path);

  TQ_API void parse();

  // Takes what a shard holds, which the index says has these tensors.
  TQ_API void check_shard(const std::string& shard,
                          const std::vector<const std::string*>& expected);
  [[noreturn]] TQ_API void fail(errc code, std::string_view item, std::string_view text) const;

  std::filesystem::path path_;
  std::map<std::string, std::string> weight_map_;
  std::vector<TensorInfo> tensors_;
  NameIndex index_;
  std::vector<OtherMember> others_;
  NameIndex other_index_;
  Metadata metadata_;
  std::optional<std::uint64_t> total_size_;
  std::vector<Shard> shards_;
  std::vector<std::filesystem::path> files_;
  OpenShard open_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/safetensors_index.ipp>
#endif
