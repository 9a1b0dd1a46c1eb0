// SPDX-License-Identifier: MIT
#pragma once
// Table: parameters as loops read them. Filling it is all that touches how they are stored.

#include <tq/arch/lanes.hpp>
#include <tq/driver/planes.hpp>
#include <tq/driver/reciprocal.hpp>
#include <tq/driver/span.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::driver {

/// Elements that a loop takes at a time.
template <class Arch>
inline constexpr std::size_t block = 32;
#if TQ_HAS_SIMD
template <class Arch>
requires(!std::is_same_v<Arch, arch::scalar>) inline constexpr std::size_t block<Arch> =
    4 * arch::width<Arch>;
#endif

/// The least number of elements that loops know to share a parameter without its being that of the
/// row.
template <class Arch>
inline constexpr std::size_t least_grain =
    std::is_same_v<Arch, arch::scalar> || block<Arch> < 16 ? block<Arch> : 16;

/// Scales, what stands for 1 / scale (inverse + rest) where a kernel `divides`, and zero points or
/// the bits of minimums, which are not there where the planes have none.
template <class Arch>
struct Table {
  static constexpr std::size_t capacity = 4096, padding = 2 * block<Arch>;
  alignas(64) float inverse[capacity + padding];
  alignas(64) float rest[capacity + padding];
  alignas(64) float scale[capacity + padding];
  alignas(64) std::int32_t offset[capacity + padding];
  bool divides;
  bool all_correctable = true;  ///< of the scales that are in it

  explicit Table(bool by_reciprocals) noexcept : divides(by_reciprocals) {}

  /// Entries [at, at + n): n parameters, `stride` apart from number `first` on. After the last ones
  /// `finish` is due.
  TQ_NO_INLINE void read(std::size_t at, const Parameters& p, std::size_t first, std::size_t n,
                         std::size_t stride) noexcept {
    p.scales.read(p.scales.data, first, n, stride, scale + at);
    if (p.offsets.exists()) p.offsets.read(p.offsets.data, first, n, stride, offset + at);
  }

  /// Makes what is made of the first n entries.
  TQ_NO_INLINE void finish(std::size_t n) noexcept {
    if (!divides) return;
    std::fill_n(scale + n, 2 * width, 1.0f);  // the last block reads some that are of no element
    all_correctable = invert(scale, n + width, inverse, rest);
  }

  /// The first n entries.
  void take(const Parameters& p, std::size_t first, std::size_t n, std::size_t stride) noexcept {
    read(0, p, first, n, stride);
    finish(n);
  }

  /// Offsets of 0, for loops that read them wherever there are some.
  TQ_NO_INLINE void take_no_offsets() noexcept { std::memset(offset, 0, sizeof(offset)); }

  /// The first n entries, for elements [begin, begin + n) of row `row`.
  TQ_NO_INLINE void take_lanes(const Parameters& p, std::size_t row, std::size_t begin,
                               std::size_t n) noexcept {
    const std::size_t first = p.first + row * p.row_step;
    if (p.group == 1) {
      take(p, first + begin * p.step, n, p.step);
      return fill_block(n);
    }
    constexpr std::size_t some = 256;
    alignas(64) float scales[some + width], inverses[some + width], rests[some + width];
    std::int32_t offsets[some] = {};
    all_correctable = true;
    for (std::size_t i = begin, end = begin + n; i < end;) {
      const std::size_t group = i / p.group,
                        groups = std::min((end - 1) / p.group - group + 1, some);
      p.scales.read(p.scales.data, first + group * p.step, groups, p.step, scales);
      std::fill_n(scales + groups, width, 1.0f);
      if (p.offsets.exists())
        p.offsets.read(p.offsets.data, first + group * p.step, groups, p.step, offsets);
      if (divides) all_correctable = invert(scales, groups, inverses, rests) && all_correctable;
      for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t length = std::min(p.group - i % p.group, end - i), to = i - begin;
        repeat_one(scale + to, length, scales[g]);
        repeat_one(offset + to, length, offsets[g]);
        if (divides) repeat_one(inverse + to, length, inverses[g]);
        if (divides) repeat_one(rest + to, length, rests[g]);
        i += length;
      }
    }
    fill_block(n);
  }

  /// The first n entries `times` times, one after the other.
  TQ_NO_INLINE void copy(std::size_t n, std::size_t times) noexcept {
    for (std::size_t k = 1; k < times; ++k) {
      std::copy_n(scale, n, scale + k * n);
      std::copy_n(offset, n, offset + k * n);
      if (!divides) continue;
      std::copy_n(inverse, n, inverse + k * n);
      std::copy_n(rest, n, rest + k * n);
    }
    fill_block(n * times);
  }

  /// Each of the first n entries `times` times.
  TQ_NO_INLINE void repeat(std::size_t n, std::size_t times) noexcept {
    for (std::size_t k = n; k-- > 0;) {
      std::fill_n(scale + k * times, times, float(scale[k]));
      std::fill_n(offset + k * times, times, std::int32_t(offset[k]));
      if (!divides) continue;
      std::fill_n(inverse + k * times, times, float(inverse[k]));
      std::fill_n(rest + k * times, times, float(rest[k]));
    }
    fill_block(n * times);
  }

 private:
#if TQ_HAS_SIMD
  static constexpr std::size_t width = block<Arch> / 4;
#else
  static constexpr std::size_t width = 1;
#endif

  // Behind the last entry: see `finish`.
  TQ_FORCE_INLINE void fill_block(std::size_t at) noexcept {
    if (!divides) return;
    std::fill_n(scale + at, block<Arch>, 1.0f);
    std::fill_n(inverse + at, block<Arch>, 1.0f);
    std::fill_n(rest + at, block<Arch>, 0.0f);
  }

  // The reciprocals of n scales, and of some behind them. Whether all of the scales are
  // correctable.
  static bool invert(const float* scales, std::size_t n, float* inverses, float* rests) noexcept {
#if TQ_HAS_SIMD
    if constexpr (!std::is_same_v<Arch, arch::scalar>) {
      using F = arch::floats<Arch>;
      using I = arch::ints<Arch>;
      I low(std::bit_cast<std::int32_t>(1.0f)),
          high = low;  // bits have the order of positive floats
      for (std::size_t k = 0; k < n; k += width) {
        const F s = F::load_unaligned(scales + k), inverse = arch::divide<Arch>(F(1.0f), s);
        inverse.store_unaligned(inverses + k);
        rest_of<Arch>(s, inverse).store_unaligned(rests + k);
        low = xsimd::min(low, arch::bit_cast<std::int32_t>(s));
        high = xsimd::max(high, arch::bit_cast<std::int32_t>(s));
      }
      return !xsimd::any(low < I(std::bit_cast<std::int32_t>(least_correctable))) &&
             !xsimd::any(high > I(std::bit_cast<std::int32_t>(most_correctable)));
    }
#endif
    for (std::size_t k = 0; k < n; ++k) inverses[k] = 1.0f / scales[k], rests[k] = 0.0f;
    return true;
  }

  // And some behind them, which come next or are padding.
  template <class T>
  TQ_FORCE_INLINE static void repeat_one(T* to, std::size_t n, T value) noexcept {
#if TQ_HAS_SIMD
    if constexpr (!std::is_same_v<Arch, arch::scalar>) {
      const xsimd::batch<T, Arch> values(value);
      for (std::size_t k = 0; k < n; k += width) values.store_unaligned(to + k);
      return;
    }
#endif
    std::fill_n(to, n, value);
  }
};

}  // namespace tq::driver
