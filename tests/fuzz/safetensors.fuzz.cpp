// SPDX-License-Identifier: MIT
// Files in the format safetensors, with the quantized weights they may hold, and indexes of sharded
// ones: what begins with a brace is an index, too.
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/safetensors_writer.hpp>

#include "fuzz.hpp"
#include "scratch.hpp"

namespace {

using tq::io::SafetensorsReader, tq::io::Tensor, tq::io::TensorInfo;

void check_weights(const SafetensorsReader& reader) {
  const tq::io::ReadTensor read = [&](const std::string& name) { return reader.read(name); };
  tq::io::QuantizedCheckpoint found;
  if (!fuzz::accepts([&] { found = tq::io::find_quantized(reader.tensors(), read); })) return;
  for (const tq::io::CheckpointWeight& weight : found.weights)
    fuzz::accepts([&] {
      const std::vector<float> values = tq::io::decode_checkpoint(weight, read);
      fuzz::require(tq::io::element_count(weight.shape) == values.size(),
                    "as many values as the weight has");
    });
}

void check_file(fuzz::Bytes bytes) {
  fuzz::accepts([&] {
    const SafetensorsReader reader(
        tq::io::ByteSource::from_memory(std::as_bytes(bytes), "safetensors"));
    std::uint64_t data = 0;
    for (const TensorInfo& info : reader.tensors()) {
      fuzz::require(reader.find(info.name) == &info, "every name at its own place");
      const Tensor tensor = reader.read(info.name);
      fuzz::require(tq::io::storage_bytes(info.dtype, info.shape) == tensor.bytes.size(),
                    "bytes for every element");
      data += tensor.bytes.size();
    }
    fuzz::require(data <= bytes.size(), "data inside the file");
    check_weights(reader);
  });
}

// Two shards beside the index: a.safetensors with "a" and "b", b.safetensors with "c".
const std::filesystem::path& shards() {
  static const fuzz::Scratch folder;
  static const bool made = [] {
    const auto tensor = [](const char* name) {
      return Tensor{name, tq::io::DType::u8, {2}, std::vector<std::byte>(2)};
    };
    const std::vector<Tensor> first{tensor("a"), tensor("b")}, second{tensor("c")};
    tq::io::write_safetensors(folder.path() / "a.safetensors", first);
    tq::io::write_safetensors(folder.path() / "b.safetensors", second, {{"key", "value"}});
    return true;
  }();
  static_cast<void>(made);
  return folder.path();
}

void check_index(fuzz::Bytes bytes) {
  const std::filesystem::path path = shards() / "model.safetensors.index.json";
  fuzz::spill(path, bytes);
  fuzz::accepts([&] {
    auto reader = tq::io::SafetensorsIndexReader::open(path);
    for (const TensorInfo& info : reader.tensors()) {
      fuzz::require(reader.shard_of(info.name).find("..") == std::string::npos,
                    "shards inside the folder");
      fuzz::require(reader.read(info.name).bytes.size() == 2, "the tensor of its shard");
    }
  });
}

const fuzz::Target safetensors("safetensors", [](fuzz::Bytes bytes) {
  check_file(bytes);
  if (!bytes.empty() && bytes[0] == '{') check_index(bytes);
});

}  // namespace
