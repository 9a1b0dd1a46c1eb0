// SPDX-License-Identifier: MIT
#pragma once
// The parts of a weight_packed of compressed-tensors, which integers and NVFP4 name alike.

#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/containers/tensor.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace tq::io::detail {

// Takes a weight by its weight_packed.
template <class Fill>
void take_weight_packed(CheckpointSearch& search, const TensorInfo& t, std::string_view format,
                        Fill&& fill) {
  const std::string base = stem(t.name);
  search.take(base + "weight", format,
              {{"weight", t.name},
               {"scales", base + "weight_scale"},
               {"shape", base + "weight_shape"},
               {"zero points", base + "weight_zero_point"},
               {"g_idx", base + "weight_g_idx"},
               {"divisor", base + "weight_global_scale"}},
              std::forward<Fill>(fill));
}

}  // namespace tq::io::detail
