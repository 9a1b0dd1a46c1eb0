// SPDX-License-Identifier: MIT
#pragma once
// LayerDecisions: the layers of a model that a format takes, and why others stay in float.

#include <tq/checkpoints/model_layers.hpp>
#include <tq/checkpoints/served_config.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/found_layers.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/name_filter.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Decides on the layers of a model, set by set.
class LayerDecisions {
 public:
  LayerDecisions(const ModelContents& model, const io::Json& config, const AnyFormat& format,
                 const CheckpointOptions& options, FoundLayers& found)
      : model_(model),
        config_(io::served_config(config)),
        format_(format),
        options_(options),
        filter_(options.names) {
    const bool asks_for_head = filter_.asks_for("lm_head.weight");
    if (asks_for_head && !format.takes_head())
      tq::detail::raise_expected(errc::unsupported, format.name(),
                                 {"the head in float, as engines load it"},
                                 {"lm_head among the layers to include"});
    layers_ = found.find(model, config, format.takes_experts_whole(), asks_for_head);
    require_modules();
    std::map<std::string, io::LeftModule> problems;  // by set
    for (const StoredTensor& t : model.tensors()) static_cast<void>(filter_.left_out(t.name));
    for (const io::OtherMember& other : model.others()) filter_.note(other.name);
    filter_.require_matches();
    for (const io::ModelLayer& layer : layers_.layers)
      if (std::string reason = problem(layer, filter_.left_out(layer.tensor)); !reason.empty())
        problems.try_emplace(layer.set, io::LeftModule{layer.module, std::move(reason)});
    layers_.leave_sets(problems);
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
        tq::detail::raise_expected(errc::unknown_name, model_.files().front().string(),
                                   {"the name of a layer of the model"},
                                   {io::shown(module), did_you_mean(module, known)});
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

  [[noreturn]] void refuse_model(const std::map<std::string, io::LeftModule>& problems) const {
    const std::string got =
        problems.empty() ? "none in its decoder blocks"
                         : problems.begin()->second.module + ": " + problems.begin()->second.reason;
    tq::detail::raise_expected(errc::unsupported, model_.files().front().string(),
                               {"linear layers that ", format_.name(), " can hold"}, {got});
  }

  const ModelContents& model_;
  io::ServedConfig config_;
  const AnyFormat& format_;
  const CheckpointOptions& options_;
  NameFilter filter_;
  io::ModelLayers layers_;
};

}  // namespace tq::store::detail
