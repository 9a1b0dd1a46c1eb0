// SPDX-License-Identifier: MIT
#pragma once
// Reductions of many short stretches: four at a time, which share the way across the lanes.

#include <tq/arch/lanes.hpp>

#include <cstddef>

namespace tq::kernels {

#if TQ_HAS_SIMD

/// `Lanes` gathers values by lane, each of them once or more: `batch(p)` prepares the batch at p,
/// add(batch) gathers it, join(other) adds the lanes of `other`. Its `Watch` add()s the lanes of
/// four stretches, and all_finite() is false if a NaN or an infinity was among their values.
template <class Arch, class Lanes>
struct short_reductions {
  static constexpr std::size_t width = arch::width<Arch>;

  /// Reduces `count` stretches of `length` values, `stride` apart, by put(k, lanes) for stretches k
  /// to k + 3, and one(k, p) for a stretch at p that is left over, or shorter than a batch, or was
  /// put but may not be finite.
  template <class Put, class One>
  static TQ_FORCE_INLINE void run(const float* x, std::size_t count, std::size_t length,
                                  std::ptrdiff_t stride, Put&& put, One&& one) noexcept {
    for (std::size_t k = 0; k < count; k += together) {
      const std::size_t n = count - k < together ? count - k : together;
      const float* at = x + static_cast<std::ptrdiff_t>(k) * stride;
      std::size_t done = length >= width ? n / 4 * 4 : 0;
      if (!fours(at, done, length, stride, k, put)) [[unlikely]]
        done = 0;
      for (; done < n; ++done) one(k + done, at + static_cast<std::ptrdiff_t>(done) * stride);
    }
  }

  /// The lanes of one stretch. Precondition: length >= width.
  static TQ_FORCE_INLINE Lanes stretch(const float* x, std::size_t length) noexcept {
    Lanes part[4] = {{}, {}, {}, {}};
    std::size_t i = 0;
    for (; i + 4 * width <= length; i += 4 * width)
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) part[k].add(Lanes::batch(x + i + k * width));
    for (; i + width < length; i += width) part[0].add(Lanes::batch(x + i));
    part[1].add(Lanes::batch(x + length - width));
    return joined(part);
  }

  /// The lanes of all four parts, whose independent chains hide the latency.
  static TQ_FORCE_INLINE Lanes joined(Lanes (&part)[4]) noexcept {
    part[0].join(part[1]);
    part[2].join(part[3]);
    part[0].join(part[2]);
    return part[0];
  }

 private:
  static constexpr std::size_t together = 64;  // stretches until a look at NaN and infinities

  // Gathers four stretches in step.
  static TQ_FORCE_INLINE void short_stretches(const float* x, std::size_t length,
                                              std::ptrdiff_t stride, Lanes (&lanes)[4]) noexcept {
    for (std::size_t i = 0; i + width < length; i += width)
      TQ_UNROLL for (std::ptrdiff_t r = 0; r < 4; ++r) lanes[r].add(
          Lanes::batch(x + r * stride + i));
    TQ_UNROLL for (std::ptrdiff_t r = 0; r < 4; ++r) lanes[r].add(
        Lanes::batch(x + r * stride + length - width));
  }

  // Puts `count` stretches from number `first` on; false if one holds a NaN or an infinity.
  template <class Put>
  static TQ_FORCE_INLINE bool fours(const float* x, std::size_t count, std::size_t length,
                                    std::ptrdiff_t stride, std::size_t first, Put&& put) noexcept {
    typename Lanes::Watch watch;
    for (std::size_t k = 0; k < count; k += 4, x += 4 * stride) {
      Lanes lanes[4] = {{}, {}, {}, {}};
      if (length >= 16 * width)
        TQ_ONE_COPY for (std::ptrdiff_t r = 0; r < 4; ++r) lanes[r] =
            stretch(x + r * stride, length);
      else short_stretches(x, length, stride, lanes);
      watch.add(lanes);
      put(first + k, lanes);
    }
    return watch.all_finite();
  }
};

#endif

}  // namespace tq::kernels
