// SPDX-License-Identifier: MIT
#pragma once
// Extremes: the smallest and largest finite value of a stretch, with NaN and infinities skipped and
// counted; found without SIMD here, see min_max.hpp.

#include <tq/arch/scalar.hpp>

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
inline void add_columns_exactly(const float* x, std::size_t rows, std::size_t n,
                                std::ptrdiff_t stride, Extremes* e) noexcept {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < n; ++k)
      add_exactly<Arch>(
          x + static_cast<std::ptrdiff_t>(r) * stride + static_cast<std::ptrdiff_t>(k), 1, e[k]);
}
}  // namespace detail

/// -0 and +0 are not told apart. `rows` writes the extremes of each of `count` stretches of
/// `length` values, `stride` apart: `low` above `high` where no value is finite. `columns` takes
/// `rows` lines of `n` values, `stride` apart, and merges line after line into n Extremes.
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
  static void rows(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                   float* low, float* high) noexcept {
    for (std::size_t k = 0; k < count; ++k, x += stride) {
      const Extremes e = run(x, length);
      low[k] = e.min;
      high[k] = e.max;
    }
  }
  static void columns(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                      Extremes* e) noexcept {
    detail::add_columns_exactly<arch::scalar>(x, rows, n, stride, e);
  }
};

}  // namespace tq::kernels
