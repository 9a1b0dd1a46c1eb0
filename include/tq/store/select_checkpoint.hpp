// SPDX-License-Identifier: MIT
#pragma once
// select_checkpoint: the best schemes for the layers of a checkpoint, within a size of its files.

#include <tq/bodies.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/select/select_sized.hpp>
#include <tq/select/select_smallest.hpp>
#include <tq/store/checkpoint_measurement.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace tq {

namespace store::detail {

// At most what files have beside their layers.
[[nodiscard]] TQ_API std::uint64_t least_other_bytes(const CheckpointMeasurement& measured);

// A node with the candidates of `from`, whose bytes include those of headers, without headers.
[[nodiscard]] TQ_API PrecisionNode without_headers(PrecisionNode from,
                                                   const PrecisionNode& measured);

// The selection of the selector with the bytes of layers alone.
[[nodiscard]] TQ_API PrecisionSelection without_headers(PrecisionSelection selection,
                                                        const PrecisionSelector& selector,
                                                        const CheckpointMeasurement& measured);

}  // namespace store::detail

/// The choice of layers with the smallest files. `bytes_of(selection)`: of all files, as
/// `CheckpointSizes` has it. Errors may be 0, as those of `checkpoint_candidates`.
template <class BytesOf>
[[nodiscard]] PrecisionSelection select_smallest_checkpoint(const CheckpointMeasurement& measured,
                                                            BytesOf&& bytes_of) {
  const PrecisionSelector selector(measured.layers_with_headers());
  return store::detail::without_headers(
      select_smallest(selector, store::detail::least_other_bytes(measured), bytes_of), selector,
      measured);
}

/// The best choice of layers within the criteria, of which `max_bytes` limits the bytes of all
/// files: `bytes_of(selection)`, as `CheckpointSizes` has it. Bytes of the result are those of
/// layers, without headers.
///
///     const tq::CheckpointSizes bytes_of("llama/", schemes);
///     const tq::PrecisionSelection best = tq::select_checkpoint(
///         measured, {.goal = tq::PrecisionGoal::custom, .max_bytes = 4000000000}, bytes_of);
///
/// Throws: as `select_sized`; as `bytes_of`.
template <class BytesOf>
[[nodiscard]] PrecisionSelection select_checkpoint(const CheckpointMeasurement& measured,
                                                   PrecisionCriteria criteria, BytesOf&& bytes_of) {
  if (!criteria.max_bytes) return PrecisionSelector(measured.layers).select(criteria);
  // Bits are those of layers without headers, which the selector of files does not know.
  std::uint64_t most_of_layers = std::numeric_limits<std::uint64_t>::max();
  if (criteria.max_bits_per_weight) {
    PrecisionCriteria by_bits = criteria;
    by_bits.max_bytes.reset();
    PrecisionSelection best = PrecisionSelector(measured.layers).select(by_bits);
    if (bytes_of(std::as_const(best)) <= *criteria.max_bytes) return best;
    most_of_layers = tq::detail::bytes_within(*criteria.max_bits_per_weight, best.weights);
  }
  criteria.max_bits_per_weight.reset();
  const PrecisionSelector selector(measured.layers_with_headers());
  const auto within_both = [&](const PrecisionSelection& s) {
    const std::uint64_t files = bytes_of(s);
    const std::uint64_t layers = store::detail::without_headers(s, selector, measured).cost.bytes;
    if (layers <= most_of_layers) return files;
    return std::max(files, *criteria.max_bytes + (layers - most_of_layers));
  };
  return store::detail::without_headers(
      select_sized(selector, criteria, store::detail::least_other_bytes(measured), within_both),
      selector, measured);
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/select_checkpoint.ipp>
#endif
