// SPDX-License-Identifier: MIT
#pragma once
// CheckpointPlan: the future of every tensor of a model in a format of other programs.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/model_layers.hpp>
#include <tq/checkpoints/served_config.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/json/json_text.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/chosen_algorithm.hpp>
#include <tq/store/detail/layers_job.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/set_inputs.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/name_filter.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tq::store::detail {

struct CheckpointPlan {
  QuantizePlan tensors;
  io::WrittenModel model;            // for the configuration
  std::vector<io::LeftModule> left;  // as those of CheckpointReport
  std::vector<std::string> dropped;
};

// Decides on the layers of a model, set by set.
class LayerDecisions {
 public:
  LayerDecisions(const ModelContents& model, const io::Json& config, const AnyFormat& format,
                 const CheckpointOptions& options)
      : model_(model),
        config_(io::served_config(config)),
        format_(format),
        options_(options),
        filter_(options.names) {
    std::vector<io::TensorInfo> tensors;
    for (const StoredTensor& t : model.tensors()) tensors.push_back({t.name, t.dtype, t.shape});
    const bool asks_for_head = filter_.asks_for("lm_head.weight");
    if (asks_for_head && !format.takes_head())
      raise(errc::unsupported, std::string(format.name()) +
                                   ": expected the head in float, as engines load it, got lm_head "
                                   "among the layers to include");
    layers_ = io::find_model_layers(config, tensors, format.takes_experts_whole(), asks_for_head);
    require_modules();
    std::map<std::string, std::pair<std::string, std::string>>
        problems;  // module and reason by set
    for (const StoredTensor& t : model.tensors()) static_cast<void>(filter_.left_out(t.name));
    for (const io::OtherMember& other : model.others()) filter_.note(other.name);
    filter_.require_matches();
    for (const io::ModelLayer& layer : layers_.layers)
      if (std::string reason = problem(layer, filter_.left_out(layer.tensor)); !reason.empty())
        problems.try_emplace(layer.set, layer.module, std::move(reason));
    for (const auto& [set, why] : problems) layers_.leave_set(set, why.first, why.second);
    if (layers_.layers.empty()) refuse_model(problems);
  }

  [[nodiscard]] io::ModelLayers& layers() noexcept { return layers_; }
  // True for a name that the options leave out.
  [[nodiscard]] bool leaves_out(const std::string& name) { return !filter_.left_out(name).empty(); }
  // The type of the model's floats.
  [[nodiscard]] io::DType dtype() const {
    return config_.dtype.value_or(tensor_of(layers_.layers.front()).dtype);
  }
  [[nodiscard]] io::LinearWeight weight_of(const io::ModelLayer& layer) const {
    return {layer.module, layer.outputs, layer.inputs,
            config_.dtype.value_or(tensor_of(layer).dtype), layer.experts};
  }

 private:
  [[nodiscard]] const StoredTensor& tensor_of(const io::ModelLayer& layer) const {
    return *model_.find(layer.tensor);
  }

  // Throws: errc::unknown_name for a layer that the format's options name and the model has not.
  void require_modules() const {
    std::vector<std::string> known;
    for (const io::ModelLayer& layer : layers_.layers) known.push_back(layer.module);
    for (const io::LeftModule& m : layers_.left) known.push_back(m.module);
    const std::set<std::string> all(known.begin(), known.end());
    for (const std::string& module : format_.modules())
      if (!all.contains(module))
        raise(errc::unknown_name, model_.files().front().string() +
                                      ": expected the name of a layer of the model, got " +
                                      io::shown(module) + did_you_mean(module, known));
  }

  [[nodiscard]] std::string problem(const io::ModelLayer& layer,
                                    const std::string& left_out) const {
    const StoredTensor& tensor = tensor_of(layer);
    if (!left_out.empty()) return left_out;
    if (!tensor.left_alone.empty()) return tensor.left_alone;
    if (!tensor.foreign && !is_quantizable(tensor.dtype))
      return "of type " + std::string(to_string(tensor.dtype));
    const io::LinearWeight weight = weight_of(layer);
    constexpr std::array served{io::DType::f32, io::DType::f16, io::DType::bf16};
    if (std::ranges::find(served, weight.dtype) == served.end())
      return "of type " + std::string(to_string(weight.dtype));
    return format_.problem(weight, options_.tensor_parallel);
  }

  [[noreturn]] void refuse_model(
      const std::map<std::string, std::pair<std::string, std::string>>& problems) const {
    const std::string got =
        problems.empty() ? "none in its decoder blocks"
                         : problems.begin()->second.first + ": " + problems.begin()->second.second;
    raise(errc::unsupported, model_.files().front().string() + ": expected linear layers that " +
                                 std::string(format_.name()) + " can hold, got " + got);
  }

  const ModelContents& model_;
  io::ServedConfig config_;
  const AnyFormat& format_;
  const CheckpointOptions& options_;
  NameFilter filter_;
  io::ModelLayers layers_;
};

// Engines look for files whose names begin with "model".
inline void name_shards(std::vector<OutputShard>& shards) {
  const auto is_usual = [](const OutputShard& s) {
    return s.name.starts_with("model") && s.name.find('/') == s.name.npos &&
           s.name.ends_with(".safetensors");
  };
  if (std::ranges::all_of(shards, is_usual)) return;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", i + 1,
                  shards.size());
    shards[i].name = name.data();
  }
}

// The stacks of experts of a model: their sizes, and the one shard of the output that has each.
class ExpertStacks {
 public:
  // Notes a layer and gives it its place, if the format takes it as part of a stack.
  void add(WrittenLayer& layer, const AnyFormat& format, const std::string& model_type) {
    const std::string& module = layer.weight.module;
    const std::string stack = format.stack_of(module, model_type);
    if (stack.empty()) return;
    const std::string rest = module.substr(io::detail::before_experts(module).size() + 9);
    const std::string number = rest.substr(0, rest.find('.'));  // behind ".experts."
    if (!tq::detail::is_number(number) || number.size() > 8)
      raise(errc::unsupported, module + ": expected the number of an expert, got " + number);
    layer.stack = StackPlace{stack, std::stoul(number)};
    stacks_[stack].numbers.insert(layer.stack->number);
    stacks_[stack].shapes.insert({layer.weight.outputs, layer.weight.inputs});
  }
  // Tells a layer the size of its stack. Throws: errc::unsupported for a stack with gaps, or of
  // several shapes.
  void finish(WrittenLayer& layer) const {
    if (!layer.stack) return;
    const auto& [numbers, shapes, shard] = stacks_.at(layer.stack->module);
    layer.stack->count = numbers.size();
    if (*numbers.rbegin() + 1 != numbers.size() || shapes.size() != 1)
      raise(errc::unsupported, layer.stack->module + ": expected experts 0 to " +
                                   std::to_string(*numbers.rbegin()) + " of one shape, got " +
                                   std::to_string(numbers.size()) + " of " +
                                   std::to_string(shapes.size()));
  }
  // The shard for the layers of a tensor, of which `own` is the first: that of the stack's first
  // tensor.
  [[nodiscard]] std::size_t shard_of(const WrittenLayer& layer, std::size_t own) {
    if (!layer.stack) return own;
    std::optional<std::size_t>& shard = stacks_.at(layer.stack->module).shard;
    if (!shard) shard = own;
    return *shard;
  }

 private:
  struct Stack {
    std::set<std::size_t> numbers{};
    std::set<std::pair<std::size_t, std::size_t>> shapes{};
    std::optional<std::size_t> shard{};
  };
  std::map<std::string, Stack> stacks_;
};

// Job of a tensor: layers, its values where it is quantized now, or itself. Nothing where
// the output has it not.
[[nodiscard]] inline std::optional<QuantizeJob> checkpoint_job(const StoredTensor& tensor,
                                                               std::shared_ptr<LayersJob> layers,
                                                               CheckpointPlan& plan) {
  const bool is_dropped = std::ranges::find(plan.dropped, tensor.name) != plan.dropped.end();
  if (is_dropped) return std::nullopt;
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

// Gives a layer its algorithm, or the fallback. Throws: errc::no_data for a layer without a
// Hessian, unless there is a fallback.
inline void set_algorithm(WrittenLayer& layer, const CheckpointOptions& options) {
  const io::LinearWeight& weight = layer.weight;
  const std::string no_matrix = weight.experts == 0
                                    ? ""
                                    : "expected a matrix [outputs, inputs] for algorithm " +
                                          options.algorithm.name + ", got a stack of experts";
  ChosenAlgorithm chosen =
      chosen_algorithm(weight.module + ".weight", no_matrix, options.hessians, options.algorithm);
  layer.algorithm = std::move(chosen.algorithm);
  layer.report = std::move(chosen.fallback);
}

// Throws: errc::unsupported where no layer of the model fits, and for an algorithm that the format
// does not take; errc::bad_argument for patterns and Hessians that match nothing; errc::no_data for
// a layer without a Hessian; as set_inputs and the format.
[[nodiscard]] inline CheckpointPlan plan_checkpoint(const ModelContents& model,
                                                    const io::Json& config,
                                                    const std::shared_ptr<const AnyFormat>& format,
                                                    const CheckpointOptions& options,
                                                    bool sharded) {
  validate(options.algorithm);
  if (options.algorithm.name != "rtn" && !format->takes_algorithms())
    raise(errc::unsupported,
          std::string(format->name()) + ": expected no algorithm, got " + options.algorithm.name);
  LayerDecisions decisions(model, config, *format, options);
  CheckpointPlan plan;
  plan.model.model_type = io::served_config(config).model_type;
  ExpertStacks stacks;
  std::unordered_map<std::string, std::shared_ptr<LayersJob>> jobs;
  std::vector<std::pair<std::string, LayersJob*>> all_jobs;  // in the order of the model
  for (const io::ModelLayer& layer : decisions.layers().layers) {
    std::shared_ptr<LayersJob>& job = jobs[layer.tensor];
    if (!job) {
      job = std::make_shared<LayersJob>(LayersJob{format});
      all_jobs.emplace_back(layer.tensor, job.get());
    }
    job->layers.push_back({decisions.weight_of(layer), layer.place, layer.scale_set, layer.set});
    set_algorithm(job->layers.back(), options);
    stacks.add(job->layers.back(), *format, plan.model.model_type);
    plan.model.quantized.push_back(layer.module);
  }
  for (const auto& [tensor, job] : all_jobs)
    for (WrittenLayer& layer : job->layers) stacks.finish(layer);
  const std::string inputs = set_inputs(*format, all_jobs, options.inputs);
  plan.left = std::move(decisions.layers().left);
  plan.dropped = std::move(decisions.layers().dropped);
  for (const io::LeftModule& m : plan.left) {
    plan.model.left.push_back(m.module);
    plan.model.has_float_experts |= !io::detail::before_experts(m.module).empty() &&
                                    model.find(m.module + ".weight") != nullptr;
  }
  plan.model.dtype = decisions.dtype();
  plan.tensors.shards = empty_shards(model, sharded);
  if (sharded) name_shards(plan.tensors.shards);
  for (OutputShard& shard : plan.tensors.shards) {
    shard.is_described = false;
    shard.other_metadata = {{"format", std::string(format->metadata())}};
  }
  for (const StoredTensor& t : model.tensors()) {
    const auto found = jobs.find(t.name);
    std::optional<QuantizeJob> job =
        checkpoint_job(t, found == jobs.end() ? nullptr : found->second, plan);
    if (!job) continue;
    std::size_t shard = sharded ? first_shard(model, t) : 0;
    if (job->layers) shard = stacks.shard_of(job->layers->layers.front(), shard);
    plan.tensors.shards[shard].jobs.push_back(*std::move(job));
  }
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
