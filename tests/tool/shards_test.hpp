// SPDX-License-Identifier: MIT
#pragma once
// Sharded models, and folders to compare.

#include "tool_test.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool_test {

inline std::string shard_name(std::size_t i, std::size_t n) {
  return "model-0000" + std::to_string(i + 1) + "-of-0000" + std::to_string(n) + ".safetensors";
}

inline void write_index(const std::string& path,
                        const std::vector<std::pair<std::string, std::string>>& tensors) {
  Json map = Json::object();
  for (const auto& [tensor, shard] : tensors) map[tensor] = shard;
  std::ofstream(path) << Json{{"metadata", {{"total_size", 0}}}, {"weight_map", map}}.dump();
}

// Writes shards and model.safetensors.index.json into a folder.
inline void write_shards(const std::string& folder,
                         const std::vector<std::vector<Tensor>>& shards) {
  fs::create_directories(folder);
  std::vector<std::pair<std::string, std::string>> places;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i, shards.size());
    tq::io::write_safetensors(fs::path(folder) / name, shards[i], {{"format", "pt"}, {"of", name}});
    for (const Tensor& t : shards[i]) places.emplace_back(t.name, name);
  }
  write_index(folder + "/model.safetensors.index.json", places);
}

// Weights of several sizes and types, in shards of several sizes.
inline std::vector<std::vector<Tensor>> some_shards(std::size_t n, std::size_t rows = 48) {
  std::vector<std::vector<Tensor>> shards(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string layer = "layer." + std::to_string(i);
    const auto seed = static_cast<unsigned>(10 * i);
    for (std::size_t k = 0; k <= i % 3; ++k)
      shards[i].push_back(tensor(layer + ".w" + std::to_string(k), {rows * (k + 1), 64},
                                 k == 1 ? DType::bf16 : DType::f32,
                                 seed + static_cast<unsigned>(k)));
    shards[i].push_back(tensor(layer + ".bias", {rows}, DType::f16, seed + 7));
    shards[i].push_back(
        tq::io::from_values<std::int64_t>(layer + ".steps", {1}, std::vector<std::int64_t>{3}));
  }
  return shards;
}

// All files below a folder, by their names in it.
inline std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder).string()] = content(entry.path());
  return files;
}

}  // namespace tool_test
