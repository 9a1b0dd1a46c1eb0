// SPDX-License-Identifier: MIT
#pragma once
// Stage of fake_quantize where codes are steps from an offset.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/quantize_offset.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// clamp(round((x - offset) / scale)) * scale + offset, for codes of a Code. Origins come as the
/// bits of float.
template <class Code, NumericsPolicy N>
struct FakeQuantizeOffset {
  CodeRange range;
  N numerics;

  static constexpr bool takes_origins = true;
  static constexpr bool draws = QuantizeOffset<Code, N>::draws;

  template <class Arch>
  TQ_FORCE_INLINE float one(float x, float scale, std::int32_t offset,
                            std::uint64_t draw_index) const noexcept {
    const QuantizeOffset<Code, N> codes{range, numerics};
    return reference::dequantize_offset(codes.template one<Arch>(x, scale, offset, draw_index),
                                        scale, std::bit_cast<float>(offset));
  }

#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides = QuantizeOffset<Code, N>::template divides<Arch>;
  template <class Arch>
  using made = arch::floats<Arch>[4];

  template <class Arch, bool Origins, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t draw_index, const driver::NothingKept&,
                              made<Arch> (&out)[Blocks]) const noexcept {
    static_assert(Blocks == 1);
    const QuantizeOffset<Code, N> codes{range, numerics};
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      const arch::ints<Arch> code =
          codes.template code<Arch, Origins>(x[0][k], p, i, k, draw_index + k * arch::width<Arch>);
      out[0][k] = p.scaled(xsimd::to_float(code), i, k);
      if constexpr (Origins)
        out[0][k] = arch::uncontracted<Arch>(out[0][k]) +
                    arch::bit_cast<float>(arch::ints<Arch>(p.origin(i, k)));
    }
    return true;
  }
#endif
};

}  // namespace tq::kernels
