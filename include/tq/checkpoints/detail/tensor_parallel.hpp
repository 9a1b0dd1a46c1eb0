// SPDX-License-Identifier: MIT
#pragma once
// The part of a weight that one of several processors holds under tensor parallelism.

#include <tq/checkpoints/linear_weight.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io::detail {

// Whether engines divide the inputs of a layer among processors, and not its outputs: the layers
// that end a block of attention or of an MLP.
[[nodiscard]] inline bool divides_inputs(std::string_view module) {
  constexpr std::array<std::string_view, 9> leaves{
      "o_proj", "down_proj", "w2", "out_proj", "c_proj", "fc2", "wo", "dense", "dense_4h_to_h"};
  return std::ranges::find(leaves, module.substr(module.rfind('.') + 1)) != leaves.end();
}

// Whether engines append the outputs of another layer to those of this one.
[[nodiscard]] inline bool is_before_another(std::string_view module) {
  constexpr std::array<std::string_view, 5> leaves{"q_proj", "k_proj", "gate_proj", "w1",
                                                   "q_a_proj"};
  return std::ranges::find(leaves, module.substr(module.rfind('.') + 1)) != leaves.end();
}

/// The part of a layer that one processor holds.
struct Shard {
  std::size_t outputs, inputs;
  std::string problem{};  ///< where it cannot be divided

  Shard(const LinearWeight& layer, std::size_t processors)
      : outputs(layer.outputs), inputs(layer.inputs) {
    const bool by_inputs = divides_inputs(layer.module);
    std::size_t& divided = by_inputs ? inputs : outputs;
    if (processors == 0 || divided % processors != 0)
      problem = std::to_string(divided) + (by_inputs ? " inputs" : " outputs") +
                " are not divisible among " + std::to_string(processors) + " processors";
    else divided /= processors;
  }

  /// Notes a problem unless `got` is a multiple: "inputs of a processor: expected a multiple of 128
  /// (its groups), got 192".
  void require(const char* what, std::size_t got, std::size_t multiple, const char* why) {
    if (problem.empty() && (got == 0 || got % multiple != 0))
      problem = std::string(what) + " of a processor: expected a multiple of " +
                std::to_string(multiple) + " (" + why + "), got " + std::to_string(got);
  }
  void require_inputs(std::size_t multiple, const char* why) {
    require("inputs", inputs, multiple, why);
  }
  void require_outputs(std::size_t multiple, const char* why) {
    require("outputs", outputs, multiple, why);
  }
};

}  // namespace tq::io::detail
