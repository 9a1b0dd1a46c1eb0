// SPDX-License-Identifier: MIT
#pragma once
// Histogram: how often which values were seen, counted in bins whose width is a power of two; what
// lies far out exactly.

#include <tq/observe/concepts.hpp>
#include <tq/observe/detail/bin_counts.hpp>
#include <tq/observe/detail/bin_layout.hpp>
#include <tq/observe/detail/block_extremes.hpp>
#include <tq/observe/detail/histogram_state.hpp>
#include <tq/observe/detail/outlier_counts.hpp>
#include <tq/ops/backend/backend.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// Counts of the finite values of a stream (`Absolute`: of their magnitudes). NaN and infinities
/// are skipped and counted. What is repeated at the ends, or lies far out, counts as what it is:
/// with E the least integer for which at most `most_apart` different values are 2^E or more in
/// magnitude, those are kept as they are, each with its count. The others are in bins, and how many
/// of these are exactly 0 is known too. Bins are 2^k wide and numbered from zero in both
/// directions, as `kernels::Bins` says; over the values in bins k is the least integer for which
///     k >= -149,   k >= floor(log2(max|x|)) - 23,   index(max) - index(min) < Bins.
/// Wider bins are made by adding pairs, so the state depends on nothing but which values were seen:
/// neither on their order nor on how the stream was cut, up to 2^64 values. Trivially copyable
/// without padding: it may be sent and compared as bytes.
template <std::size_t Bins = 2048, bool Absolute = false>
class BasicHistogram {
  static_assert(std::has_single_bit(Bins) && Bins >= 8 && Bins <= 65536);

 public:
  static constexpr bool is_absolute = Absolute;
  static constexpr std::size_t most_apart = 8;
  using State = HistogramState;

  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept;

  void merge(const BasicHistogram& other) noexcept;

  /// One without counts that has the bins of this one already, for a share of the values that come
  /// next: to be added to, and merged into this one. Nothing else of it is told truly.
  [[nodiscard]] BasicHistogram share() const noexcept {
    BasicHistogram h;
    h.min_ = min_;
    h.max_ = max_;
    h.exponent_ = exponent_;
    h.first_ = first_;
    return h;
  }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return !has_bins() && apart_.empty(); }
  /// The smallest and largest finite value (magnitude) seen. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept {
    if (apart_.empty()) return {min_, max_};
    const Range kept{apart_.values().front(), apart_.values().back()};
    return has_bins() ? Range{std::min(kept.min, min_), std::max(kept.max, max_)} : kept;
  }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return finite_count() + nan_ + infinite_; }
  [[nodiscard]] std::uint64_t finite_count() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), apart_.total());
  }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

  /// The values that are known with their counts, in ascending order: those kept apart, and 0.
  [[nodiscard]] std::vector<ValueCount> points() const;
  /// All the others; no counts if there are none.
  [[nodiscard]] BinCounts bins() const;

  /// Everything in bins, as many and as wide as the whole range needs: from that of the smallest to
  /// that of the largest value; none if empty(). A new vector: keep it as long as anything that
  /// looks at it.
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  /// Where the first of counts() begins: a multiple of bin_width().
  [[nodiscard]] double origin() const noexcept {
    const Layout all = Layout::of(range(), Bins);
    return std::ldexp(all.first, all.exponent);
  }
  [[nodiscard]] double bin_width() const noexcept {
    return std::ldexp(1.0, Layout::of(range(), Bins).exponent);
  }

  /// The value that a share p of the finite values does not exceed: one of points(), or, as if the
  /// others of a bin were spread evenly over it,
  ///     e[k] + w * (p * N - C[k - 1]) / h[k]    for the first bin k with C[k] >= p * N,
  /// within the range of the bins; h are the counts, C their sums with what is known exactly, N
  /// their total, e[k] is where bin k begins. Preconditions: not empty(), 0 <= p <= 1.
  [[nodiscard]] float quantile(double p) const noexcept;

  [[nodiscard]] State state() const;
  /// Throws: `errc::malformed` when no values give this state.
  [[nodiscard]] static BasicHistogram from_state(const State& s);

  friend bool operator==(const BasicHistogram&, const BasicHistogram&) = default;

 private:
  using Layout = detail::BinLayout;

  static constexpr std::size_t piece = 65536, block = 1024;
  static constexpr float biggest = std::numeric_limits<float>::max();

  [[nodiscard]] bool has_bins() const noexcept {
    return !(exponent_ == 0 && min_ == 0 && max_ == 0);
  }  // -149 after a 0
  // Where in `counts_` a value is counted.
  [[nodiscard]] std::size_t index(float x) const noexcept {
    return static_cast<std::size_t>(kernels::bin_index(x, exponent_) - first_);
  }
  // From what power of two on magnitudes are too large for bins.
  [[nodiscard]] double limit() const noexcept { return detail::next_power(std::max(-min_, max_)); }
  // The same in bins.
  [[nodiscard]] std::int32_t end_of_bins(std::int32_t exponent) const noexcept {
    return static_cast<std::int32_t>(std::ldexp(limit(), -exponent));
  }

  // Counts what has a bin already, and all else that is met on the way. Tells how far it came.
  template <Backend B>
  std::size_t count(std::span<const float> x) noexcept;

  // Looks first, then counts.
  template <Backend B>
  void add_piece(std::span<const float> x) noexcept;

  // Values of which some have no bin: at most `block`.
  template <Backend B>
  void add_mixed(std::span<const float> x, double limit) noexcept;

  // The limit when these values are there as well.
  [[nodiscard]] double limit_with(std::span<const float> x,
                                  std::span<const kernels::Extremes> blocks) const noexcept;

  // Counts a value n times, apart if it is large enough. Where there is no room it goes into bins,
  // or others do.
  void take(float v, std::uint64_t n) noexcept;
  void put_into_bins_below(double limit) noexcept {
    apart_.take_out_below(limit, [&](float v, std::uint64_t n) { put_into_bins(v, n); });
  }
  void put_into_bins(float v, std::uint64_t n) noexcept {
    cover(v, v);
    counts_[index(v)] += n;
    if (v == 0) zeros_ += n;
  }

  // Extends the range of the bins and makes them fit it. The first one is such that the last does
  // not reach beyond the limit; nor does the first, unless bins cannot be narrower.
  void cover(float lo, float hi) noexcept;

  // Makes bins 2^shift as wide, the first of all having index `first`. It has room: what falls off
  // the ends is zero.
  void rebin(int shift, std::int32_t first) noexcept;

  std::array<std::uint64_t, Bins> counts_{};
  detail::outlier_counts<most_apart> apart_;
  std::uint64_t zeros_ = 0, nan_ = 0, infinite_ = 0;
  float min_ = 0, max_ = 0;                // of what is in bins
  std::int32_t exponent_ = 0, first_ = 0;  // counts_[0] is the bin of that index
};

/// 2048 bins of real numbers.
using Histogram = BasicHistogram<>;
/// 2048 bins of magnitudes.
using AbsHistogram = BasicHistogram<2048, true>;

}  // namespace tq

#include <tq/observe/detail/histogram_bodies.hpp>
