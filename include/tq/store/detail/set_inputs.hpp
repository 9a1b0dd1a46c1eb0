// SPDX-License-Identifier: MIT
#pragma once
// Gives layers the largest magnitudes of their inputs, where their format stores a scale of these.

#include <tq/error.hpp>
#include <tq/store/activation_ranges.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/detail/layers_job.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Layers of a set with one scale have the same inputs, and get the largest magnitude of all that
// are known. Returns a text that stands for them, empty where no layer has such a scale. Throws:
// errc::no_data for a layer whose activations are missing or zeros; errc::bad_argument for ranges
// that no layer takes.
[[nodiscard]] inline std::string set_inputs(const AnyFormat& format,
                                            const std::vector<LayersJob*>& jobs,
                                            const ActivationRanges* ranges) {
  std::unordered_map<std::string, float> most;  // by set
  std::vector<WrittenLayer*> layers;
  for (LayersJob* job : jobs)
    for (WrittenLayer& layer : job->layers) {
      if (!format.needs_inputs_abs_max(layer.weight)) continue;
      layers.push_back(&layer);
      float& of_set = most[layer.scale_set];
      if (ranges != nullptr)
        of_set = std::max(of_set, ranges->find(layer.weight.module).value_or(0));
    }
  if (layers.empty()) {
    if (ranges != nullptr)
      raise(errc::bad_argument, std::string(format.name()) +
                                    ": expected no activations, as the scheme has no scales of "
                                    "these, got some");
    return {};
  }
  Digest digest;
  for (WrittenLayer* layer : layers) {
    layer->weight.inputs_abs_max = most[layer->scale_set];
    if (layer->weight.inputs_abs_max == 0)
      raise(errc::no_data, layer->weight.module +
                               ": expected activations other than 0, by its name or that of its "
                               "weight, for the scale that " +
                               std::string(format.name()) + " stores, got none");
    digest.add(layer->weight.module)
        .add(std::uint64_t{std::bit_cast<std::uint32_t>(layer->weight.inputs_abs_max)});
  }
  return digest.text();
}

}  // namespace tq::store::detail
