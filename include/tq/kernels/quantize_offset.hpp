// SPDX-License-Identifier: MIT
#pragma once
// Stage of quantize: real numbers -> integer codes that are steps from an offset.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/quotient_simd.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/round.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// clamp(round((x - offset) / scale)) as a Code of 8 or 16 bits; of those that are packed, as one
/// of
/// 8. Origins come as the bits of float.
template <class Code, NumericsPolicy N>
struct QuantizeOffset {
  static_assert(sizeof(Code) <= 2);
  CodeRange range;
  N numerics;

  static constexpr bool takes_origins = true;
  static constexpr bool draws = may_be_stochastic<typename N::rounding_type>;

  template <class Arch>
  TQ_FORCE_INLINE std::int32_t one(float x, float scale, std::int32_t offset,
                                   std::uint64_t draw_index) const noexcept {
    const reference::OffsetSlot slot{scale, std::bit_cast<float>(offset), range.min, range.max};
    return reference::quantize_offset(x, slot, numerics, draw_index);
  }

#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides =
      std::same_as<typename N::scaling_type, Reciprocal> ? driver::Divides::by_reciprocals
                                                         : driver::Divides::no;

  template <class Arch>
  using made = typename code_block<Arch, sizeof(Code)>::type;

  template <class Arch, bool Origins, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t draw_index, const driver::NothingKept&,
                              made<Arch> (&out)[Blocks]) const noexcept {
    using L = arch::lanes<Arch>;
    constexpr bool is_signed = std::is_signed_v<Code>;
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
      const std::size_t at = b * driver::block<Arch>;
      arch::ints<Arch> v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
          code<Arch, Origins>(x[b][k], p, i + at, k, draw_index + at + k * arch::width<Arch>);
      if constexpr (sizeof(Code) == 1)
        out[b] = L::template narrow8<is_signed>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3]));
      else L::template narrow16<is_signed>(v, out[b]);
    }
    return true;
  }

  /// The codes of register k of the block at element i, whose first element has that index.
  template <class Arch, bool Origins, class P>
  TQ_FORCE_INLINE arch::ints<Arch> code(const arch::floats<Arch>& x, const P& p, std::size_t i,
                                        std::size_t k, std::uint64_t draw_index) const noexcept {
    using Floats = arch::floats<Arch>;
    const Floats lo(static_cast<float>(range.min)), hi(static_cast<float>(range.max));
    Floats v = arch::replace_nan<Arch>(x, Floats(0.0f));
    if constexpr (Origins) v = v - arch::bit_cast<float>(arch::ints<Arch>(p.origin(i, k)));
    v = exact_quotient<Arch, N>(v, p, i, k);
    if constexpr (std::same_as<typename N::nan_type, NanToMin>) v = xsimd::select(x == x, v, lo);
    v = arch::replace_nan<Arch>(v, Floats(0.0f));
    return round_with<Arch>(numerics.rounding, arch::clamp<Arch>(v, lo, hi), draw_index);
  }
#endif
};

}  // namespace tq::kernels
