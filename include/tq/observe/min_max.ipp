// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/min_max.hpp.

#include <tq/error.hpp>
#include <tq/observe/min_max.hpp>

#include <limits>

namespace tq {

namespace detail {

TQ_CORE_API void require_range(const char* where, float min, float max) {
  if (min >= -std::numeric_limits<float>::max() && min <= max &&
      max <= std::numeric_limits<float>::max())
    return;
  raise_expected(errc::malformed, where, {"a finite range"}, {min, " to ", max});
}

}  // namespace detail

TQ_CORE_API MinMax::State MinMax::state() const noexcept {
  const std::uint64_t finite = count_ - seen_.nan - seen_.infinite;
  return empty() ? State{0, 0, 0, seen_.nan, seen_.infinite}
                 : State{seen_.min, seen_.max, finite, seen_.nan, seen_.infinite};
}

TQ_CORE_API MinMax MinMax::from_state(const State& s) {
  MinMax out;
  if (s.finite != 0) {
    detail::require_range("tq::MinMax::from_state", s.min, s.max);
    out.seen_.min = s.min;
    out.seen_.max = s.max;
  } else if (s.min != 0 || s.max != 0) {
    detail::raise_expected(errc::malformed, "tq::MinMax::from_state",
                           {"the range 0 to 0 without values"}, {s.min, " to ", s.max});
  }
  out.seen_.nan = s.nan;
  out.seen_.infinite = s.infinite;
  out.count_ = s.finite + s.nan + s.infinite;
  return out;
}

}  // namespace tq
