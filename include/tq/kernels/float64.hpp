// SPDX-License-Identifier: MIT
#pragma once
// Sources of float64.

#include <tq/arch/lanes.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// float64 by a function of one value.
template <class Rounded>
struct Float64By {
  static constexpr int bits = 64;

  template <class Arch>
  static TQ_FORCE_INLINE float one(const unsigned char* p, std::size_t i) noexcept {
    return Rounded::template of<Arch>(reinterpret_cast<const double*>(p)[i]);
  }
#if TQ_HAS_SIMD
  template <class Arch>
  using registers = arch::floats<Arch>;
  template <class Arch>
  static TQ_FORCE_INLINE void load(const unsigned char* p, arch::floats<Arch> (&v)[4]) noexcept {
    constexpr std::size_t width = arch::width<Arch>;
    alignas(64) float values[4 * width];
    for (std::size_t i = 0; i < 4 * width; ++i) values[i] = one<Arch>(p, i);
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
        arch::floats<Arch>::load_aligned(values + k * width);
  }
#endif
};

struct RoundedToNearest {
  template <class Arch>
  static TQ_FORCE_INLINE float of(double v) noexcept {
    return static_cast<float>(v);
  }
};
/// Toward zero, with the lowest bit set where that is not exact.
struct RoundedToOdd {
  template <class Arch>
  static TQ_FORCE_INLINE float of(double v) noexcept {
    const float nearest = static_cast<float>(v);
    if (static_cast<double>(nearest) == v || v != v) return nearest;
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(v)) --bits;
    return std::bit_cast<float>(bits | 1u);
  }
};

/// float64 rounded to float32, nearest even; what is beyond float32 becomes infinite.
struct Float64 : Float64By<RoundedToNearest> {};

/// float64 as float32 that can be rounded once more, to formats of up to 22 bits, as if it had not
/// been: rounded to odd. What is beyond float32 becomes its largest number.
/// Source: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
/// using rounding to odd", IEEE Transactions on Computers, 2008.
struct Float64Odd : Float64By<RoundedToOdd> {};

}  // namespace tq::kernels
