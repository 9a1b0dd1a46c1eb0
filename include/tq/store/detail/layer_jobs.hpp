// SPDX-License-Identifier: MIT
#pragma once
// LayerJobs: the layers of a model by the tensors that hold them, with their algorithms and stacks.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/error.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/chosen_algorithm.hpp>
#include <tq/store/detail/layer_decisions.hpp>
#include <tq/store/detail/layers_job.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tq::store::detail {

// The stacks of experts of a model: their sizes, and the one shard of the output that has each.
class ExpertStacks {
 public:
  // Notes a layer and gives it its place, if the format takes it as part of a stack.
  void add(WrittenLayer& layer, const AnyFormat& format, const std::string& model_type) {
    const std::string& module = layer.weight.module;
    const std::string stack = format.stack_of(module, model_type);
    if (stack.empty()) return;
    const io::detail::ExpertName expert = *io::detail::expert_name(module);
    const std::optional<std::size_t> number = expert.index();
    if (!number)
      tq::detail::raise_expected(errc::unsupported, module, {"the number of an expert"},
                                 {expert.number});
    layer.stack = StackPlace{stack, *number};
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
      tq::detail::raise_expected(errc::unsupported, layer.stack->module,
                                 {"experts 0 to ", *numbers.rbegin(), " of one shape"},
                                 {numbers.size(), " of ", shapes.size()});
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

class LayerJobs {
 public:
  using InOrder = std::vector<std::pair<std::string, LayersJob*>>;

  // Throws: errc::no_data for a layer without a Hessian; errc::unsupported for experts that are no
  // whole stack.
  LayerJobs(LayerDecisions& decisions, const std::shared_ptr<const AnyFormat>& format,
            const CheckpointOptions& options, const std::string& model_type) {
    for (const io::ModelLayer& layer : decisions.layers().layers) {
      std::shared_ptr<LayersJob>& job = by_tensor_[layer.tensor];
      if (!job) {
        job = std::make_shared<LayersJob>(LayersJob{format});
        in_order_.emplace_back(layer.tensor, job.get());
      }
      job->layers.push_back({decisions.weight_of(layer), layer.place, layer.scale_set, layer.set});
      set_algorithm(job->layers.back(), options);
      stacks_.add(job->layers.back(), *format, model_type);
    }
    for (const auto& [tensor, job] : in_order_)
      for (WrittenLayer& layer : job->layers) stacks_.finish(layer);
  }

  // By the names of their tensors, in the order of the model.
  [[nodiscard]] const InOrder& in_order() const noexcept { return in_order_; }
  // Null for a tensor without layers.
  [[nodiscard]] std::shared_ptr<LayersJob> find(const std::string& tensor) const {
    const auto found = by_tensor_.find(tensor);
    return found == by_tensor_.end() ? nullptr : found->second;
  }
  // The shard of the output for a job whose tensor is in shard `own`, or begins a stack there.
  [[nodiscard]] std::size_t shard_of(const LayersJob& job, std::size_t own) {
    return stacks_.shard_of(job.layers.front(), own);
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<LayersJob>> by_tensor_;
  InOrder in_order_;
  ExpertStacks stacks_;
};

}  // namespace tq::store::detail
