// SPDX-License-Identifier: MIT
#pragma once
// What observers that are chosen at run time say of themselves.

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
// What one slot saw; nothing if that is no finite value, or there is no such slot.
[[nodiscard]] std::optional<tq::Range> range_of(const AnyObserver& observer, std::size_t slot);

// What an observer keeps of the values of a slot: all of them, or only how often which were seen.
struct Kept {
  std::vector<float> values;
  tq::Histogram bins;  // of either
};
// Nothing where the observer keeps neither.
[[nodiscard]] std::optional<Kept> kept_by(const AnyObserver& observer, std::size_t slot);

}  // namespace tool
