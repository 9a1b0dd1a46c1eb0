// SPDX-License-Identifier: MIT
#pragma once
// select_sized: a selection of at most so many bytes where bytes of nodes do not add up.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/select/select_smallest.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace tq {

namespace detail {

// A selection within less than the limit of `first`, whose bound holds for both.
[[nodiscard]] TQ_API PrecisionSelection bounded_by(PrecisionSelection selection,
                                                   const PrecisionSelection& first);

// Throws: errc::bad_argument for a selection that does not keep the other limits.
TQ_API void require_kept(const PrecisionSelection& s, const PrecisionCriteria& criteria);

}  // namespace detail

/// The best selection whose files have at most `criteria.max_bytes`. `bytes_of(selection)` is the
/// size of its files; `other_bytes` is at most what it has beside the bytes of the nodes, as for
/// `select_smallest`. A selection whose files are too large is followed by the next best of fewer
/// bytes, after 16 of them by one within the room that its headers leave, and at the end by the
/// smallest. `bound` and `gap` are those of files with `other_bytes`.
///
/// Throws: as `PrecisionSelector::select`; `errc::bad_argument`, naming the smallest size, where no
/// files are small enough.
template <class BytesOf>
[[nodiscard]] PrecisionSelection select_sized(const PrecisionSelector& selector,
                                              PrecisionCriteria criteria, std::uint64_t other_bytes,
                                              BytesOf&& bytes_of) {
  if (!criteria.max_bytes) return selector.select(criteria);
  const std::uint64_t most = *criteria.max_bytes;
  const std::uint64_t fewest = selector.frontier().fewest_bytes().cost.bytes;
  std::uint64_t limit = most - std::min(other_bytes, most);
  if (const PrecisionSelection floats = selector.uniform(float_scheme);
      floats.cost.bytes > limit && bytes_of(floats) <= most)
    limit = floats.cost.bytes;
  std::optional<PrecisionSelection> first;
  for (int tries = 0; limit >= fewest; ++tries) {
    criteria.max_bytes = limit;
    PrecisionSelection tried = selector.select(criteria);
    const std::uint64_t bytes = bytes_of(std::as_const(tried));
    if (bytes <= most) return first ? detail::bounded_by(std::move(tried), *first) : tried;
    const std::uint64_t headers = bytes - std::min(bytes, tried.cost.bytes);
    if (tried.cost.bytes == 0) break;
    limit = tried.cost.bytes - 1;
    if (tries >= 16) limit = std::min(limit, most - std::min(headers, most));
    if (!first) first = std::move(tried);
  }
  PrecisionSelection smallest = select_smallest(selector, other_bytes, bytes_of);
  if (const std::uint64_t bytes = bytes_of(std::as_const(smallest)); bytes > most)
    detail::raise_expected(errc::bad_argument, "tq::select_sized",
                           {"max_bytes of at least ", bytes}, {most});
  detail::require_kept(smallest, criteria);
  return first ? detail::bounded_by(std::move(smallest), *first) : smallest;
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/select/select_sized.ipp>
#endif
