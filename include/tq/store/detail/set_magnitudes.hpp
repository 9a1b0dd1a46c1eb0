// SPDX-License-Identifier: MIT
#pragma once
// A pass over the layers of a model that finds the largest magnitude of each set with one scale.

#include <tq/json/json_text.hpp>
#include <tq/store/detail/bands.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/in_order.hpp>
#include <tq/store/detail/layer_writer.hpp>
#include <tq/store/detail/write_shards.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/team.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tq::store::detail {

// A reader of values, for one thread.
template <class Model>
struct ValueReader {
  explicit ValueReader(const Model& other) : model(other.another()) {}
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;

  Model model;
  FloatReader<Model> floats{model, false, Bands::most_held};
};

// The magnitudes of the layers of some tensors, as their bits: of every rank its share.
template <class Model>
std::vector<std::vector<std::uint32_t>> own_magnitudes(const Model& model,
                                                       const std::vector<QuantizeJob*>& jobs,
                                                       std::size_t threads, const Team& team) {
  std::vector<std::vector<std::uint32_t>> found(jobs.size());
  std::vector<std::size_t> mine;
  std::vector<std::uint64_t> costs;
  for (std::size_t i = team.rank(); i < jobs.size(); i += team.size()) {
    mine.push_back(i);
    costs.push_back(thread_bytes + jobs[i]->working_bytes());
  }
  run_in_order(threads, costs, budget_for(model.contents()), [&] {
    return [&, reader = std::make_unique<ValueReader<Model>>(model)](std::size_t i) {
      const QuantizeJob& job = *jobs[mine[i]];
      for (const float x : in_memory(*job.source, [&] {
             return magnitudes_of(reader->floats, *job.source, *job.layers);
           }))
        found[mine[i]].push_back(std::bit_cast<std::uint32_t>(x));
    };
  });
  return found;
}

// Gives every layer the largest magnitude of its set. Throws: errc::not_finite, the same on every
// rank.
template <class Model>
void set_magnitudes(const Model& model, CheckpointPlan& plan, std::size_t threads,
                    const Team& team) {
  std::vector<QuantizeJob*> jobs;
  for (OutputShard& shard : plan.tensors.shards)
    for (QuantizeJob& job : shard.jobs)
      if (job.layers) jobs.push_back(&job);
  const auto texts = on_all_ranks(
      team, [&] { return io::Json(own_magnitudes(model, jobs, threads, team)).dump(); });
  std::unordered_map<std::string, float> most;  // by set
  std::vector<io::Json> found;
  for (const std::string& text : texts) found.push_back(io::Json::parse(text));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto bits = found[i % team.size()].at(i).get<std::vector<std::uint32_t>>();
    for (std::size_t k = 0; k < bits.size(); ++k) {
      float& of_set = most[jobs[i]->layers->layers[k].scale_set];
      of_set = std::max(of_set, std::bit_cast<float>(bits[k]));
    }
  }
  for (QuantizeJob* job : jobs)
    for (WrittenLayer& layer : job->layers->layers)
      layer.weight.set_abs_max = most[layer.scale_set];
}

}  // namespace tq::store::detail
