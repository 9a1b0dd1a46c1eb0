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

/// A tensor of a model: weights, or values that flow between layers.
struct QuantNode {
  std::string name{};
  NodeKind kind = NodeKind::other;
  std::vector<std::string> inputs{};  ///< names of the nodes that it is computed from, where known
  int bits = 32;                      ///< of an element before it is quantized: for the summary
  /// The shape of a weight, where it is known. An observed stack of matrices needs it to get a
  /// parameter for every output of every matrix.
  std::vector<std::size_t> shape{};
  friend bool operator==(const QuantNode&, const QuantNode&) = default;
};

/// A node and its observer, as a `Quantizer` is stored.
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
