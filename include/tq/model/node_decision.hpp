// SPDX-License-Identifier: MIT
#pragma once
// NodeDecision: the settings that a configuration has for a node.

#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tq {

/// The decision of a configuration on a node.
struct NodeDecision {
  std::optional<QuantSpec> scheme{};  ///< none where the node is left as it is
  std::string observer{}, calibrator{};
  std::uint64_t minimum_samples = 0;
  /// The rule that decided on the scheme, or on float: `default`, `float_kinds: kind head`,
  /// `skip[1]: kind norm`, `nodes[2]: name lm_head`, with the reason that the rule gives.
  std::string decided_by{};
  WeightAlgorithm algorithm{};  ///< of a weight

  [[nodiscard]] bool is_skipped() const noexcept { return !scheme; }
};

}  // namespace tq
