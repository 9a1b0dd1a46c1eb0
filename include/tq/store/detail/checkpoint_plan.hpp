// SPDX-License-Identifier: MIT
#pragma once
// CheckpointPlan: the future of every tensor of a model in a format of other programs.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/served_config.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/containers/detail/counted_name.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/error.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/found_layers.hpp>
#include <tq/store/detail/layer_decisions.hpp>
#include <tq/store/detail/layer_jobs.hpp>
#include <tq/store/detail/layers_job.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/set_inputs.hpp>
#include <tq/store/model_contents.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

struct CheckpointPlan {
  QuantizePlan tensors;
  io::WrittenModel model;            // for the configuration
  std::vector<io::LeftModule> left;  // as those of CheckpointReport
  std::vector<std::string> dropped;
};

// Engines look for files whose names begin with "model".
inline void name_shards(std::vector<OutputShard>& shards) {
  const auto is_usual = [](const OutputShard& s) {
    return s.name.starts_with("model") && s.name.find('/') == s.name.npos &&
           s.name.ends_with(".safetensors");
  };
  if (std::ranges::all_of(shards, is_usual)) return;
  const io::detail::CountedName name{"model", ".safetensors"};
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i].name = name.name(i, shards.size());
}

// Job of a tensor: layers, its values where it is quantized now, or itself. Nothing where
// the output has it not.
[[nodiscard]] inline std::optional<QuantizeJob> checkpoint_job(const StoredTensor& tensor,
                                                               std::shared_ptr<LayersJob> layers,
                                                               CheckpointPlan& plan) {
  if (!tensor.left_alone.empty()) {  // a scale of activations of the old scheme
    plan.dropped.push_back(tensor.name);
    return std::nullopt;
  }
  QuantizeJob job;
  job.source = &tensor;
  job.layers = std::move(layers);
  job.is_decoded = !job.layers && tensor.plain == nullptr;
  if (job.is_decoded && tensor.dtype != plan.model.dtype) job.decoded_as = plan.model.dtype;
  if (!job.layers && !job.is_decoded) job.copied = "float";
  return job;
}

// Takes the names of the layers, of modules that stay in float, and of tensors that are left out.
inline void take_names(CheckpointPlan& plan, io::ModelLayers& layers, const ModelContents& model) {
  for (const io::ModelLayer& layer : layers.layers) plan.model.quantized.push_back(layer.module);
  plan.left = std::move(layers.left);
  plan.dropped = std::move(layers.dropped);
  for (const io::LeftModule& m : plan.left) {
    plan.model.left.push_back(m.module);
    plan.model.has_float_experts |= !io::detail::before_experts(m.module).empty() &&
                                    model.find(m.module + ".weight") != nullptr;
  }
}

// Gives every tensor its shard of the output.
inline void place_tensors(CheckpointPlan& plan, LayerJobs& jobs, const AnyFormat& format,
                          const ModelContents& model, bool sharded) {
  plan.tensors.shards = empty_shards(model, sharded);
  if (sharded) name_shards(plan.tensors.shards);
  for (OutputShard& shard : plan.tensors.shards) {
    shard.is_described = false;
    shard.other_metadata = {{"format", std::string(format.metadata())}};
  }
  const std::set<std::string> dropped(plan.dropped.begin(), plan.dropped.end());
  for (const StoredTensor& t : model.tensors()) {
    if (dropped.contains(t.name)) continue;
    std::optional<QuantizeJob> job = checkpoint_job(t, jobs.find(t.name), plan);
    if (!job) continue;
    std::size_t shard = sharded ? first_shard(model, t) : 0;
    if (job->layers) shard = jobs.shard_of(*job->layers, shard);
    plan.tensors.shards[shard].jobs.push_back(*std::move(job));
  }
}

// Throws: errc::unsupported where no layer of the model fits, and for an algorithm that the format
// does not take; errc::bad_argument for patterns and Hessians that match nothing; errc::no_data for
// a layer without a Hessian; as set_inputs and the format.
[[nodiscard]] inline CheckpointPlan plan_checkpoint(const ModelContents& model,
                                                    const io::Json& config,
                                                    const std::shared_ptr<const AnyFormat>& format,
                                                    const CheckpointOptions& options, bool sharded,
                                                    FoundLayers& found) {
  validate(options.algorithm);
  if (options.algorithm.name != "rtn" && !format->takes_algorithms())
    tq::detail::raise_expected(errc::unsupported, format->name(), {"no algorithm"},
                               {options.algorithm.name});
  LayerDecisions decisions(model, config, *format, options, found);
  CheckpointPlan plan;
  plan.model.model_type = io::served_config(config).model_type;
  plan.model.dtype = decisions.dtype();
  LayerJobs jobs(decisions, format, options, plan.model.model_type);
  const std::string inputs = set_inputs(*format, jobs.in_order(), options.inputs);
  take_names(plan, decisions.layers(), model);
  place_tensors(plan, jobs, *format, model, sharded);
  add_others(
      plan.tensors, model, sharded,
      [&](const std::string& name) { return decisions.leaves_out(name); },
      "`exclude` leaves it out");
  require_different_names(model, plan.tensors.shards, "");
  remove_empty_shards(plan.tensors, sharded);
  plan.tensors.options = {{"format", std::string(format->name())},
                          {"config", format->quantization_config(plan.model)},
                          {"layers", plan.model.quantized}};
  if (!inputs.empty()) plan.tensors.options["inputs"] = inputs;
  add_algorithms(plan.tensors, options.hessians);
  return plan;
}

// Bytes of the files with tensors that a plan becomes.
[[nodiscard]] inline std::uint64_t weight_file_bytes(const CheckpointPlan& plan,
                                                     const ModelContents& model) {
  std::uint64_t sum = 0;
  for (const OutputShard& shard : plan.tensors.shards)
    sum += io::SafetensorsWriter::file_bytes(shard.declarations(model), shard.metadata());
  return sum;
}

}  // namespace tq::store::detail
