// SPDX-License-Identifier: MIT
#include "observers.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace tool {

namespace {

// From the smallest to the largest value.
template <class Acc>
std::optional<tq::Range> extremes(const Acc& slot) {
  if constexpr (std::is_same_v<Acc, tq::MeanAbs>) {
    return std::nullopt;  // it keeps none
  } else if constexpr (std::is_same_v<Acc, tq::MovingAverageMinMax>) {
    if (slot.keeps() == tq::MovingAverageMinMax::Keeps::average) return std::nullopt;
    tq::Range r{slot.batches().front().min, slot.batches().front().max};
    for (const auto& batch : slot.batches())
      r = {std::min(r.min, batch.min), std::max(r.max, batch.max)};
    return r;
  } else {
    return slot.range();
  }
}

}  // namespace

Seen seen_by(const AnyObserver& observer) {
  return std::visit(
      [](const auto& o) {
        Seen seen;
        o.for_each_slot([&](std::size_t, const auto& slot) {
          seen.values += slot.count();
          seen.nan += slot.nan_count();
          seen.infinite += slot.infinite_count();
          if (slot.empty()) {
            if (!seen.empty_slot) seen.empty_slot = seen.slot_count;
          } else if (const std::optional<tq::Range> r = extremes(slot)) {
            if (!seen.range) seen.range = r;
            seen.range =
                tq::Range{std::min(seen.range->min, r->min), std::max(seen.range->max, r->max)};
          }
          ++seen.slot_count;
        });
        return seen;
      },
      observer);
}

std::optional<tq::Range> range_of(const AnyObserver& observer, std::size_t slot) {
  return std::visit(
      [&](const auto& o) {
        const bool is_there = slot < o.slot_count() && !o.accumulators()[slot].empty();
        return is_there ? extremes(o.accumulators()[slot]) : std::nullopt;
      },
      observer);
}

std::optional<Kept> kept_by(const AnyObserver& observer, std::size_t slot) {
  if (const auto* o = std::get_if<ObserverOf<tq::Histogram>>(&observer))
    return Kept{{}, o->accumulators()[slot]};
  if (const auto* o = std::get_if<ObserverOf<tq::Percentile>>(&observer)) {
    const tq::Percentile& seen = o->accumulators()[slot];
    if (const tq::Histogram* bins = seen.histogram()) return Kept{{}, *bins};
    Kept kept{seen.values(), {}};
    kept.bins.add(kept.values);
    return kept;
  }
  return std::nullopt;
}

}  // namespace tool
