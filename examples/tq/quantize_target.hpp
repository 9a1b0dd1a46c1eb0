// SPDX-License-Identifier: MIT
#pragma once
// What OUT of tq quantize and dequantize means: one file, or a folder of shards with an index.

#include "quantize_plan.hpp"
#include "stored_model.hpp"

#include <filesystem>
#include <string>

namespace tool {

struct QuantizeTarget {
  std::filesystem::path folder;  // of the file, or of the shards and the index
  std::string file;              // the one file, or the index
  bool is_sharded = false;

  [[nodiscard]] std::filesystem::path path() const { return folder / file; }
};

// The name of the output, which is that of a .safetensors file, of an .index.json or of a folder:
// one that exists, or whose name ends in '/'. Where IN is a folder, a name that is free and has not
// the extension of a file is a folder as well, and gets the '/'. `others`: what else the command
// takes, for the message, such as ".npy, ". Throws: UsageError for another name.
[[nodiscard]] std::string target_name(const std::string& out, const std::string& in,
                                      const std::string& others = "");

// An .index.json is an index with a shard for each file of the model. A folder gets an index like
// that of the model, or, where it has none, a file of the same name.
[[nodiscard]] QuantizeTarget quantize_target(const std::string& out, const StoredModel& model);

// Throws: UsageError where what is written is what is read.
void require_other_files(const std::string& out, const QuantizeTarget& target,
                         const QuantizePlan& plan, const StoredModel& model);

}  // namespace tool
