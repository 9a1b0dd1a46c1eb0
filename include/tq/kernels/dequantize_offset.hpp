// SPDX-License-Identifier: MIT
#pragma once
// The stage that makes real values of codes that are steps from an offset.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/reference.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Integer codes: code * scale + offset, rounded twice on every instruction set. Origins come as
/// the bits of float.
struct DequantizeOffset {
  static constexpr bool takes_origins = true, draws = false;
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;

  template <class Arch>
  static TQ_FORCE_INLINE float one(std::int32_t code, float scale, std::int32_t offset,
                                   std::uint64_t = 0) noexcept {
    return reference::dequantize_offset(code, scale, std::bit_cast<float>(offset));
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Origins, class P>
  static TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::ints<Arch>& code, const P& p,
                                                  std::size_t i, std::size_t k) noexcept {
    const arch::floats<Arch> product = p.scaled(xsimd::to_float(code), i, k);
    if constexpr (!Origins) return product;
    else
      return arch::uncontracted<Arch>(product) +
             arch::bit_cast<float>(arch::ints<Arch>(p.origin(i, k)));
  }
#endif
};

}  // namespace tq::kernels
