// SPDX-License-Identifier: MIT
#pragma once
// Table: parameters as loops read them. Filling it is all that touches how they are stored.

#include <tq/arch/lanes.hpp>
#include <tq/driver/span.hpp>

#include <algorithm>
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

/// Scales, and zero points or the bits of minimums, which are not there where the planes have none.
template <class Arch>
struct Table {
  static constexpr std::size_t capacity = 4096, padding = 2 * block<Arch>;
  alignas(64) float scale[capacity + padding];
  alignas(64) std::int32_t offset[capacity + padding];

  /// Entries [at, at + n): n parameters, `stride` apart from number `first` on.
  TQ_NO_INLINE void take(std::size_t at, const Parameters& p, std::size_t first, std::size_t n,
                         std::size_t stride) noexcept {
    p.scales.read(p.scales.data, first, n, stride, scale + at);
    if (p.offsets.exists()) p.offsets.read(p.offsets.data, first, n, stride, offset + at);
  }

  /// Offsets of 0, for loops that read them wherever there are some.
  TQ_NO_INLINE void take_no_offsets() noexcept { std::memset(offset, 0, sizeof(offset)); }

  /// Entries [at, at + n) for elements [begin, begin + n) of row `row`.
  TQ_NO_INLINE void take_lanes(std::size_t at, const Parameters& p, std::size_t row,
                               std::size_t begin, std::size_t n) noexcept {
    const std::size_t first = p.first + row * p.row_step;
    if (p.group == 1) return take(at, p, first + begin * p.step, n, p.step);
    constexpr std::size_t some = 256;
    float scales[some];
    std::int32_t offsets[some] = {};
    for (std::size_t i = begin, end = begin + n; i < end;) {
      const std::size_t group = i / p.group,
                        groups = std::min((end - 1) / p.group - group + 1, some);
      p.scales.read(p.scales.data, first + group * p.step, groups, p.step, scales);
      if (p.offsets.exists())
        p.offsets.read(p.offsets.data, first + group * p.step, groups, p.step, offsets);
      for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t length = std::min(p.group - i % p.group, end - i);
        repeat_one(at + (i - begin), length, scales[g], offsets[g]);
        i += length;
      }
    }
  }

  /// Each of the first n entries `times` times.
  TQ_NO_INLINE void repeat(std::size_t n, std::size_t times) noexcept {
    for (std::size_t k = n; k-- > 0;) {
      std::fill_n(scale + k * times, times, float(scale[k]));
      std::fill_n(offset + k * times, times, std::int32_t(offset[k]));
    }
  }

 private:
  // And some behind them, which come next or are padding.
  TQ_FORCE_INLINE void repeat_one(std::size_t at, std::size_t n, float s, std::int32_t o) noexcept {
#if TQ_HAS_SIMD
    if constexpr (!std::is_same_v<Arch, arch::scalar>) {
      const arch::floats<Arch> scales(s);
      const arch::ints<Arch> offsets(o);
      for (std::size_t k = 0; k < n; k += arch::width<Arch>) {
        scales.store_unaligned(scale + at + k);
        offsets.store_unaligned(offset + at + k);
      }
      return;
    }
#endif
    std::fill_n(scale + at, n, s);
    std::fill_n(offset + at, n, o);
  }
};

/// The plane of numbers in memory as they are: scales of float32, zero points of int32.
template <class Arch, class T>
[[nodiscard]] Plane plain(const T* numbers) noexcept {
  static_assert(sizeof(T) == 4);
  if (numbers == nullptr) return {};
  return {numbers, [](const void* data, std::size_t first, std::size_t n, std::size_t stride,
                      void* out) noexcept {
            const T* from = static_cast<const T*>(data) + first;
            if (stride == 1) std::memcpy(out, from, n * sizeof(T));
            else
              for (std::size_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = from[i * stride];
          }};
}

/// The plane whose only scale is 1.
template <class Arch>
[[nodiscard]] Plane ones() noexcept {
  static constexpr float one = 1.0f;
  return plain<Arch>(&one);
}

}  // namespace tq::driver
