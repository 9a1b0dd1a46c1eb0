// SPDX-License-Identifier: MIT
#pragma once
// GgufTensors: a GGUF file as tensors of plain numbers.

#include <tq/bodies.hpp>
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_parts.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/shard.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/name_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// A model in GGUF files whose blocks are read as float32, and whose other tensors as they are.
/// Tensors of blocks that are not understood are in `others`.
class GgufTensors {
 public:
  /// Throws: as `GgufParts::open`.
  [[nodiscard]] TQ_API static GgufTensors open(const std::filesystem::path& path);
  explicit GgufTensors(GgufReader reader) : GgufTensors(GgufParts(std::move(reader))) {}
  TQ_API explicit GgufTensors(GgufParts parts);

  /// The files as they are, with keys and types.
  [[nodiscard]] const GgufParts& parts() const noexcept { return parts_; }
  [[nodiscard]] TQ_API const std::vector<std::filesystem::path>& files() const noexcept;
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return shards_; }
  /// All tensors that can be read, in the order of their data; `size_bytes` is that in memory.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  /// Tensors of blocks that are not understood; reading one is an error.
  [[nodiscard]] const std::vector<OtherMember>& others() const noexcept { return others_; }

  /// The entry of a tensor, or null if no tensor has that name.
  [[nodiscard]] TQ_API const TensorInfo* find(std::string_view name) const;
  /// The entry of one of `tensors()` as it is stored, or null if no tensor has that name.
  [[nodiscard]] TQ_API const GgufTensor* find_stored(std::string_view name) const;
  /// The entry of a tensor. Throws: `errc::unknown_name`; `errc::unsupported` for one of `others`.
  [[nodiscard]] TQ_API const TensorInfo& info(std::string_view name) const;

  /// One tensor. Throws: as `info`; `errc::io_failure`.
  [[nodiscard]] TQ_API Tensor read(const std::string& name) const;

  /// One tensor into `out`, of its `size_bytes`. Throws: as `read`; `errc::shape_mismatch` for
  /// another size.
  TQ_API void read_into(const std::string& name, std::span<std::byte> out) const;

  /// The bytes of one of `tensors()` as they are stored. Throws: as `read`.
  [[nodiscard]] TQ_API std::vector<std::uint8_t> read_stored(const std::string& name) const;

 private:
  // Precondition: one of `tensors()`.
  [[nodiscard]] TQ_API const GgufReader& file_of(std::string_view name) const;
  [[nodiscard]] TQ_API const std::string& file_name() const noexcept;

  TQ_API void add(const GgufTensor& t);

  // Blocks are read and decoded a few at a time.
  TQ_API static void decode(const GgufReader& file, const GgufTensor& stored,
                            std::span<std::byte> out);

  GgufParts parts_;
  std::vector<Shard> shards_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::size_t> part_of_;  // the number of the file of each tensor
  std::vector<OtherMember> others_;
  NameIndex index_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/gguf_tensors.ipp>
#endif
