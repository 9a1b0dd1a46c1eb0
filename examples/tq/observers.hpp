// SPDX-License-Identifier: MIT
#pragma once
// Observers that are chosen at run time, in words and numbers.

#include <tq/core/symmetry.hpp>
#include <tq/model/any_observer.hpp>
#include <tq/observe/histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tool {

using tq::AnyObserver;
using tq::ObserverOf;

// All slots together.
struct Seen {
  std::size_t slot_count = 0;
  std::uint64_t values = 0, nan = 0, infinite = 0;
  std::optional<std::size_t> empty_slot;  // the first without a finite value
  std::optional<tq::Range> range;  // from the smallest to the largest value, where it is kept
};
[[nodiscard]] Seen seen_by(const AnyObserver& observer);
// The range of one slot; nothing if it saw no finite value, or there is no such slot.
[[nodiscard]] std::optional<tq::Range> range_of(const AnyObserver& observer, std::size_t slot);

// The values that an observer keeps of a slot: all of them, or only counts of bins.
struct Kept {
  std::vector<float> values;
  tq::Histogram bins;  // of either
};
// Nothing where the observer keeps neither.
[[nodiscard]] std::optional<Kept> kept_by(const AnyObserver& observer, std::size_t slot);

}  // namespace tool
