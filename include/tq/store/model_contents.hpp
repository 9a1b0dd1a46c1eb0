// SPDX-License-Identifier: MIT
#pragma once
// ModelContents: the tensors of a model file, or of all shards of one, before their data are read.

#include <tq/bodies.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/containers/shard.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/files/name_index.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::store {

/// The file that a path means: of a folder the .index.json in it, or else its .safetensors file.
/// Throws: `errc::bad_argument` for a folder that has none, or several; `errc::io_failure`.
[[nodiscard]] TQ_API std::filesystem::path model_file(const std::filesystem::path& path);

/// The tensors of a model file, checked against its metadata.
class ModelContents {
 public:
  /// Throws: `error`, naming the file and the tensor.
  TQ_API explicit ModelContents(const std::filesystem::path& path);

  /// All kinds of tensors: those that tq quantized, then the others in the order of the file.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  /// The tensor of that name, or null.
  [[nodiscard]] TQ_API const StoredTensor* find(std::string_view name) const;
  [[nodiscard]] const io::TensorFile& file() const noexcept { return file_; }
  /// All files that are read.
  [[nodiscard]] TQ_API const std::vector<std::filesystem::path>& files() const noexcept;
  /// The members of the file that are no tensors that tq reads; those with a `raw` can be copied.
  [[nodiscard]] std::span<const io::OtherMember> others() const noexcept { return file_.others(); }
  /// The text pairs of the file, of all its shards, without the pair of tq.
  [[nodiscard]] TQ_API io::Metadata other_metadata() const;
  /// The tensors of the file that store a tensor that tq did not quantize.
  [[nodiscard]] TQ_API std::vector<const io::TensorInfo*> parts(const StoredTensor& tensor) const;
  /// The places of all parts of a tensor, whoever quantized it.
  [[nodiscard]] TQ_API std::vector<PartPlace> places(const StoredTensor& tensor) const;
  [[nodiscard]] bool is_quantized() const noexcept { return quantized_ != 0; }
  /// True for a file that tq wrote, even where nothing is quantized.
  [[nodiscard]] bool is_described() const noexcept { return described_; }
  /// The reason why weights of another program cannot be read, or empty.
  [[nodiscard]] const std::string& unreadable() const noexcept { return unreadable_; }
  /// The shard that has a tensor of the file.
  [[nodiscard]] TQ_API std::size_t shard_of(const io::TensorInfo& info) const;

 private:
  // The place of a tensor of the file in it.
  [[nodiscard]] TQ_API std::size_t place_of(const io::TensorInfo& info) const;
  TQ_API void find_foreign(const std::filesystem::path& path);
  TQ_API void add_foreign(const std::shared_ptr<const io::CheckpointWeight>& weight);
  TQ_API void guess_kinds(const std::filesystem::path& path);
  TQ_API void read_metadata(const io::Shard& shard, const std::string& text);
  TQ_API void read_pool(const io::Json& pool, const io::Shard& shard, int version);
  TQ_API const io::TensorInfo& take_part(const io::Shard& shard, const std::string& name,
                                         io::DType dtype, const std::vector<std::size_t>& shape);

  io::TensorFile file_;
  std::vector<bool> taken_;  // of the tensors of the file: parts of those that tq quantized
  std::vector<StoredTensor> tensors_;
  io::NameIndex index_;  // of tensors_
  std::size_t quantized_ = 0;
  bool described_ = false;
  std::string unreadable_;
};

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/model_contents.ipp>
#endif
