// SPDX-License-Identifier: MIT
#pragma once
// QuantNode, a tensor of a model as a quantizer knows it, and NodeState, what is stored of it.

#include <tq/model/any_observer.hpp>
#include <tq/model/node_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tq {

/// A tensor of a model: weights, or what flows between layers.
struct QuantNode {
  std::string name{};
  NodeKind kind = NodeKind::other;
  std::vector<std::string> inputs{};  ///< names of the nodes that it is computed from, where known
  int bits = 32;                      ///< of an element before it is quantized: for the summary
  /// Of a weight, where it is known: a stack of matrices that is observed gets a parameter for
  /// every output of every matrix only with it.
  std::vector<std::size_t> shape{};
  friend bool operator==(const QuantNode&, const QuantNode&) = default;
};

/// A node and what it has seen: what is stored of a `Quantizer`.
struct NodeState {
  QuantNode node{};
  std::optional<AnyObserver> observer{};  ///< none where nothing is to be observed
};

/// A node that has seen too few tensors.
struct Shortfall {
  std::string name{};
  std::uint64_t samples = 0, minimum_samples = 0;
};

}  // namespace tq
