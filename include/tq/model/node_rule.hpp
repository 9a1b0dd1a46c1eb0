// SPDX-License-Identifier: MIT
#pragma once
// NodeRule: settings that some nodes of a configuration have of their own.

#include <tq/model/node_selector.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tq {

/// Settings of some nodes. An absent setting is as without the rule.
struct NodeRule {
  NodeSelector which;
  std::optional<QuantSpec> scheme{};
  bool is_float = false;  ///< they are left as they are; in place of a scheme
  std::string observer{}, calibrator{};
  std::optional<std::uint64_t> minimum_samples{};
  std::string reason{};  ///< for the reader
  std::optional<WeightAlgorithm> algorithm{};

  friend bool operator==(const NodeRule&, const NodeRule&) = default;
};

}  // namespace tq
