// SPDX-License-Identifier: MIT
#pragma once
// select_sized: a selection of at most so many bytes where bytes of nodes do not add up.

#include <tq/error.hpp>
#include <tq/select/precision_selector.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace tq {

/// The selection of the fewest bytes of nodes.
[[nodiscard]] inline PrecisionSelection select_fewest(const PrecisionSelector& selector) {
  PrecisionCriteria criteria{PrecisionGoal::custom};
  criteria.max_error = std::numeric_limits<double>::max();
  return selector.select(criteria);
}

namespace detail {

// A selection within less than the limit of `first`, whose bound holds for both.
[[nodiscard]] inline PrecisionSelection bounded_by(PrecisionSelection selection,
                                                   const PrecisionSelection& first) {
  selection.bound = first.bound;
  selection.optimal = first.optimal && selection.cost.error == first.cost.error;
  const double over = selection.cost.error - first.bound;
  selection.gap = over <= 0         ? 0
                  : first.bound > 0 ? over / first.bound
                                    : std::numeric_limits<double>::infinity();
  return selection;
}

}  // namespace detail

/// The best selection whose files have at most `criteria.max_bytes`. `bytes_of(selection)` is the
/// size of its files, which have headers that differ from selection to selection; `other_bytes` is
/// what all of them have beside the bytes of nodes, or less. A try whose files are too large is
/// followed by the next best of fewer bytes, and after 64 of them by one within the room that
/// headers left. `bound` and `gap` are those of files without headers.
///
/// Throws: as `PrecisionSelector::select`; `errc::bad_argument`, naming the size, where the files
/// of the fewest bytes are larger.
template <class BytesOf>
[[nodiscard]] PrecisionSelection select_sized(const PrecisionSelector& selector,
                                              PrecisionCriteria criteria, std::uint64_t other_bytes,
                                              BytesOf&& bytes_of) {
  if (!criteria.max_bytes) return selector.select(criteria);
  const std::uint64_t most = *criteria.max_bytes;
  PrecisionSelection least = select_fewest(selector);
  const std::uint64_t fewest = bytes_of(std::as_const(least));
  if (fewest > most)
    raise(errc::bad_argument, "tq::select_sized: expected max_bytes of at least " +
                                  std::to_string(fewest) + ", got " + std::to_string(most));
  criteria.max_bytes = most - std::min(other_bytes, fewest - least.cost.bytes);
  std::optional<PrecisionSelection> first;
  for (int tries = 0;; ++tries) {
    PrecisionSelection tried = selector.select(criteria);
    const std::uint64_t bytes = bytes_of(std::as_const(tried));
    if (bytes <= most && !first) return tried;
    if (!first) first = tried;
    if (bytes <= most) return detail::bounded_by(std::move(tried), *first);
    if (tried.cost.bytes <= least.cost.bytes) return detail::bounded_by(std::move(least), *first);
    const std::uint64_t headers = bytes - tried.cost.bytes;
    criteria.max_bytes =
        headers > most || most - headers < least.cost.bytes ? least.cost.bytes : most - headers;
  }
}

}  // namespace tq
