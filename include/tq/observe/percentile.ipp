// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/percentile.hpp.

#include <tq/observe/percentile.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace tq {

TQ_CORE_API Range Percentile::range() const noexcept {
  if (const Histogram* h = histogram()) return h->range();
  const auto [least, most] = std::minmax_element(kept().begin(), kept().end());
  return {*least, *most};
}

TQ_CORE_API std::uint64_t Percentile::count() const noexcept {
  const Histogram* h = histogram();
  return nan_ + infinite_ + (h != nullptr ? h->count() : kept().size());
}

TQ_CORE_API std::uint64_t Percentile::nan_count() const noexcept {
  const Histogram* h = histogram();
  return nan_ + (h != nullptr ? h->nan_count() : 0);
}

TQ_CORE_API std::uint64_t Percentile::infinite_count() const noexcept {
  const Histogram* h = histogram();
  return infinite_ + (h != nullptr ? h->infinite_count() : 0);
}

TQ_CORE_API float Percentile::quantile(double p) const noexcept {
  if (const Histogram* h = histogram()) return h->quantile(p);
  std::array<float, capacity> x;
  const auto end = std::copy(kept().begin(), kept().end(), x.begin());
  const auto last = static_cast<double>(kept().size() - 1);
  const auto at = static_cast<std::ptrdiff_t>(p * last);
  std::nth_element(x.begin(), x.begin() + at, end);
  const double lo = double(x[static_cast<std::size_t>(at)]);
  const auto next = x.begin() + at + 1;
  const double hi = next < end ? double(*std::min_element(next, end)) : lo;
  // fma, so that every build rounds alike.
  return static_cast<float>(std::fma(hi - lo, std::fma(p, last, -static_cast<double>(at)), lo));
}

TQ_CORE_API std::vector<float> Percentile::values() const {
  if (!is_exact()) return {};
  std::vector<float> sorted(kept().begin(), kept().end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TQ_CORE_API Percentile::State Percentile::state() const {
  State s{values(), std::nullopt, nan_count(), infinite_count()};
  if (const Histogram* h = histogram()) {
    s.histogram = h->state();
    s.histogram->nan = s.histogram->infinite = 0;
  }
  return s;
}

TQ_CORE_API Percentile Percentile::from_state(const State& s) {
  Percentile p;
  std::uint64_t finite = s.values.size();
  if (s.histogram) {
    check(s.values.empty(), {"values or a histogram"}, {"both"});
    check(s.histogram->nan == 0 && s.histogram->infinite == 0, {"a histogram of finite values"},
          {"NaN or infinities"});
    const Histogram h = Histogram::from_state(*s.histogram);
    finite = h.finite_count();
    check(finite > capacity, {"a histogram of more than ", capacity, " values"}, {finite});
    p.seen_ = h;
  } else {
    check(finite <= capacity, {"at most ", capacity, " values"}, {finite});
    p.keep(s.values);
    check(p.kept().size() == finite, {"finite values"}, {"others"});
    check(std::is_sorted(s.values.begin(), s.values.end()), {"ascending values"},
          {"another order"});
  }
  check(s.infinite <= ~s.nan && finite <= ~s.nan - s.infinite, {"a total below 2^64"}, {"more"});
  p.nan_ = s.nan;
  p.infinite_ = s.infinite;
  return p;
}

TQ_CORE_API void Percentile::check(bool ok, detail::TextParts expected, detail::TextParts got) {
  if (!ok) detail::raise_expected(errc::malformed, "tq::Percentile::from_state", expected, got);
}

TQ_CORE_API void Percentile::keep(std::span<const float> x) noexcept {
  Kept& k = *std::get_if<Kept>(&seen_);
  for (const float v : x) {
    if (std::fabs(v) <= std::numeric_limits<float>::max()) k.values[k.size++] = v + 0.0f;  // no -0
    else ++(v == v ? infinite_ : nan_);
  }
}

}  // namespace tq
