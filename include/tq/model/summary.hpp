// SPDX-License-Identifier: MIT
#pragma once
// QuantizationSummary: what became of the nodes of a model, and what it cost.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/ops/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tq {

/// Summary of a node. Sizes are those of the largest tensor that it was given.
struct NodeSummary {
  std::string name{};
  NodeKind kind = NodeKind::other;
  std::string type{};        ///< of the codes; "float" where it is left as it is
  std::string scheme{};      ///< in words; empty where it is left as it is
  std::string decided_by{};  ///< as in `NodeDecision`: of one left as it is, why
  std::uint64_t samples = 0, minimum_samples = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t code_bytes =
      0;  ///< packed, the last byte filled up; the tensor, of one left as it is
  std::uint64_t padding_bits = 0;                       ///< of them, those that are no code
  std::uint64_t scale_bytes = 0, zero_point_bytes = 0;  ///< as they are stored
  ErrorMetrics error{};                                 ///< of all tensors that were quantized

  [[nodiscard]] bool is_quantized() const noexcept { return !scheme.empty(); }
  [[nodiscard]] TQ_API std::uint64_t bytes_after() const noexcept;
  [[nodiscard]] TQ_API double bits_per_element() const noexcept;
};

/// Summary of all nodes, in the order in which they were added.
struct QuantizationSummary {
  std::vector<NodeSummary> nodes{};

  [[nodiscard]] TQ_API std::uint64_t bytes_before() const noexcept;
  [[nodiscard]] TQ_API std::uint64_t bytes_after() const noexcept;
  /// 1 - bytes_after / bytes_before: each node counts by its size; scales, zero points and padding
  /// count. Less than 0 where the model grew.
  [[nodiscard]] TQ_API double saved() const noexcept;
  /// How many nodes there are of each type of codes, "float" among them.
  [[nodiscard]] TQ_API std::map<std::string, std::size_t> types() const;

 private:
  template <class F>
  [[nodiscard]] std::uint64_t sum(F&& f) const noexcept {
    std::uint64_t total = 0;
    for (const NodeSummary& node : nodes) total += f(node);
    return total;
  }
};

/// The nodes of each kind in float_kinds that are left as they are: "kept in float: head lm_head;
/// router 32 nodes (layers.0.mlp.gate, ...); no position found". Heads, routers and positions that
/// were not found are named, other kinds only where there are some. A kind without names was found,
/// and all of it is quantized.
[[nodiscard]] TQ_API std::string kept_text(
    const std::map<NodeKind, std::vector<std::string>>& kept);

/// A table of the nodes, how many have which type, the sizes, and which kinds are kept in float.
[[nodiscard]] TQ_API std::string to_string(const QuantizationSummary& summary);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/summary.ipp>
#endif
