// SPDX-License-Identifier: MIT
#include "write_shards.hpp"

#include "in_order.hpp"
#include "progress.hpp"
#include "shard_writer.hpp"
#include "tensor_quantizer.hpp"

#include <algorithm>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tool {

namespace {

// The shards that are open: from the first of their tensors that begins to the last that ends.
class OpenShards {
 public:
  OpenShards(const StoredModel& model, std::span<OutputShard* const> shards,
             const ShardPlaces& places)
      : model_(model), places_(places), states_(shards.size()) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      states_[i].shard = shards[i];
      states_[i].left = shards[i]->jobs.size();
    }
  }

  [[nodiscard]] ShardWriter& open(std::size_t i) {
    State& state = states_[i];
    const std::lock_guard lock(state.mutex);
    if (!state.writer)
      state.writer =
          std::make_unique<ShardWriter>(places_.path(*state.shard), model_, *state.shard);
    return *state.writer;
  }
  // One more of the tensors of a shard is done.
  void leave(std::size_t i) {
    {
      const std::lock_guard lock(states_[i].mutex);
      if (--states_[i].left != 0) return;
    }
    const std::lock_guard lock(mutex_);
    wait();
    finishing_ = std::async(std::launch::async, [this, i] { finish(i); });
  }
  // A shard without tensors.
  void write_empty(std::size_t i) {
    static_cast<void>(open(i));
    finish(i);
  }
  // Throws: what went wrong at the end of the last shard.
  void wait() {
    if (finishing_.valid()) finishing_.get();
  }

 private:
  struct State {
    std::mutex mutex;
    OutputShard* shard = nullptr;
    std::unique_ptr<ShardWriter> writer;
    std::size_t left = 0;
  };

  void finish(std::size_t i) {
    State& state = states_[i];
    state.writer->finish();
    state.writer.reset();
    places_.finished(*state.shard);
  }

  const StoredModel& model_;
  const ShardPlaces& places_;
  std::vector<State> states_;
  std::mutex mutex_;
  std::future<void> finishing_;  // of one shard; the last member, as its end needs the others
};

// A tensor, which of the shards it is in, and its working_bytes().
struct Piece {
  std::size_t shard;
  QuantizeJob* job;
  std::uint64_t bytes;
};

// What a thread keeps from tensor to tensor: buffers for pieces, and parameters of small ones.
constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 20, thread_bytes = 4 * kept_bytes;

// What all threads may have at once: the rest of 64 MiB is for the program and its tables.
std::uint64_t budget_for(const StoredModel& model) {
  std::uint64_t largest = 0;
  for (const StoredTensor& t : model.tensors()) largest = std::max(largest, t.bytes);
  return largest + (std::uint64_t{32} << 20);
}

// The allocator keeps large blocks for the thread that frees them; many threads would keep many.
void return_large_blocks_to_the_system() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kept_bytes));
#endif
}

}  // namespace

void write_shards(const StoredModel& model, std::span<OutputShard* const> shards,
                  const ShardPlaces& places, const WriteOptions& options) {
  return_large_blocks_to_the_system();
  std::vector<Piece> pieces;
  std::vector<std::uint64_t> costs;
  std::uint64_t work = 0;
  OpenShards open(model, shards, places);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i]->jobs.empty()) open.write_empty(i);
    for (QuantizeJob& job : shards[i]->jobs) {
      pieces.push_back({i, &job, job.working_bytes()});
      costs.push_back(thread_bytes + pieces.back().bytes);
      work += job.source->bytes;
    }
  }
  Progress progress(options.command.c_str(), work);
  std::mutex drawing;
  run_in_order(options.threads, costs, budget_for(model), [&] {
    return [&, quantizer = std::unique_ptr<TensorQuantizer>()](std::size_t i) mutable {
      const Piece& piece = pieces[i];
      if (!quantizer) quantizer = std::make_unique<TensorQuantizer>(model, options.allow_nonfinite);
      quantizer->run(*piece.job, open.open(piece.shard));
      if (piece.bytes > kept_bytes) quantizer.reset();
      open.leave(piece.shard);
      const std::lock_guard lock(drawing);
      progress.advance(piece.job->source->bytes);
    };
  });
  open.wait();
}

}  // namespace tool
