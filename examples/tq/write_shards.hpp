// SPDX-License-Identifier: MIT
#pragma once
// Files of the output, written one after the other by several threads.

#include "quantize_plan.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace tool {

struct WriteOptions {
  std::size_t threads = 1;
  bool allow_nonfinite = false;
  std::string command = "quantize";  // that shows its progress
};

// Where a shard is written to; what is done when it is there; and, unless empty, what is done when
// it is on the disk, before it gets its name. The last two on any thread, one after the other.
struct ShardPlaces {
  std::function<std::filesystem::path(const OutputShard&)> path;
  std::function<void(const OutputShard&)> finished;
  std::function<void()> publishing{};
};

// Quantizes, decodes or copies the tensors of the shards; the jobs then say what was lost. The
// bytes do not depend on the number of threads. While a shard is pushed to the disk, the next is
// worked on. Memory is that of pieces of tensors and of their parameters: of all threads together
// at most the size of the model's largest tensor and 64 MiB. Throws: tq::error of the first tensor
// that fails; shards that are not finished then leave nothing.
void write_shards(const StoredModel& model, std::span<OutputShard* const> shards,
                  const ShardPlaces& places, const WriteOptions& options);

}  // namespace tool
