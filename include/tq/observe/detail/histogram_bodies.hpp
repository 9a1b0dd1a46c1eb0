// SPDX-License-Identifier: MIT
#pragma once
// The bodies of members of BasicHistogram. They are no inline functions: the library of kernels has
// them for usual histograms, and files that link it do not compile them again.

#include <tq/observe/detail/bin_layout.hpp>
#include <tq/observe/detail/block_extremes.hpp>
#include <tq/observe/detail/histogram_state.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

template <std::size_t Bins, bool Absolute>
template <Backend B>
void BasicHistogram<Bins, Absolute>::add(std::span<const float> x) noexcept {
  while (!x.empty()) {
    if (has_bins()) x = x.subspan(count<B>(x));
    const std::size_t n = std::min(x.size(), piece);
    add_piece<B>(x.first(n));
    x = x.subspan(n);
  }
}

template <std::size_t Bins, bool Absolute>
void BasicHistogram<Bins, Absolute>::merge(const BasicHistogram& other) noexcept {
  if (other.has_bins()) {
    cover(other.min_, other.max_);
    const int shift = detail::doublings(other.exponent_, exponent_);
    const std::size_t end = other.index(other.max_);
    for (std::size_t i = other.index(other.min_); i <= end; ++i)
      counts_[static_cast<std::size_t>(((other.first_ + static_cast<std::int32_t>(i)) >> shift) -
                                       first_)] += other.counts_[i];
    put_into_bins_below(limit());
  }
  for (std::size_t i = 0; i < other.apart_.size(); ++i)
    take(other.apart_[i].value, other.apart_[i].count);
  zeros_ += other.zeros_;
  nan_ += other.nan_;
  infinite_ += other.infinite_;
}

template <std::size_t Bins, bool Absolute>
std::vector<ValueCount> BasicHistogram<Bins, Absolute>::points() const {
  std::vector<ValueCount> out;
  for (std::size_t i = 0; i < apart_.size(); ++i) out.push_back(apart_[i]);
  const auto above =
      std::find_if(out.begin(), out.end(), [](const ValueCount& v) { return v.value > 0; });
  if (zeros_ != 0) out.insert(above, {0, zeros_});
  return out;
}

template <std::size_t Bins, bool Absolute>
BinCounts BasicHistogram<Bins, Absolute>::bins() const {
  BinCounts out{{}, 0, std::ldexp(1.0, exponent_), {min_, max_}};
  if (!has_bins()) return out;
  const auto begin = static_cast<std::ptrdiff_t>(index(min_)),
             end = static_cast<std::ptrdiff_t>(index(max_)) + 1;
  out.counts.assign(counts_.begin() + begin, counts_.begin() + end);
  out.origin = std::ldexp(first_ + static_cast<std::int32_t>(begin), exponent_);
  if (zeros_ != 0) out.counts[index(0) - index(min_)] -= zeros_;
  if (std::all_of(out.counts.begin(), out.counts.end(), [](std::uint64_t c) { return c == 0; }))
    out.counts.clear();
  return out;
}

template <std::size_t Bins, bool Absolute>
std::vector<std::uint64_t> BasicHistogram<Bins, Absolute>::counts() const {
  if (empty()) return {};
  const Layout all = Layout::of(range(), Bins);
  std::vector<std::uint64_t> out(all.size());
  if (has_bins()) {
    const int shift = detail::doublings(exponent_, all.exponent);
    for (std::size_t i = index(min_); i <= index(max_); ++i)
      out[static_cast<std::size_t>(((first_ + static_cast<std::int32_t>(i)) >> shift) -
                                   all.first)] += counts_[i];
  }
  for (std::size_t i = 0; i < apart_.size(); ++i)
    out[static_cast<std::size_t>(kernels::bin_index(apart_[i].value, all.exponent) - all.first)] +=
        apart_[i].count;
  return out;
}

template <std::size_t Bins, bool Absolute>
float BasicHistogram<Bins, Absolute>::quantile(double p) const noexcept {
  const auto total = static_cast<double>(finite_count());
  const double wanted = p * total;
  std::uint64_t below = 0;
  const auto reached = [&](std::uint64_t n) {
    if (n == 0) return false;
    if (static_cast<double>(below + n) >= wanted) return true;
    below += n;
    return false;
  };
  std::size_t i = 0;
  for (; i < apart_.size() && apart_[i].value < 0; ++i)
    if (reached(apart_[i].count)) return apart_[i].value;
  if (has_bins())
    for (std::size_t k = index(min_); k <= index(max_); ++k) {
      const std::int32_t number = first_ + static_cast<std::int32_t>(k);
      const std::uint64_t zeros = number == 0 ? zeros_ : 0, n = counts_[k] - zeros;
      if (reached(zeros)) return 0;
      if (!reached(n)) continue;
      // Written as fma so that every build rounds it the same.
      const double share = std::fma(p, total, -static_cast<double>(below)) / static_cast<double>(n);
      const double value = std::ldexp(share + static_cast<double>(number), exponent_);
      return static_cast<float>(std::clamp(value, double(min_), double(max_)));
    }
  for (; i < apart_.size(); ++i)
    if (reached(apart_[i].count)) return apart_[i].value;
  return range().max;
}

template <std::size_t Bins, bool Absolute>
HistogramState BasicHistogram<Bins, Absolute>::state() const {
  State s{0, 0, {}, min_, max_, nan_, infinite_, zeros_, {}};
  if (has_bins()) {
    const auto begin = static_cast<std::ptrdiff_t>(index(min_)),
               end = static_cast<std::ptrdiff_t>(index(max_)) + 1;
    s.exponent = exponent_;
    s.first = first_ + static_cast<std::int32_t>(begin);
    s.counts.assign(counts_.begin() + begin, counts_.begin() + end);
  }
  for (std::size_t i = 0; i < apart_.size(); ++i) s.values.push_back(apart_[i]);
  return s;
}

template <std::size_t Bins, bool Absolute>
BasicHistogram<Bins, Absolute> BasicHistogram<Bins, Absolute>::from_state(const State& s) {
  detail::check_state(s, Bins, most_apart, Absolute);
  BasicHistogram h;
  h.nan_ = s.nan;
  h.infinite_ = s.infinite;
  if (!s.counts.empty()) {
    h.cover(s.min, s.max);
    std::copy(s.counts.begin(), s.counts.end(),
              h.counts_.begin() + static_cast<std::ptrdiff_t>(h.index(h.min_)));
    h.zeros_ = s.zeros;
  }
  for (const ValueCount& v : s.values) h.apart_.add(v.value, v.count);
  return h;
}

template <std::size_t Bins, bool Absolute>
template <Backend B>
std::size_t BasicHistogram<Bins, Absolute>::count(std::span<const float> x) noexcept {
  kernels::Bins bins{exponent_, first_, static_cast<std::int32_t>(Bins)};
  if (const std::int32_t end = end_of_bins(exponent_); bins.count > 2 * end)
    bins = {exponent_, -end, 2 * end};
  kernels::Counted c;
  const std::size_t n = B::histogram::template run<Absolute>(
      x.data(), x.size(), bins, counts_.data() + (bins.first - first_), c);
  zeros_ += c.zeros;
  if (c.extremes.min <= c.extremes.max) cover(c.extremes.min, c.extremes.max);
  if (c.others != 0) add_mixed<B>({c.other, c.others}, limit());
  return n;
}

template <std::size_t Bins, bool Absolute>
template <Backend B>
void BasicHistogram<Bins, Absolute>::add_piece(std::span<const float> x) noexcept {
  std::array<kernels::Extremes, piece / block> blocks;
  kernels::Extremes all;
  for (std::size_t i = 0; i < x.size(); i += block) {
    const std::size_t n = std::min(block, x.size() - i);
    const kernels::Extremes& e = blocks[i / block] =
        B::histogram::template extremes<Absolute>(x.data() + i, n);
    all.min = std::min(all.min, e.min);
    all.max = std::max(all.max, e.max);
    all.nan += e.nan;
    all.infinite += e.infinite;
  }
  double limit = this->limit();
  if (double(detail::magnitude(all)) >= limit) {
    limit = limit_with(x, blocks);
    put_into_bins_below(limit);
  }
  const auto has_bin = [&](const kernels::Extremes& e) {
    return e.nan + e.infinite == 0 && double(detail::magnitude(e)) < limit;
  };
  kernels::Extremes binned;  // of blocks that have bins as a whole
  std::size_t mixed = 0;
  for (std::size_t i = 0; i < x.size(); i += block) {
    const kernels::Extremes& e = blocks[i / block];
    mixed += has_bin(e) ? 0u : 1u;
    if (!has_bin(e)) continue;
    binned.min = std::min(binned.min, e.min);
    binned.max = std::max(binned.max, e.max);
  }
  if (binned.min <= binned.max) cover(binned.min, binned.max);
  if (mixed * block <= x.size() / 2) {
    while (!x.empty()) x = x.subspan(count<B>(x));
    return;
  }
  for (std::size_t i = 0; i < x.size(); i += block) {
    const kernels::Extremes& e = blocks[i / block];
    const auto here = x.subspan(i, std::min(block, x.size() - i));
    if (has_bin(e)) count<B>(here);
    else if (e.nan + e.infinite == 0 && e.min == e.max) take(e.min, here.size());
    else add_mixed<B>(here, limit);
  }
}

template <std::size_t Bins, bool Absolute>
template <Backend B>
void BasicHistogram<Bins, Absolute>::add_mixed(std::span<const float> x, double limit) noexcept {
  float binned[block];
  std::size_t n = 0;
  for (const float v : x) {
    const float m = std::fabs(v);
    if (m < static_cast<float>(limit)) binned[n++] = v;  // the limit is a power of two
    else if (m <= biggest) take(Absolute ? m : v, 1);
    else ++(v == v ? infinite_ : nan_);
  }
  if (n == 0) return;
  const kernels::Extremes e = B::histogram::template extremes<Absolute>(binned, n);
  cover(e.min, e.max);
  count<B>({binned, n});
}

template <std::size_t Bins, bool Absolute>
double BasicHistogram<Bins, Absolute>::limit_with(
    std::span<const float> x, std::span<const kernels::Extremes> blocks) const noexcept {
  float top = 0;
  for (std::size_t i = 0; i < x.size(); i += block)
    top = std::max(top, detail::magnitude(blocks[i / block]));
  for (const float v : apart_.values()) top = std::max(top, std::fabs(v));
  return detail::least_limit<most_apart>(top, limit(), [&](double octave, auto&& see) {
    return std::all_of(apart_.values().begin(), apart_.values().end(), see) &&
           detail::see_blocks<Absolute, block>(x, blocks, octave, see);
  });
}

template <std::size_t Bins, bool Absolute>
void BasicHistogram<Bins, Absolute>::take(float v, std::uint64_t n) noexcept {
  if (double(std::fabs(v)) < limit()) return put_into_bins(v, n);
  if (apart_.add(v, n)) return;
  const double raised = detail::next_power(std::min(std::fabs(v), apart_.least_magnitude()));
  put_into_bins_below(raised);
  if (double(std::fabs(v)) < raised) put_into_bins(v, n);
  else apart_.add(v, n);
}

template <std::size_t Bins, bool Absolute>
void BasicHistogram<Bins, Absolute>::cover(float lo, float hi) noexcept {
  const bool first_value = !has_bins();
  if (!first_value && min_ <= lo && hi <= max_) return;
  min_ = (first_value ? lo : std::min(min_, lo)) + 0.0f;  // no -0
  max_ = (first_value ? hi : std::max(max_, hi)) + 0.0f;
  const Layout l = Layout::of({min_, max_}, Bins);
  const std::int32_t first =
      std::min(l.first, end_of_bins(l.exponent) - static_cast<std::int32_t>(Bins));
  if (!first_value) rebin(detail::doublings(exponent_, l.exponent), first);
  exponent_ = l.exponent;
  first_ = first;
}

template <std::size_t Bins, bool Absolute>
void BasicHistogram<Bins, Absolute>::rebin(int shift, std::int32_t first) noexcept {
  for (std::size_t i = 0; shift > 0 && i < Bins; ++i) {
    const std::uint64_t c = std::exchange(counts_[i], 0);
    const std::int32_t to = ((first_ + static_cast<std::int32_t>(i)) >> shift) - (first_ >> shift);
    counts_[static_cast<std::size_t>(to)] += c;
  }
  const std::ptrdiff_t up = (first_ >> shift) - first;
  if (up > 0) {
    std::move_backward(counts_.begin(), counts_.end() - up, counts_.end());
    std::fill(counts_.begin(), counts_.begin() + up, 0);
  } else if (up < 0) {
    std::move(counts_.begin() - up, counts_.end(), counts_.begin());
    std::fill(counts_.end() + up, counts_.end(), 0);
  }
}

#ifdef TQ_KERNEL_LIBRARY
extern template class BasicHistogram<2048, false>;
extern template class BasicHistogram<2048, true>;
extern template void Histogram::add<default_backend>(std::span<const float>) noexcept;
extern template void AbsHistogram::add<default_backend>(std::span<const float>) noexcept;
#endif

}  // namespace tq
