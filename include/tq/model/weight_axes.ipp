// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/weight_axes.hpp.

#include <tq/core/granularity.hpp>
#include <tq/model/guess_node_kind.hpp>
#include <tq/model/weight_axes.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace tq {

namespace detail {

enum class ExpertPart { unknown, widens, narrows };

// Products into an expert ("gate_up_proj") and out of it ("down_proj").
TQ_API ExpertPart expert_part(const NameParts& name) {
  static constexpr std::array<std::string_view, 9> into{"up", "gate",   "w1",      "w3",   "fc1",
                                                        "wi", "upgate", "linear1", "input"};
  static constexpr std::array<std::string_view, 6> out{"down", "w2",      "fc2",
                                                       "wo",   "linear2", "output"};
  for (const std::string_view word : words_of(name.last())) {
    if (is_one_of(word, into)) return ExpertPart::widens;
    if (is_one_of(word, out)) return ExpertPart::narrows;
  }
  return ExpertPart::unknown;
}

TQ_API StackOrder stack_order(const NameParts& name, std::span<const std::size_t> extents,
                              const ModelSizes& sizes) {
  if (extents.size() < 3 || !name.is_of_experts()) return StackOrder::open;
  const ExpertPart part = expert_part(name);
  const bool is_first_width = sizes.widths.contains(extents[extents.size() - 2]);
  const bool is_last_width = sizes.widths.contains(extents.back());
  if (part == ExpertPart::unknown || is_first_width == is_last_width) return StackOrder::open;
  return is_first_width == (part == ExpertPart::widens) ? StackOrder::inputs_first
                                                        : StackOrder::outputs_first;
}

}  // namespace detail

TQ_API WeightAxes weight_axes(std::string_view name, NodeKind kind,
                              std::span<const std::size_t> extents, const ModelSizes& sizes) {
  if (extents.size() < 3) return WeightAxes::outputs_first;
  const detail::NameParts parts(name);
  if (kind == NodeKind::conv)
    return detail::names_transposed_conv(parts) && extents[1] > 1 ? WeightAxes::inputs_first
                                                                  : WeightAxes::outputs_first;
  constexpr std::array matrices{NodeKind::linear, NodeKind::attention, NodeKind::router,
                                NodeKind::head, NodeKind::embedding};
  if (std::find(matrices.begin(), matrices.end(), kind) == matrices.end())
    return WeightAxes::outputs_first;
  const detail::StackOrder order = detail::stack_order(parts, extents, sizes);
  const bool has_inputs_first = order == detail::StackOrder::open
                                    ? sizes.stacks_have_inputs_first && parts.is_of_experts()
                                    : order == detail::StackOrder::inputs_first;
  return has_inputs_first ? WeightAxes::stacked_inputs_first : WeightAxes::stacked;
}

TQ_API QuantSpec spec_for(QuantSpec spec, std::span<const std::size_t> extents, WeightAxes axes) {
  if (extents.empty()) {
    spec.granularity = PerTensor::name;
    return spec;
  }
  if (!spec.uses_axis() || spec.axis || axes == WeightAxes::outputs_first) return spec;
  const bool is_channel = spec.granularity == PerChannel<>::name;
  if (axes == WeightAxes::inputs_first) {
    if (is_channel) spec.axis = 1;
    return spec;
  }
  const int inputs = axes == WeightAxes::stacked ? -1 : -2;
  if (is_channel) {
    const std::size_t count = extents[extents.size() - (inputs == -1 ? 1 : 2)];
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    spec.granularity = PerGroup<>::name;
    spec.group_size = static_cast<int>(std::clamp<std::size_t>(count, 1, most));
  }
  spec.axis = inputs;
  return spec;
}

}  // namespace tq
