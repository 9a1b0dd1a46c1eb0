// SPDX-License-Identifier: MIT
#pragma once
// Values with their counts: what a histogram keeps as it is, because it lies beyond its bins.

#include <tq/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace tq {

/// A value, and how often it was seen.
struct ValueCount {
  float value = 0;
  std::uint64_t count = 0;
  friend bool operator==(const ValueCount&, const ValueCount&) = default;
};

namespace detail {

// The power of two that is larger than a magnitude; the least magnitude that is not 0 for 0.
[[nodiscard]] inline double next_power(float magnitude) noexcept {
  return magnitude == 0.0f ? 0x1p-149 : std::ldexp(1.0, std::ilogb(magnitude) + 1);
}

/// Up to N different values, none of them 0, in ascending order. What is not used is 0, and there
/// is no padding.
template <std::size_t N>
class outlier_counts {
  static_assert(N % 2 == 0);

 public:
  [[nodiscard]] std::span<const float> values() const noexcept { return {values_.data(), size_}; }
  [[nodiscard]] ValueCount operator[](std::size_t i) const noexcept {
    return {values_[i], counts_[i]};
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint64_t total() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }
  /// Precondition: not empty().
  [[nodiscard]] float least_magnitude() const noexcept {
    float least = std::fabs(values_[0]);
    for (const float v : values()) least = std::min(least, std::fabs(v));
    return least;
  }

  /// Counts a value n times more; false when it is another and there is no room.
  bool add(float v, std::uint64_t n) noexcept {
    const auto end = values_.begin() + size_, at = std::lower_bound(values_.begin(), end, v);
    const auto count = counts_.begin() + (at - values_.begin());
    if (at != end && *at == v) {
      *count += n;
      return true;
    }
    if (size_ == N) return false;
    std::move_backward(at, end, end + 1);
    std::move_backward(count, counts_.begin() + size_, counts_.begin() + size_ + 1);
    *at = v;
    *count = n;
    ++size_;
    return true;
  }
  /// Takes out what is below a limit in magnitude, and calls f(value, count) for each.
  template <class F>
  void take_out_below(double limit, F&& f) noexcept {
    const std::uint32_t before = std::exchange(size_, 0);
    for (std::uint32_t i = 0; i < before; ++i) {
      const float v = std::exchange(values_[i], 0.0f);
      const std::uint64_t n = std::exchange(counts_[i], 0);
      if (double(std::fabs(v)) < limit) {
        f(v, n);
      } else {
        values_[size_] = v;
        counts_[size_++] = n;
      }
    }
  }

  friend bool operator==(const outlier_counts&, const outlier_counts&) = default;

 private:
  std::array<std::uint64_t, N> counts_{};
  std::array<float, N> values_{};
  std::uint32_t size_ = 0, unused_ = 0;
};

// Looks for the least power of two from which on there are at most N different magnitudes, or with
// signs values: from the largest octave down. `walk(octave, see)` calls see(v) for values until
// that is false, for all that are `octave` or more in magnitude at least, and returns whether it
// came to the end; what else there is it may tell by its largest magnitude.
template <std::size_t N, class Walk>
[[nodiscard]] double least_limit(float top, double lowest, Walk&& walk) noexcept {
  while (double(top) >= lowest) {
    const double octave = next_power(top) / 2;
    std::array<float, N> found{};  // no value that is looked for is 0
    std::size_t n = 0;
    top = 0;
    const auto see = [&](float v) {
      const float m = std::fabs(v);
      if (!(m <= std::numeric_limits<float>::max())) return true;
      if (double(m) < octave) {
        top = std::max(top, m);
        return true;
      }
      bool known = false;
      for (const float f : found) known |= f == v;
      if (known) return true;
      if (n == N) return false;
      found[n++] = v;
      return true;
    };
    if (!walk(octave, see)) return 2 * octave;
  }
  return lowest;
}

}  // namespace detail
}  // namespace tq
