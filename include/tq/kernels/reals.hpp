// SPDX-License-Identifier: MIT
#pragma once
// Source of float32, and the stage that leaves values as they are.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

struct Float32 {
  static constexpr int bits = 32;

  template <class Arch>
  static TQ_FORCE_INLINE float one(const unsigned char* p, std::size_t i) noexcept {
    return reinterpret_cast<const float*>(p)[i];
  }
#if TQ_HAS_SIMD
  template <class Arch>
  using registers = arch::floats<Arch>;
  template <class Arch>
  static TQ_FORCE_INLINE void load(const unsigned char* p, arch::floats<Arch> (&v)[4]) noexcept {
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
        arch::load_in_order<Arch>(reinterpret_cast<const float*>(p) + k * arch::width<Arch>);
  }
#endif
};

/// Bit for bit.
struct Same {
  static constexpr bool takes_scales = false, takes_origins = false, draws = false;
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;

  template <class Arch>
  static TQ_FORCE_INLINE float one(float v, float, std::int32_t, std::uint64_t) noexcept {
    return v;
  }
#if TQ_HAS_SIMD
  template <class Arch, bool, class P>
  static TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::floats<Arch>& v, const P&,
                                                  std::size_t, std::size_t) noexcept {
    return v;
  }
#endif
};

}  // namespace tq::kernels
