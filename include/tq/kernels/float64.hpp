// SPDX-License-Identifier: MIT
#pragma once
// Source of float64.

#include <tq/arch/lanes.hpp>

#include <cstddef>

namespace tq::kernels {

/// float64 rounded to float32, nearest even; what is beyond float32 becomes infinite.
struct Float64 {
  static constexpr int bits = 64;

  template <class Arch>
  static TQ_FORCE_INLINE float one(const unsigned char* p, std::size_t i) noexcept {
    return static_cast<float>(reinterpret_cast<const double*>(p)[i]);
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

}  // namespace tq::kernels
