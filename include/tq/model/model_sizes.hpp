// SPDX-License-Identifier: MIT
#pragma once
// ModelSizes: sizes of a model that tell its heads, routers and stacks of experts apart.

#include <tq/config.hpp>

#include <cstddef>
#include <set>
#include <string>

namespace tq {

/// Sizes of a model, from its configuration or from the shapes of its tensors. An empty set says
/// that nothing is known.
struct ModelSizes {
  std::set<std::size_t> vocabularies{};  ///< numbers of words
  std::set<std::size_t> labels{};        ///< numbers of classes
  std::set<std::size_t> experts{};       ///< numbers of experts that a router chooses from
  std::set<std::size_t> widths{};        ///< numbers of channels between layers
  /// Stacks of experts are [experts, inputs, outputs] where their shapes leave it open.
  bool stacks_have_inputs_first = false;

  friend bool operator==(const ModelSizes&, const ModelSizes&) = default;
};

}  // namespace tq
