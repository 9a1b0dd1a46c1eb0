// SPDX-License-Identifier: MIT
#pragma once
// select_smallest: the selection with the smallest files where bytes of nodes do not add up.

#include <tq/select/detail/rising_choices.hpp>
#include <tq/select/precision_selector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tq {

/// The selection with the smallest files, and of equal files the one of less error.
/// `bytes_of(selection)` is the size of its files; `other_bytes` is at most what it has beside the
/// bytes of the nodes. Only the selection of floats may have smaller files than that. Without
/// bound.
///
/// Selections are tried by rising bytes of their nodes until no other can have smaller files, or
/// until 4096 were tried (of models of more than 16 nodes fewer, but 8 at least). In the second
/// case headers may leave a selection unseen whose files are a few bytes smaller.
template <class BytesOf>
[[nodiscard]] PrecisionSelection select_smallest(const PrecisionSelector& selector,
                                                 std::uint64_t other_bytes, BytesOf&& bytes_of) {
  constexpr std::size_t most_nodes = std::size_t{1} << 16, most_tries = 4096, fewest_tries = 8;
  const std::size_t nodes = std::max<std::size_t>(1, selector.model().nodes.size());
  const std::size_t tries = std::clamp(most_nodes / nodes, fewest_tries, most_tries);
  PrecisionSelection best = selector.uniform(float_scheme);
  std::uint64_t fewest = bytes_of(std::as_const(best));
  detail::RisingChoices choices(selector.model());
  for (std::size_t i = 0; i < tries; ++i) {
    std::optional<detail::RisingChoice> choice = choices.next();
    if (!choice || choice->bytes > fewest - std::min(fewest, other_bytes)) break;
    PrecisionSelection tried = selector.chosen(std::move(choice->candidates));
    const std::uint64_t bytes = bytes_of(std::as_const(tried));
    if (bytes > fewest || (bytes == fewest && tried.cost.error >= best.cost.error)) continue;
    fewest = bytes;
    best = std::move(tried);
  }
  return best;
}

}  // namespace tq
