// SPDX-License-Identifier: MIT
#pragma once
// Files of the output, written one after the other by several threads.

#include <tq/store/detail/in_order.hpp>
#include <tq/store/detail/open_shards.hpp>
#include <tq/store/detail/progress.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/shard_writer.hpp>
#include <tq/store/detail/tensor_quantizer.hpp>
#include <tq/store/model_contents.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tq::store::detail {

struct WriteOptions {
  std::size_t threads = 1;
  bool allow_nonfinite = false;
  const Hessians* hessians = nullptr;                            // as that of ConvertOptions
  std::function<void(std::uint64_t, std::uint64_t)> progress{};  // as that of ConvertOptions
};

// Quantizes, decodes or copies the tensors of the shards; the jobs then say what was lost. The
// bytes do not depend on the number of threads. While a shard is pushed to the disk, the next is
// worked on. Memory is that of pieces of tensors and of their parameters: of all threads together
// at most the size of the model's largest tensor and 64 MiB, and of each thread that of a weight
// with an algorithm. Throws: error of the first tensor that fails; shards that are not finished
// then leave nothing.
template <class Model>
void write_shards(const Model& model, std::span<OutputShard* const> shards,
                  const ShardPlaces<OutputShard>& places, const WriteOptions& options);

// A tensor, which of the shards it is in, and its working_bytes().
struct Piece {
  std::size_t shard;
  QuantizeJob* job;
  std::uint64_t bytes;
};

// Memory that a thread keeps from tensor to tensor: buffers for pieces, and parameters of small
// ones.
inline constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 20, thread_bytes = 4 * kept_bytes;

// Memory that all threads may have at once: the rest of 64 MiB is for the program and its tables.
inline std::uint64_t budget_for(const ModelContents& model) {
  std::uint64_t largest = 0;
  for (const StoredTensor& t : model.tensors()) largest = std::max(largest, t.bytes);
  return largest + (std::uint64_t{32} << 20);
}

template <class Model>
void write_shards(const Model& model, std::span<OutputShard* const> shards,
                  const ShardPlaces<OutputShard>& places, const WriteOptions& options) {
  std::vector<Piece> pieces;
  std::vector<std::uint64_t> costs;
  std::uint64_t work = 0, largest = 0;  // of weights with algorithms
  OpenShards<OutputShard, ShardWriter> open(
      shards, places, [&](const std::filesystem::path& path, const OutputShard& shard) {
        return std::make_unique<ShardWriter>(path, model.contents(), shard);
      });
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i]->jobs.empty()) open.write_empty(i);
    for (QuantizeJob& job : shards[i]->jobs) {
      pieces.push_back({i, &job, job.working_bytes()});
      costs.push_back(thread_bytes + pieces.back().bytes);
      work += job.source->bytes;
      if (job.has_algorithm()) largest = std::max(largest, costs.back());
    }
  }
  Progress progress(options.progress, work);
  run_in_order(
      options.threads, costs, budget_for(model.contents()) + options.threads * largest, [&] {
        return [&, quantizer = std::unique_ptr<TensorQuantizer<Model>>()](std::size_t i) mutable {
          const Piece& piece = pieces[i];
          if (!quantizer)
            quantizer = std::make_unique<TensorQuantizer<Model>>(model, options.allow_nonfinite,
                                                                 options.hessians);
          quantizer->run(*piece.job, open.open(piece.shard));
          if (piece.bytes > kept_bytes) quantizer.reset();
          open.leave(piece.shard);
          progress.add(piece.job->source->bytes);
        };
      });
  open.wait();
}

}  // namespace tq::store::detail
