// SPDX-License-Identifier: MIT
#pragma once
// Bins: of equal width, a power of two; counted without SIMD here, see histogram.hpp.

#include <tq/config.hpp>
#include <tq/kernels/extremes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// `count` bins of width w = 2^exponent, of which the first has index `first`. The index of x >= 0
/// (and of -0) is trunc(x / w), that of x < 0 is -1 - trunc(-x / w): bins are closed on the side of
/// zero. In bins twice as wide index i becomes i >> 1, exactly. Preconditions: -149 <= exponent <=
/// 126, |first| <= 2^24, count is a power of two of at most 2^24.
struct Bins {
  std::int32_t exponent, first, count;
};

/// Statistics beside the bins: the smallest and the largest value with a bin, the number of zeros,
/// and the values without a bin, as they are.
struct Counted {
  static constexpr std::size_t block = 64, capacity = 2 * block;
  Extremes extremes;
  std::uint64_t zeros = 0;
  std::size_t others = 0;
  float other[capacity];

  /// Whether a block of values without bins has room.
  [[nodiscard]] bool has_room() const noexcept { return others <= capacity - block; }
};

namespace detail {
// 2^-exponent.
TQ_FORCE_INLINE double bins_per_unit(std::int32_t exponent) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - exponent) << 52);
}
}  // namespace detail

/// The index of a finite value in bins of width 2^exponent. Precondition: it is below 2^31 in
/// magnitude.
TQ_FORCE_INLINE std::int32_t bin_index(float x, std::int32_t exponent) noexcept {
  const auto steps =
      static_cast<std::int32_t>(static_cast<double>(x) * detail::bins_per_unit(exponent));
  return x < 0.0f ? steps - 1 : steps;
}

namespace detail {
// Element by element, in double: denormal widths have no float reciprocal. `increment` is called
// with an index and the place of its value. Precondition: c has room for n values. Arch is in the
// name, not in the code: one symbol per instruction set.
template <class Arch, bool Absolute, class F>
inline void count_each(const float* x, std::size_t n, const Bins& bins, Counted& c,
                       F&& increment) noexcept {
  const double scale = bins_per_unit(bins.exponent);
  for (std::size_t i = 0; i < n; ++i) {
    const float v = Absolute && x[i] < 0.0f ? -x[i] : x[i];
    const double at = static_cast<double>(v) * scale;
    const bool is_near = at > -0x1p30 && at < 0x1p30;
    const std::int32_t index =
        (is_near ? static_cast<std::int32_t>(at) - (v < 0.0f ? 1 : 0) : 0) - bins.first;
    if (!is_near || index < 0 || index >= bins.count) {
      c.other[c.others++] = x[i];
      continue;
    }
    increment(index, i);
    c.zeros += v == 0.0f ? 1 : 0;
    c.extremes.min = v < c.extremes.min ? v : c.extremes.min;
    c.extremes.max = v > c.extremes.max ? v : c.extremes.max;
  }
}
template <class Arch, bool Absolute>
inline std::size_t count_exactly(const float* x, std::size_t n, const Bins& bins,
                                 std::uint64_t* counts, Counted& c) noexcept {
  std::size_t i = 0;
  for (std::size_t m = 0; i < n && c.has_room(); i += m) {
    m = n - i < Counted::block ? n - i : Counted::block;
    count_each<Arch, Absolute>(x + i, m, bins, c,
                               [&](std::int32_t k, std::size_t) { ++counts[k]; });
  }
  return i;
}
}  // namespace detail

/// `run` counts values (`Absolute`: their magnitudes), puts those that are NaN, infinite or outside
/// the bins aside in `c`, and returns how many it has dealt with: all, unless there is no room for
/// more of the latter. `extremes` is min_max of the same values.
template <class Arch>
struct histogram;

/// Without SIMD.
template <>
struct histogram<arch::scalar> {
  template <bool Absolute>
  static std::size_t run(const float* x, std::size_t n, const Bins& bins, std::uint64_t* counts,
                         Counted& c) noexcept {
    return detail::count_exactly<arch::scalar, Absolute>(x, n, bins, counts, c);
  }
  template <bool Absolute>
  static Extremes extremes(const float* x, std::size_t n) noexcept {
    if constexpr (!Absolute) return min_max<arch::scalar>::run(x, n);
    Extremes e;
    constexpr std::size_t part = 256;
    float magnitudes[part];
    for (std::size_t i = 0, m = 0; i < n; i += m) {
      m = n - i < part ? n - i : part;
      for (std::size_t k = 0; k < m; ++k) magnitudes[k] = x[i + k] < 0.0f ? -x[i + k] : x[i + k];
      detail::add_exactly<arch::scalar>(magnitudes, m, e);
    }
    return e;
  }
};

}  // namespace tq::kernels
