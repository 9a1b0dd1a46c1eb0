// SPDX-License-Identifier: MIT
#pragma once
// The smallest and largest finite value of a stretch, with NaN and infinities skipped and counted.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tq::kernels {

/// min > max when no value was finite.
struct Extremes {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  std::uint64_t nan = 0, infinite = 0;
};

namespace detail {
// Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch>
inline void add_exactly(const float* x, std::size_t n, Extremes& e) noexcept {
  constexpr float biggest = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < n; ++i) {
    const float v = x[i];
    if (!(v == v)) {
      ++e.nan;
    } else if (v > biggest || v < -biggest) {
      ++e.infinite;
    } else {
      e.min = v < e.min ? v : e.min;
      e.max = v > e.max ? v : e.max;
    }
  }
}
template <class Arch>
inline void add_columns_exactly(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                                Extremes* e) noexcept {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < n; ++k)
      add_exactly<Arch>(x + static_cast<std::ptrdiff_t>(r) * stride + static_cast<std::ptrdiff_t>(k), 1, e[k]);
}
}  // namespace detail

/// -0 and +0 are not told apart. `columns` takes `rows` lines of `n` values, `stride` apart, and merges
/// line after line into n Extremes.
template <class Arch>
struct min_max;

/// Without SIMD.
template <>
struct min_max<arch::scalar> {
  static Extremes run(const float* x, std::size_t n) noexcept {
    Extremes e;
    detail::add_exactly<arch::scalar>(x, n, e);
    return e;
  }
  static void columns(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                      Extremes* e) noexcept {
    detail::add_columns_exactly<arch::scalar>(x, rows, n, stride, e);
  }
};

#if TQ_HAS_SIMD

template <class Arch>
struct min_max {
  static Extremes run(const float* x, std::size_t n) noexcept {
    if constexpr (!std::same_as<arch::half<Arch>, Arch>)
      if (arch::worth_streaming(n * sizeof(float)) && !arch::loads_whole_registers()) return min_max<arch::half<Arch>>::run(x, n);
    Extremes e;
    for (std::size_t i = 0; i < n; i += chunk) {
      const std::size_t count = n - i < chunk ? n - i : chunk;
      if (count < width || !add_chunk(x + i, count, e)) detail::add_exactly<Arch>(x + i, count, e);
    }
    return e;
  }

  static void columns(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                      Extremes* e) noexcept {
    std::size_t c = 0;
    while (c + width <= n) {
      const std::size_t strip = n - c < capacity ? (n - c) / width * width : capacity;
      const float* at = x + static_cast<std::ptrdiff_t>(c);
      if (!add_strip(at, rows, strip, stride, e + c))
        detail::add_columns_exactly<Arch>(at, rows, strip, stride, e + c);
      c += strip;
    }
    const auto at = static_cast<std::ptrdiff_t>(c);
    detail::add_columns_exactly<Arch>(x + at, rows, n - c, stride, e + at);
  }

 private:
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 8 * width, chunk = 64 * block;
  static constexpr std::size_t capacity = 512;

  // Four rows at a time meet in registers before they meet the extremes so far; more rows a power of two
  // apart would evict one another from the cache. False, and nothing added, when a value is NaN or infinite.
  static bool add_strip(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                        Extremes* e) noexcept {
    alignas(64) float lo[capacity], hi[capacity];
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < n; ++c) {
      lo[c] = infinity;
      hi[c] = -infinity;
    }
    for (std::size_t r = 0; r < rows; r += 4) {
      const float* row[4];
      for (std::size_t k = 0; k < 4; ++k)  // past the end: the last row again
        row[k] = x + static_cast<std::ptrdiff_t>(r + k < rows ? r + k : rows - 1) * stride;
      for (std::size_t c = 0; c < n; c += width) {
        F v[4];
        for (std::size_t k = 0; k < 4; ++k) v[k] = F::load_unaligned(row[k] + c);
        if (L::any_nan(v[0], v[1], v[2], v[3])) return false;
        const F low = xsimd::min(xsimd::min(v[0], v[1]), xsimd::min(v[2], v[3]));
        const F high = xsimd::max(xsimd::max(v[0], v[1]), xsimd::max(v[2], v[3]));
        xsimd::min(F::load_aligned(lo + c), low).store_aligned(lo + c);
        xsimd::max(F::load_aligned(hi + c), high).store_aligned(hi + c);
      }
    }
    for (std::size_t c = 0; c < n; ++c)
      if (lo[c] == -infinity || hi[c] == infinity) return false;
    for (std::size_t c = 0; c < n; ++c) {
      e[c].min = lo[c] < e[c].min ? lo[c] : e[c].min;
      e[c].max = hi[c] > e[c].max ? hi[c] : e[c].max;
    }
    return true;
  }

  // Eight batches a step, in pairs: independent chains hide the latency. Where the processor likes that, the pairs are of
  // the four quarters. The last batch overlaps the one before. False, and nothing added, when the chunk holds a NaN or an
  // infinity. n is at least a batch.
  static TQ_FORCE_INLINE bool add_chunk(const float* x, std::size_t n, Extremes& e) noexcept {
    F lo[4], hi[4];
    for (std::size_t k = 0; k < 4; ++k) lo[k] = hi[k] = F::load_unaligned(x);
    const std::size_t quarter = n / block * 2 * width;
    const bool quarters = arch::reads_pages_side_by_side();
    const std::size_t apart = quarters ? quarter : 2 * width, step = quarters ? 2 * width : block;
    for (std::size_t done = 0, i = 0; done < 4 * quarter; done += block, i += step) {
      F v[8];
      for (std::size_t k = 0; k < 8; ++k) v[k] = F::load_unaligned(x + k / 2 * apart + i + k % 2 * width);
      if (L::any_nan(v[0], v[1], v[2], v[3]) || L::any_nan(v[4], v[5], v[6], v[7])) return false;
      for (std::size_t k = 0; k < 8; ++k) {
        lo[k % 4] = xsimd::min(lo[k % 4], v[k]);
        hi[k % 4] = xsimd::max(hi[k % 4], v[k]);
      }
    }
    for (std::size_t i = 4 * quarter; i < n; i += width) {
      const F v = F::load_unaligned(x + (i + width <= n ? i : n - width));
      if (L::any_nan(v, v, v, v)) return false;
      lo[0] = xsimd::min(lo[0], v);
      hi[0] = xsimd::max(hi[0], v);
    }
    const float least = L::lowest(xsimd::min(xsimd::min(lo[0], lo[1]), xsimd::min(lo[2], lo[3])));
    const float most = L::highest(xsimd::max(xsimd::max(hi[0], hi[1]), xsimd::max(hi[2], hi[3])));
    constexpr float biggest = std::numeric_limits<float>::max();
    if (least < -biggest || most > biggest) return false;
    e.min = least < e.min ? least : e.min;
    e.max = most > e.max ? most : e.max;
    return true;
  }
};

#endif

}  // namespace tq::kernels
