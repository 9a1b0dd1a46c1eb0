// SPDX-License-Identifier: MIT
#pragma once
// Stages that make real values of codes.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/reference.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Integer codes: (code - zero point) * scale.
struct Dequantize {
  static constexpr bool takes_origins = true, draws = false;
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;

  template <class Arch>
  static TQ_FORCE_INLINE float one(std::int32_t code, float scale, std::int32_t zero_point,
                                   std::uint64_t) noexcept {
    return reference::dequantize(code, scale, zero_point);
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Origins, class P>
  static TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::ints<Arch>& code, const P& p,
                                                  std::size_t i, std::size_t k) noexcept {
    return p.scaled(xsimd::to_float(Origins ? code - p.origin(i, k) : code), i, k);
  }
#endif
};

/// The same of codes of 32 bits, whose difference from a zero point float32 does not hold.
struct DequantizeWide {
  static constexpr bool takes_origins = true, draws = false;
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;

  template <class Arch>
  static TQ_FORCE_INLINE float one(std::int32_t code, float scale, std::int32_t zero_point,
                                   std::uint64_t) noexcept {
    return reference::dequantize_wide(code, scale, zero_point);
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Origins, class P>
  static TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::ints<Arch>& code, const P& p,
                                                  std::size_t i, std::size_t k) noexcept {
    if constexpr (!Origins) {
      return p.scaled(xsimd::to_float(code), i, k);
    } else {
      constexpr std::size_t width = arch::width<Arch>;
      alignas(64) std::int32_t codes[width], zero_points[width];
      alignas(64) float out[width];
      code.store_aligned(codes);
      arch::ints<Arch>(p.origin(i, k)).store_aligned(zero_points);
      for (std::size_t j = 0; j < width; ++j)
        out[j] = reference::dequantize_wide(codes[j], 1.0f, zero_points[j]);
      return p.scaled(arch::floats<Arch>::load_aligned(out), i, k);
    }
  }
#endif
};

/// Codes whose values are read as such: value * scale.
struct Scaled {
  static constexpr bool takes_origins = false, draws = false;
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;

  template <class Arch>
  static TQ_FORCE_INLINE float one(float value, float scale, std::int32_t, std::uint64_t) noexcept {
    return value * scale;
  }
#if TQ_HAS_SIMD
  template <class Arch, bool, class P>
  static TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::floats<Arch>& value, const P& p,
                                                  std::size_t i, std::size_t k) noexcept {
    return p.scaled(value, i, k);
  }
#endif
};

}  // namespace tq::kernels
