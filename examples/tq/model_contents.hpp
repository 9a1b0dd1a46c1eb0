// SPDX-License-Identifier: MIT
#pragma once
// What is in a model file, or in all shards of one, before its data are read.

#include "stored_tensor.hpp"

#include <tq/containers/tensor_file.hpp>
#include <tq/files/name_index.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tool {

// The file that a name means: of a folder the .index.json in it, or else its .safetensors file.
// Throws: errc::bad_argument for a folder that has none, or several.
[[nodiscard]] std::filesystem::path model_file(const std::filesystem::path& path);

class ModelContents {
 public:
  // Throws: tq::error, naming the file and the tensor.
  explicit ModelContents(const std::filesystem::path& path);

  // All kinds of tensors: those that tq quantized, then the others in the order of the file.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const StoredTensor* find(const std::string& name) const;
  [[nodiscard]] const tq::io::TensorFile& file() const noexcept { return file_; }
  // The tensors of the file that a tensor is stored in that tq did not quantize.
  [[nodiscard]] std::vector<const tq::io::TensorInfo*> parts(const StoredTensor& tensor) const;
  [[nodiscard]] bool is_quantized() const noexcept { return quantized_ != 0; }
  // Whether tq wrote it, even where nothing is quantized.
  [[nodiscard]] bool is_described() const noexcept { return described_; }
  [[nodiscard]] const std::string& unreadable() const noexcept { return unreadable_; }
  // Which of the shards a tensor of the file is in.
  [[nodiscard]] std::size_t shard_of(const tq::io::TensorInfo& info) const;

 private:
  // Where in the file a tensor of it is.
  [[nodiscard]] std::size_t place_of(const tq::io::TensorInfo& info) const {
    return static_cast<std::size_t>(&info - file_.tensors().data());
  }
  void find_foreign(const std::filesystem::path& path);
  void read_metadata(const tq::io::Shard& shard, const std::string& text);
  void read_pool(const tq::io::Json& pool, const tq::io::Shard& shard, int version);
  const tq::io::TensorInfo& take_part(const tq::io::Shard& shard, const std::string& name,
                                      tq::io::DType dtype, const std::vector<std::size_t>& shape);

  tq::io::TensorFile file_;
  std::vector<bool> taken_;  // of the tensors of the file: parts of those that tq quantized
  std::vector<StoredTensor> tensors_;
  tq::io::NameIndex index_;  // of tensors_
  std::size_t quantized_ = 0;
  bool described_ = false;
  std::string unreadable_;
};

}  // namespace tool
