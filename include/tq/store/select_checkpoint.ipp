// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/select_checkpoint.hpp.

#include <tq/store/select_checkpoint.hpp>

#include <cstddef>

namespace tq {

namespace store::detail {

TQ_API std::uint64_t least_other_bytes(const CheckpointMeasurement& measured) {
  return measured.other_bytes + measured.other_header_bytes;
}

TQ_API PrecisionNode without_headers(PrecisionNode from, const PrecisionNode& measured) {
  for (PrecisionCandidate& c : from.candidates)
    c.bytes = tq::detail::find_candidate(measured, c.scheme)->bytes;
  return from;
}

TQ_API PrecisionSelection without_headers(PrecisionSelection selection,
                                          const PrecisionSelector& selector,
                                          const CheckpointMeasurement& measured) {
  selection.cost.bytes = 0;
  for (std::size_t i = 0; i < selection.nodes.size(); ++i) {
    SelectedPrecision& selected = selection.nodes[i];
    const PrecisionNode node = without_headers(selector.model().nodes[i], measured.layers.nodes[i]);
    selected.choice = *tq::detail::find_candidate(node, selected.choice.scheme);
    selected.reason = tq::detail::reason_text(node, selected.choice);
    selection.cost.bytes += selected.choice.bytes;
  }
  return selection;
}

}  // namespace store::detail

}  // namespace tq
