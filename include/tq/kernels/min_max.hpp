// SPDX-License-Identifier: MIT
#pragma once
// The smallest and largest finite value of a stretch, with NaN and infinities skipped and counted.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/driver/tuning.hpp>
#include <tq/kernels/extremes.hpp>
#include <tq/kernels/prefetch.hpp>
#include <tq/kernels/short_reductions.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace tq::kernels {

#if TQ_HAS_SIMD

template <class Arch>
struct min_max {
  static Extremes run(const float* x, std::size_t n) noexcept {
    Extremes e;
    Lanes seen;
    const driver::Tuning& tuning = driver::this_machine();
    const bool cached =
        n > chunk &&
        n * sizeof(float) <= tuning.stream_from;  // probably; less may be one row of many
    for (std::size_t i = 0; i < n; i += chunk) {
      const std::size_t count = n - i < chunk ? n - i : chunk;
      if (!cached) ask_for_pages(x + i, count, tuning.pages_ahead);
      if (count < width || !add_chunk(x + i, count, seen))
        detail::add_exactly<Arch>(x + i, count, e);
    }
    const float low = L::lowest(seen.low), high = L::highest(seen.high);
    e.min = low < e.min ? low : e.min;
    e.max = high > e.max ? high : e.max;
    return e;
  }

  static void rows(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                   float* low, float* high) noexcept {
    fours::run(
        x, count, length, stride,
        [&](std::size_t k, const Lanes(&of)[4]) TQ_LAMBDA_INLINE {
          L::lowest4(low + k, of[0].low, of[1].low, of[2].low, of[3].low);
          L::highest4(high + k, of[0].high, of[1].high, of[2].high, of[3].high);
        },
        [&](std::size_t k, const float* at) TQ_LAMBDA_INLINE {
          const Extremes e = run(at, length);
          low[k] = e.min;
          high[k] = e.max;
        });
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
  using Floats = arch::floats<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 8 * width, chunk = 64 * block;
  static constexpr std::size_t capacity = 2048;  // columns whose ends are on the stack

  static constexpr float infinity = std::numeric_limits<float>::infinity();

  // Sums of products with 0 are NaN after a NaN or an infinity. They are looked at after a loop, as
  // a comparison in every step would take one of few mask registers.
  static TQ_FORCE_INLINE void watch(Floats& sum, const Floats& v) noexcept {
    if constexpr (L::has_fma) sum = L::fma(v, Floats(0.0f), sum);
    else sum = sum + v * Floats(0.0f);
  }

  // Smallest and largest values by lane. `strange` is NaN where a NaN or an infinity was among
  // them.
  struct Lanes {
    Floats low = Floats(infinity), high = Floats(-infinity), strange = Floats(0.0f);

    static TQ_FORCE_INLINE Floats batch(const float* x) noexcept {
      return arch::load_once<Arch>(x);
    }
    TQ_FORCE_INLINE void add(const Floats& v) noexcept {
      low = xsimd::min(low, v);
      high = xsimd::max(high, v);
      watch(strange, v);
    }
    TQ_FORCE_INLINE void join(const Lanes& other) noexcept {
      low = xsimd::min(low, other.low);
      high = xsimd::max(high, other.high);
      strange = strange + other.strange;
    }

    struct Watch {
      Floats strange[4] = {Floats(0.0f), Floats(0.0f), Floats(0.0f), Floats(0.0f)};
      TQ_FORCE_INLINE void add(const Lanes (&of)[4]) noexcept {
        TQ_UNROLL for (std::size_t r = 0; r < 4; ++r) strange[r] = strange[r] + of[r].strange;
      }
      TQ_FORCE_INLINE bool all_finite() const noexcept {
        return !L::any_nan(strange[0], strange[1], strange[2], strange[3]);
      }
    };
  };
  using fours = short_reductions<Arch, Lanes>;

  // Eight batches a step. The last batch overlaps the one before. False, and nothing added, when
  // the chunk holds a NaN or an infinity. n is at least a batch.
  static TQ_FORCE_INLINE bool add_chunk(const float* x, std::size_t n, Lanes& seen) noexcept {
    Lanes part[4] = {{}, {}, {}, {}};
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
      const auto batch = [&](std::size_t k)
                             TQ_LAMBDA_INLINE { return arch::load_once<Arch>(x + i + k * width); };
      if constexpr (arch::registers<Arch> == 32) {
        Floats v[8];
        TQ_UNROLL for (std::size_t k = 0; k < 8; ++k) v[k] = batch(k);
        TQ_UNROLL for (std::size_t k = 0; k < 8; ++k) part[k % 4].add(v[k]);
      } else {  // eight besides the twelve of the parts would go to memory and back in every step
        TQ_UNROLL for (std::size_t k = 0; k < 8; ++k) part[k % 4].add(batch(k));
      }
    }
    for (; i < n; i += width)
      part[0].add(Floats::load_unaligned(x + (i + width <= n ? i : n - width)));
    const Lanes all = fours::joined(part);
    if (L::any_nan(all.strange, all.strange, all.strange, all.strange)) return false;
    seen.join(all);
    return true;
  }

  // Four rows at a time meet in registers before they meet the extremes so far; more rows a power
  // of two apart would evict one another from the cache. False, and nothing added, when a value is
  // NaN or infinite.
  static bool add_strip(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                        Extremes* e) noexcept {
    alignas(64) float lo[capacity], hi[capacity];
    for (std::size_t c = 0; c < n; ++c) {
      lo[c] = infinity;
      hi[c] = -infinity;
    }
    Floats strange[4];
    TQ_UNROLL for (Floats& s : strange) s = Floats(0.0f);
    // The next four rows, and where the pages of rows 16 further on are.
    const driver::Tuning& tuning = driver::this_machine();
    const std::ptrdiff_t ahead = tuning.lines_ahead != 0 ? 4 * stride : 0;
    const std::ptrdiff_t pages = n >= 256 && tuning.pages_ahead != 0 ? 16 * stride : 0;
    for (std::size_t r = 0; r < rows; r += 4) {
      const float* row[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k)  // past the end: the last row again
          row[k] = x + static_cast<std::ptrdiff_t>(r + k < rows ? r + k : rows - 1) * stride;
      if (pages != 0) TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) ask_for<1>(row[k], pages);
      for (std::size_t c = 0; c < n; c += width) {
        Floats v[4];
        TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
          if (ahead != 0) ask_for<width>(row[k] + c, ahead);
          v[k] = arch::load_once<Arch>(row[k] + c);
          watch(strange[k], v[k]);
        }
        const Floats low = xsimd::min(xsimd::min(v[0], v[1]), xsimd::min(v[2], v[3]));
        const Floats high = xsimd::max(xsimd::max(v[0], v[1]), xsimd::max(v[2], v[3]));
        xsimd::min(Floats::load_aligned(lo + c), low).store_aligned(lo + c);
        xsimd::max(Floats::load_aligned(hi + c), high).store_aligned(hi + c);
      }
    }
    if (L::any_nan(strange[0], strange[1], strange[2], strange[3])) return false;
    for (std::size_t c = 0; c < n; ++c) {
      e[c].min = lo[c] < e[c].min ? lo[c] : e[c].min;
      e[c].max = hi[c] > e[c].max ? hi[c] : e[c].max;
    }
    return true;
  }
};

#endif

}  // namespace tq::kernels
