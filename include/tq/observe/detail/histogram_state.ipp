// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/detail/histogram_state.hpp.

#include <tq/observe/detail/bin_layout.hpp>
#include <tq/observe/detail/histogram_state.hpp>

#include <cmath>
#include <limits>

namespace tq {

namespace detail {

TQ_CORE_API void require_of_state(bool ok, TextParts expected, TextParts got) {
  if (!ok) raise_expected(errc::malformed, "tq::BasicHistogram::from_state", expected, got);
}

TQ_CORE_API void check_total(const HistogramState& s) {
  bool fits = s.infinite <= ~s.nan;
  std::uint64_t room = fits ? ~s.nan - s.infinite : 0;
  const auto fit = [&](std::uint64_t c) {
    fits = fits && c <= room;
    room -= c;
  };
  for (const std::uint64_t c : s.counts) fit(c);
  for (const ValueCount& v : s.values) fit(v.count);
  require_of_state(fits, {"a total below 2^64"}, {"more"});
}

TQ_CORE_API void check_bins(const HistogramState& s, std::size_t bins, bool absolute) {
  constexpr float biggest = std::numeric_limits<float>::max();
  require_of_state((absolute ? 0.0f : -biggest) <= s.min && s.min <= s.max && s.max <= biggest,
                   {"finite min <= max"}, {s.min, " and ", s.max});
  const BinLayout fits = BinLayout::of({s.min, s.max}, bins);
  require_of_state(s.exponent == fits.exponent, {"exponent ", fits.exponent}, {s.exponent});
  require_of_state(s.first == fits.first, {"first bin ", fits.first}, {s.first});
  require_of_state(s.counts.size() == fits.size(), {fits.size(), " counts"}, {s.counts.size()});
  require_of_state(s.counts.front() != 0 && s.counts.back() != 0, {"counts of min and max"},
                   {"zero"});
  const bool has_zero = fits.first <= 0 && 0 <= fits.last;
  const std::uint64_t most = has_zero ? s.counts[static_cast<std::size_t>(-fits.first)] : 0;
  require_of_state(s.zeros <= most, {"at most ", most, " zeros"}, {s.zeros});
}

TQ_CORE_API void check_values(const HistogramState& s, std::size_t most_apart, bool absolute) {
  const double limit = next_power(std::max(-s.min, s.max));
  require_of_state(s.values.size() <= most_apart, {"at most ", most_apart, " values apart"},
                   {s.values.size()});
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    const ValueCount& v = s.values[i];
    const double size = std::abs(double(v.value));
    require_of_state(size >= limit && size <= double(std::numeric_limits<float>::max()) &&
                         !(absolute && v.value < 0),
                     {"values beyond those in bins"}, {v.value});
    require_of_state(i == 0 || s.values[i - 1].value < v.value, {"values in ascending order"},
                     {v.value});
    require_of_state(v.count != 0, {"values that were seen"}, {"none of ", v.value});
  }
}

TQ_CORE_API void check_state(const HistogramState& s, std::size_t bins, std::size_t most_apart,
                             bool absolute) {
  check_total(s);
  if (s.counts.empty())
    require_of_state(s == HistogramState{0, 0, {}, 0, 0, s.nan, s.infinite, 0, s.values},
                     {"zeros beside no counts"}, {"something else"});
  else check_bins(s, bins, absolute);
  check_values(s, most_apart, absolute);
}

}  // namespace detail

}  // namespace tq
