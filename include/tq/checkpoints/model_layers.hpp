// SPDX-License-Identifier: MIT
#pragma once
// find_model_layers: the linear layers of a language model by its configuration, and by the names
// and shapes of its tensors.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/model_layer.hpp>
#include <tq/checkpoints/served_config.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/json/json_text.hpp>
#include <tq/json/model_sizes_json.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/model/guess_node_kind.hpp>
#include <tq/model/model_size_finder.hpp>
#include <tq/model/model_sizes.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/weight_axes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// The linear layers of a language model.
struct ModelLayers {
  std::vector<ModelLayer> layers;    ///< that can be quantized, in the order of the tensors
  std::vector<LeftModule> left;      ///< modules with matrices that stay in float; always "lm_head"
  std::vector<std::string> dropped;  ///< tensors that no engine reads: the head of a tied model

  /// Leaves all layers of sets in float. `why`: by set, one of its layers and the reason.
  void leave_sets(const std::map<std::string, LeftModule>& why);
};

/// Names of a checkpoint tell its layers: matrices of decoder blocks with the names of linear
/// layers. Embeddings, heads, norms, routers, towers that see or hear, convolutions and blocks that
/// predict further tokens are not layers. Experts that are fused in tensors of three axes become
/// layers of each expert, "experts.3.up_proj"; with `experts_whole`, stacks. With `head`, a head
/// that is not tied to the embedding is a layer too.
[[nodiscard]] inline ModelLayers find_model_layers(const Json& config,
                                                   std::span<const TensorInfo> tensors,
                                                   bool experts_whole = false, bool head = false);

namespace detail {

// Sorts the tensors of a model, one after the other.
class LayerFinder {
 public:
  LayerFinder(const Json& config, std::span<const TensorInfo> tensors, bool experts_whole,
              bool head)
      : config_(served_config(config)), experts_whole_(experts_whole), head_(head) {
    ModelSizeFinder finder;
    for (const TensorInfo& t : tensors) finder.add(t.name, t.shape);
    sizes_ = finder.sizes(model_sizes_from_json(config));
    set_stack_order(served_size(config, "hidden_size"), tensors);
  }

  void take(const TensorInfo& t) {
    const std::string module = module_of(t.name);
    const tq::detail::NameParts parts(t.name);
    if (t.shape.size() == 3 && (parts.is_of_experts() || is_stack(parts)))
      return take_stack(t, module, parts);
    if (t.shape.size() == 2 && is_flat_stack(parts))
      return leave(module, "fused experts, which engines load in float alone");
    if (t.shape.size() != 2 || !t.name.ends_with(".weight")) return;
    const NodeKind kind = guess_node_kind(t.name, t.shape, sizes_);
    if (kind == NodeKind::embedding || kind == NodeKind::norm || kind == NodeKind::position) return;
    if (kind == NodeKind::head) return take_head(t, module);
    if (std::string reason = reason_to_leave(parts, kind); !reason.empty())
      return leave(module, std::move(reason));
    const LayerName name = *layer_name(parts.last());
    ModelLayer layer{module, t.name, t.shape[0], t.shape[1]};
    layer.place.output_stride = t.shape[1];
    add(std::move(layer), name);
  }

  [[nodiscard]] ModelLayers result() && {
    const auto is_head = [](const auto& layer) { return layer.module == "lm_head"; };
    if (std::ranges::none_of(out_.left, is_head) && std::ranges::none_of(out_.layers, is_head))
      leave("lm_head", config_.is_tied ? "head, tied to the embedding" : "head");
    for (const TiedHead& head : tied_heads)
      if (head.model_type == config_.model_type &&
          std::ranges::find(out_.left, head.module, &LeftModule::module) == out_.left.end())
        leave(std::string(head.module), "head, tied to the embedding");
    return std::move(out_);
  }

 private:
  // The width of the language model alone tells the order of stacks, as a tower may have the width
  // of an expert. A stack that leaves its order open has that of the others.
  void set_stack_order(std::size_t width, std::span<const TensorInfo> tensors) {
    stack_sizes_ = sizes_;
    if (width == 0) return;
    stack_sizes_.widths = {width};
    for (const TensorInfo& t : tensors) {
      const auto order =
          tq::detail::stack_order(tq::detail::NameParts(t.name), t.shape, stack_sizes_);
      if (order != tq::detail::StackOrder::open)
        stack_sizes_.stacks_have_inputs_first = order == tq::detail::StackOrder::inputs_first;
    }
  }

  [[nodiscard]] static std::string module_of(std::string_view tensor) {
    if (tensor.ends_with(".weight")) tensor.remove_suffix(7);
    return std::string(tensor);
  }
  void leave(std::string module, std::string reason) {
    out_.left.push_back({std::move(module), std::move(reason)});
  }

  // A tied head has no weight of its own, whatever the file has.
  void take_head(const TensorInfo& t, const std::string& module) {
    if (head_ && !config_.is_tied)
      return void(out_.layers.push_back(
          {module, t.name, t.shape[0], t.shape[1], 0, {0, t.shape[1]}, module, module}));
    if (config_.is_tied) out_.dropped.push_back(t.name);
    leave(module, config_.is_tied ? "head, tied to the embedding" : "head");
  }

  [[nodiscard]] std::string reason_to_leave(const tq::detail::NameParts& parts,
                                            NodeKind kind) const {
    if (std::string tower = tower_of(parts); !tower.empty()) return tower;
    if (is_prediction_part(parts)) return "prediction of further tokens";
    const std::optional<std::size_t> block = block_of(parts);
    if (!block) return "outside of decoder blocks";
    if (config_.blocks != 0 && *block >= config_.blocks) return "prediction of further tokens";
    if (kind == NodeKind::router) return "router";
    const bool has_conv1d = config_.model_type == "gpt2" || config_.model_type == "openai-gpt";
    if (has_conv1d) return "[inputs, outputs], as no engine reads it quantized";
    if (std::ranges::find(parts.all(), "indexer") != parts.all().end()) return "indexer";
    if (!layer_name(parts.last())) return "no linear layer by its name";
    return "";
  }

  void add(ModelLayer layer, const LayerName& name) {
    layer.scale_set = product_of(layer.module, name);
    layer.set = scheme_set_of(layer.module, name);
    out_.layers.push_back(std::move(layer));
  }

  // Stacks of experts beside their router, without "experts" in their names (Granite, JetMoE).
  [[nodiscard]] static bool is_stack(const tq::detail::NameParts& parts) {
    return parts.last() == "input_linear" || parts.last() == "output_linear";
  }

  // The experts of DBRX, one below the other in a matrix "experts.mlp.w1".
  [[nodiscard]] static bool is_flat_stack(const tq::detail::NameParts& parts) {
    static constexpr std::array<std::string_view, 3> names{"w1", "v1", "w2"};
    return parts.is_of_experts() && tq::detail::is_one_of(parts.whole_last(), names);
  }

  // Experts in one tensor [experts, outputs, inputs] or [experts, inputs, outputs].
  void take_stack(const TensorInfo& t, const std::string& module,
                  const tq::detail::NameParts& parts) {
    static constexpr std::array<std::string_view, 4> known{"gate_up_proj", "gate_proj", "up_proj",
                                                           "down_proj"};
    const NodeKind kind = guess_node_kind(t.name, t.shape, sizes_);
    if (kind != NodeKind::linear && kind != NodeKind::attention) return;
    if (is_stack(parts))
      return leave_stack(t, module, "fused experts, which engines load in float alone");
    std::string reason = reason_to_leave(parts, kind);
    const bool is_known =
        tq::detail::is_one_of(parts.last(), known) && before_experts(module) != "";
    if (reason.empty() && !is_known) reason = "fused experts of unknown order";
    // Their biases would have to be split as well, and gate and up alternate.
    if (reason.empty() && config_.model_type == "gpt_oss" && !experts_whole_)
      reason = "experts of gpt-oss, which engines load in MXFP4 alone";
    if (!reason.empty()) return leave_stack(t, module, reason);
    const bool is_transposed =
        weight_axes(t.name, kind, t.shape, stack_sizes_) == WeightAxes::stacked_inputs_first;
    const std::size_t outputs = t.shape[is_transposed ? 2 : 1],
                      inputs = t.shape[is_transposed ? 1 : 2];
    if (!experts_whole_ && parts.last() == "gate_up_proj" && outputs % 2 != 0)
      return leave_stack(t, module, "fused gates of an odd number of outputs");
    ModelLayer stack{module, t.name, outputs, inputs, t.shape[0]};
    stack.place = {0, is_transposed ? 1 : inputs, is_transposed ? outputs : 1, outputs * inputs};
    if (experts_whole_) return add(std::move(stack), *layer_name(parts.last()));
    split(stack, parts.last());
  }

  void split(const ModelLayer& stack, std::string_view name) {
    const bool is_pair = name == "gate_up_proj";
    const std::string mixture = before_experts(stack.module);
    for (std::size_t e = 0; e < stack.experts; ++e)
      for (std::size_t part = 0; part < (is_pair ? 2u : 1u); ++part) {
        const std::string_view own = !is_pair ? name : part == 0 ? "gate_proj" : "up_proj";
        ModelLayer layer{expert_module(mixture, e, own), stack.tensor,
                         stack.outputs / (is_pair ? 2 : 1), stack.inputs};
        layer.place = stack.place;
        layer.place.first =
            e * stack.place.expert_stride + part * layer.outputs * stack.place.output_stride;
        layer.place.expert_stride = 0;
        add(std::move(layer), *layer_name(own));
      }
  }

  // Engines ask for the experts one by one, although the tensor is one.
  void leave_stack(const TensorInfo& t, const std::string& module, const std::string& reason) {
    std::string before = before_experts(module);
    if (before.empty() && module.ends_with("_linear")) before = module.substr(0, module.rfind('.'));
    if (before.empty()) return leave(module, reason);
    for (const char* const name : {"gate_proj", "up_proj", "down_proj"})
      for (std::size_t e = 0; e < t.shape[0]; ++e) {
        std::string each = expert_module(before, e, name);
        if (left_experts_.emplace(each, true).second) leave(std::move(each), reason);
      }
  }

  ServedConfig config_;
  bool experts_whole_, head_;
  ModelSizes sizes_, stack_sizes_{};
  std::map<std::string, bool> left_experts_;
  ModelLayers out_;
};

}  // namespace detail

inline void ModelLayers::leave_sets(const std::map<std::string, LeftModule>& why) {
  std::map<std::string, std::vector<LeftModule>> by_set;
  for (const ModelLayer& layer : layers)
    if (const auto found = why.find(layer.set); found != why.end()) {
      const LeftModule& cause = found->second;
      by_set[layer.set].push_back({layer.module, layer.module == cause.module
                                                     ? cause.reason
                                                     : "together with " + cause.module});
    }
  for (const auto& [set, modules] : by_set) left.insert(left.end(), modules.begin(), modules.end());
  std::erase_if(layers, [&](const ModelLayer& layer) { return why.contains(layer.set); });
}

inline ModelLayers find_model_layers(const Json& config, std::span<const TensorInfo> tensors,
                                     bool experts_whole, bool head) {
  detail::LayerFinder finder(config, tensors, experts_whole, head);
  for (const TensorInfo& t : tensors) finder.take(t);
  return std::move(finder).result();
}

}  // namespace tq::io
