// SPDX-License-Identifier: MIT
#pragma once
// Gives layers the largest magnitudes of their inputs, where their format stores a scale of these.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/activation_ranges.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/detail/layers_job.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Layers whose inputs engines scale by one number: those of a product; the same products of all
// experts of a mixture, of which engines take the largest.
[[nodiscard]] inline std::string input_set_of(const WrittenLayer& layer) {
  const std::string mixture = io::detail::before_experts(layer.weight.module);
  if (mixture.empty()) return layer.scale_set;
  return mixture + ".experts" + layer.scale_set.substr(layer.scale_set.rfind('.'));
}

// The largest magnitude of a layer's inputs, by its own name or that of the tensor that it is part
// of, or nothing. Throws: errc::shape_mismatch for activations of another width.
[[nodiscard]] inline std::optional<float> magnitude_of_inputs(const ActivationRanges& ranges,
                                                              const std::string& tensor,
                                                              const io::LinearWeight& layer) {
  auto found = ranges.find(layer.module);
  if (found == ranges.all().end()) found = ranges.find(tensor);
  if (found == ranges.all().end()) return std::nullopt;
  if (found->second.inputs != layer.inputs)
    tq::detail::raise_expected(errc::shape_mismatch, layer.module,
                               {"activations [..., ", layer.inputs, "]"},
                               {io::shown(found->first), " [..., ", found->second.inputs, "]"});
  return found->second.abs_max;
}

// Gives every layer the largest magnitude of its set, of the members that are known. Returns a text
// that stands for all, empty where no layer has such a scale. `jobs`: by the names of their
// tensors, in the order of the model. Throws: errc::no_data for a layer whose set has no
// activations, or zeros alone; errc::shape_mismatch.
[[nodiscard]] inline std::string set_inputs(
    const AnyFormat& format, const std::vector<std::pair<std::string, LayersJob*>>& jobs,
    const ActivationRanges* ranges) {
  std::unordered_map<std::string, std::optional<float>> most;  // by set
  std::vector<WrittenLayer*> layers;
  for (const auto& [tensor, job] : jobs)
    for (WrittenLayer& layer : job->layers) {
      if (!format.needs_inputs_abs_max(layer.weight)) continue;
      layers.push_back(&layer);
      std::optional<float>& of_set = most[input_set_of(layer)];
      if (ranges == nullptr) continue;
      if (const auto found = magnitude_of_inputs(*ranges, tensor, layer.weight))
        of_set = std::max(of_set.value_or(0.0f), *found);
    }
  Digest digest;
  for (WrittenLayer* layer : layers) {
    const std::optional<float>& of_set = most[input_set_of(*layer)];
    if (of_set.value_or(0.0f) == 0)
      tq::detail::raise_expected(
          errc::no_data, layer->weight.module,
          {"activations by its name, or that of its weight, for the scale that ", format.name(),
           " stores"},
          {of_set ? "zeros alone" : "none", "; `exclude` leaves it in float"});
    layer->weight.inputs_abs_max = *of_set;
    digest.add(layer->weight.module).add(std::uint64_t{std::bit_cast<std::uint32_t>(*of_set)});
  }
  return layers.empty() ? std::string() : digest.text();
}

}  // namespace tq::store::detail
