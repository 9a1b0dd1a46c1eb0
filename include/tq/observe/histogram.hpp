// SPDX-License-Identifier: MIT
#pragma once
// Histogram: how often which values were seen, counted in bins whose width is a power of two.

#include <tq/error.hpp>
#include <tq/kernels/backend.hpp>
#include <tq/observe/concepts.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// Counts of the finite values of a stream (`Absolute`: of their magnitudes). NaN and infinities are skipped and
/// counted. Bins are 2^k wide and numbered from zero in both directions, as `kernels::Bins` says; k is the least
/// integer for which
///     k >= -149,   k >= floor(log2(max|x|)) - 23,   index(max) - index(min) < Bins.
/// Wider bins are made by adding pairs, so the state depends on nothing but which values were seen: neither on
/// their order nor on how the stream was cut, up to 2^64 values. Trivially copyable without padding: it may be sent
/// and compared as bytes.
template <std::size_t Bins = 2048, bool Absolute = false>
class BasicHistogram {
  static_assert(std::has_single_bit(Bins) && Bins >= 8 && Bins <= 65536);

 public:
  static constexpr bool is_absolute = Absolute;

  /// What was seen, in as few numbers as possible; all zero and no counts if there was no finite value.
  struct State {
    std::int32_t exponent = 0;          ///< bins are 2^exponent wide
    std::int64_t first = 0;             ///< index of the bin of `min`
    std::vector<std::uint64_t> counts;  ///< from the bin of `min` to that of `max`
    float min = 0, max = 0;
    std::uint64_t nan = 0, infinite = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    while (!x.empty()) {
      if (!empty()) x = x.subspan(add_leading<B>(x));
      const std::size_t n = std::min(x.size(), piece);
      add_piece<B>(x.first(n));
      x = x.subspan(n);
    }
  }

  void merge(const BasicHistogram& other) noexcept {
    if (!other.empty()) {
      const std::size_t n = other.size();
      cover(other.min_, other.max_);
      const int shift = doublings(other.exponent_, exponent_);
      for (std::size_t i = 0; i < n; ++i)
        counts_[static_cast<std::size_t>(((other.first_ + static_cast<std::int32_t>(i)) >> shift) - first_)] +=
            other.counts_[i];
    }
    nan_ += other.nan_;
    infinite_ += other.infinite_;
  }

  /// One without counts that has the bins of this one already, for a share of the values that come next: to be added to,
  /// and merged into this one. Nothing else of it is told truly.
  [[nodiscard]] BasicHistogram share() const noexcept {
    BasicHistogram h;
    h.min_ = min_;
    h.max_ = max_;
    h.exponent_ = exponent_;
    h.first_ = first_;
    return h;
  }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return exponent_ == 0 && min_ == 0 && max_ == 0; }  // -149 after a 0
  /// The smallest and largest finite value (magnitude) seen. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept { return {min_, max_}; }
  /// From the bin of the smallest to that of the largest value; none if empty().
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return {counts_.data(), size()}; }
  /// Where the first bin begins: a multiple of bin_width().
  [[nodiscard]] double origin() const noexcept { return std::ldexp(first_, exponent_); }
  [[nodiscard]] double bin_width() const noexcept { return std::ldexp(1.0, exponent_); }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return finite_count() + nan_ + infinite_; }
  [[nodiscard]] std::uint64_t finite_count() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

  /// The value that a share p of the finite values does not exceed, as if those of a bin were spread evenly over it:
  ///     e[k] + w * (p * N - C[k - 1]) / h[k]    for the first bin k with C[k] >= p * N,
  /// clamped to range(); h are the counts, C their sums, N their total, e[k] is where bin k begins.
  /// Preconditions: not empty(), 0 <= p <= 1.
  [[nodiscard]] float quantile(double p) const noexcept {
    const auto total = static_cast<double>(finite_count());
    const double wanted = p * total;
    std::uint64_t below = 0;
    std::size_t k = 0;
    for (const std::size_t last = size() - 1; k < last; ++k) {
      if (static_cast<double>(below + counts_[k]) >= wanted) break;
      below += counts_[k];
    }
    // Written as fma so that every build rounds it the same.
    const double share = std::fma(p, total, -static_cast<double>(below)) / static_cast<double>(counts_[k]);
    const double value = std::ldexp(share + static_cast<double>(first_ + static_cast<std::int32_t>(k)), exponent_);
    return static_cast<float>(std::clamp(value, double(min_), double(max_)));
  }

  [[nodiscard]] State state() const {
    const std::span<const std::uint64_t> c = counts();
    return {exponent_, first_, {c.begin(), c.end()}, min_, max_, nan_, infinite_};
  }
  /// Throws: `errc::malformed` when no values give this state.
  [[nodiscard]] static BasicHistogram from_state(const State& s) {
    BasicHistogram h;
    h.nan_ = s.nan;
    h.infinite_ = s.infinite;
    bool fits = s.infinite <= ~s.nan;
    std::uint64_t room = fits ? ~s.nan - s.infinite : 0;
    for (const std::uint64_t c : s.counts) {
      fits = fits && c <= room;
      room -= c;
    }
    check(fits, "a total below 2^64", "more");
    if (s.counts.empty()) {
      check(s == State{0, 0, {}, 0, 0, s.nan, s.infinite}, "zeros beside no counts", "something else");
      return h;
    }
    constexpr float biggest = std::numeric_limits<float>::max();
    check((Absolute ? 0.0f : -biggest) <= s.min && s.min <= s.max && s.max <= biggest, "finite min <= max",
          std::to_string(s.min) + " and " + std::to_string(s.max));
    h.cover(s.min, s.max);
    check(s.exponent == h.exponent_, "exponent " + std::to_string(h.exponent_), std::to_string(s.exponent));
    check(s.first == h.first_, "first bin " + std::to_string(h.first_), std::to_string(s.first));
    check(s.counts.size() == h.size_of_range(), std::to_string(h.size_of_range()) + " counts",
          std::to_string(s.counts.size()));
    check(s.counts.front() != 0 && s.counts.back() != 0, "counts of min and max", "zero");
    std::copy(s.counts.begin(), s.counts.end(), h.counts_.begin());
    return h;
  }

  friend bool operator==(const BasicHistogram&, const BasicHistogram&) = default;

 private:
  static constexpr std::size_t piece = 65536;

  static void check(bool ok, const std::string& expected, const std::string& got) {
    if (!ok) raise(errc::malformed, "tq::BasicHistogram::from_state: expected " + expected + ", got " + got);
  }

  [[nodiscard]] std::size_t size_of_range() const noexcept {
    return static_cast<std::size_t>(kernels::bin_index(max_, exponent_) - first_) + 1;
  }
  [[nodiscard]] std::size_t size() const noexcept { return empty() ? 0 : size_of_range(); }

  // Counts what comes before the first value without a bin, and tells its range.
  template <Backend B>
  std::size_t count(std::span<const float> x, kernels::Extremes& e) noexcept {
    const kernels::Bins bins{exponent_, first_, static_cast<std::int32_t>(Bins)};
    return B::histogram::template run<Absolute>(x.data(), x.size(), bins, counts_.data(), e);
  }
  template <Backend B>
  std::size_t add_leading(std::span<const float> x) noexcept {
    kernels::Extremes e;
    const std::size_t n = count<B>(x, e);
    if (n > 0) cover(e.min, e.max);
    return n;
  }

  // Looks first, then counts.
  template <Backend B>
  void add_piece(std::span<const float> x) noexcept {
    kernels::Extremes e = B::histogram::template extremes<Absolute>(x.data(), x.size());
    nan_ += e.nan;
    infinite_ += e.infinite;
    if (!(e.min <= e.max)) return;
    cover(e.min, e.max);
    if (e.nan + e.infinite == 0) {
      count<B>(x, e);
      return;
    }
    float finite[2048];
    for (std::size_t n = 0; !x.empty(); x = x.subspan(n)) {
      n = std::min(x.size(), std::size(finite));
      std::size_t m = 0;
      for (const float v : x.first(n)) {
        finite[m] = v;
        m += std::fabs(v) <= std::numeric_limits<float>::max() ? 1u : 0u;
      }
      count<B>({finite, m}, e);
    }
  }

  // As many as make a difference to an index.
  static constexpr int doublings(std::int32_t from, std::int32_t to) noexcept { return std::min(to - from, 31); }

  // Extends the range and makes the bins fit it.
  void cover(float lo, float hi) noexcept {
    const bool first_value = empty();
    if (!first_value && min_ <= lo && hi <= max_) return;
    min_ = (first_value ? lo : std::min(min_, lo)) + 0.0f;  // no -0
    max_ = (first_value ? hi : std::max(max_, hi)) + 0.0f;
    const float top = std::max(-min_, max_);
    std::int32_t exponent = top == 0.0f ? -149 : std::max(-149, std::ilogb(top) - 23);
    std::int32_t first = kernels::bin_index(min_, exponent), last = kernels::bin_index(max_, exponent);
    for (; last - first >= static_cast<std::int32_t>(Bins); ++exponent) {
      first >>= 1;
      last >>= 1;
    }
    if (!first_value) rebin(doublings(exponent_, exponent), first);
    exponent_ = exponent;
    first_ = first;
  }

  // Makes bins 2^shift as wide, the first of all having index `first`. It has room: what falls off the end is zero.
  void rebin(int shift, std::int32_t first) noexcept {
    for (std::size_t i = 0; shift > 0 && i < Bins; ++i) {
      const std::uint64_t c = std::exchange(counts_[i], 0);
      const std::int32_t to = ((first_ + static_cast<std::int32_t>(i)) >> shift) - (first_ >> shift);
      counts_[static_cast<std::size_t>(to)] += c;
    }
    const std::ptrdiff_t up = (first_ >> shift) - first;
    if (up == 0) return;
    std::move_backward(counts_.begin(), counts_.end() - up, counts_.end());
    std::fill(counts_.begin(), counts_.begin() + up, 0);
  }

  std::array<std::uint64_t, Bins> counts_{};  // [0] is the bin of min_
  std::uint64_t nan_ = 0, infinite_ = 0;
  float min_ = 0, max_ = 0;
  std::int32_t exponent_ = 0, first_ = 0;
};

/// 2048 bins of real numbers.
using Histogram = BasicHistogram<>;
/// 2048 bins of magnitudes.
using AbsHistogram = BasicHistogram<2048, true>;

}  // namespace tq
