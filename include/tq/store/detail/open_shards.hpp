// SPDX-License-Identifier: MIT
#pragma once
// The files of an output while several threads write them.

#include <tq/config.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Where a shard is written to; what is done when it is there; and, unless empty, what is done when
// it is on the disk, before it gets its name. The last two on any thread, one after the other.
template <class Shard>
struct ShardPlaces {
  std::function<std::filesystem::path(const Shard&)> path;
  std::function<void(const Shard&)> finished;
  std::function<void()> publishing{};
};

// The shards that are open: from the first of their jobs that begins to the last that ends. While a
// shard is pushed to the disk, the next is worked on. A Shard has `jobs`; a Writer has
// `finish(publishing)`.
template <class Shard, class Writer>
class OpenShards {
 public:
  // Makes the writer of a shard.
  using Open = std::function<std::unique_ptr<Writer>(const std::filesystem::path&, const Shard&)>;

  OpenShards(std::span<Shard* const> shards, const ShardPlaces<Shard>& places, Open open)
      : places_(places), open_(std::move(open)), states_(shards.size()) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      states_[i].shard = shards[i];
      states_[i].left = shards[i]->jobs.size();
    }
  }

  [[nodiscard]] Writer& open(std::size_t i) {
    State& state = states_[i];
    const std::lock_guard lock(state.mutex);
    if (!state.writer) state.writer = open_(places_.path(*state.shard), *state.shard);
    return *state.writer;
  }
  // One more of the jobs of a shard is done.
  void leave(std::size_t i) {
    {
      const std::lock_guard lock(states_[i].mutex);
      if (--states_[i].left != 0) return;
    }
    const std::lock_guard lock(mutex_);
    wait();
    finishing_ = std::async(std::launch::async, [this, i] { finish(i); });
  }
  // A shard without jobs.
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
    Shard* shard = nullptr;
    std::unique_ptr<Writer> writer;
    std::size_t left = 0;
  };

  void finish(std::size_t i) {
    State& state = states_[i];
    state.writer->finish(places_.publishing);
    state.writer.reset();
    places_.finished(*state.shard);
  }

  const ShardPlaces<Shard>& places_;
  Open open_;
  std::vector<State> states_;
  std::mutex mutex_;
  std::future<void> finishing_;  // of one shard; the last member, as its end needs the others
};

}  // namespace tq::store::detail
