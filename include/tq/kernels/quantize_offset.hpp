// SPDX-License-Identifier: MIT
#pragma once
// Stage of quantize: real numbers -> integer codes that are steps from an offset.

#include <tq/arch/lanes.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/grid.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/round.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/numeric/numerics.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// clamp(round((x - offset) / scale)) as a Code of 8 or 16 bits; of those that are packed, as one of 8. Offsets come as the
/// bits of float.
template <class Code, NumericsPolicy N>
struct QuantizeOffset {
  static_assert(sizeof(Code) <= 2);
  Codes range;
  N numerics;

  static constexpr bool takes_offsets = true;
  static constexpr bool draws = asks_for_place<typename N::rounding_type>;

  template <class Arch>
  TQ_FORCE_INLINE std::int32_t one(float x, float scale, std::int32_t offset,
                                   std::uint64_t place) const noexcept {
    return reference::quantize_offset(x, {scale, std::bit_cast<float>(offset), range.min, range.max}, numerics, place);
  }

#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides =
      std::same_as<typename N::scaling_type, Reciprocal> ? driver::Divides::by_reciprocals : driver::Divides::no;

  template <class Arch>
  using made = typename code_block<Arch, sizeof(Code)>::type;

  template <class Arch, bool Offsets, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t place, const auto&, made<Arch> (&out)[Blocks]) const noexcept {
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b)
        one_block<Arch, Offsets>(x[b], p, i + b * driver::block<Arch>, place + b * driver::block<Arch>, out[b]);
    return true;
  }

 private:
  template <class Arch, bool Offsets, class P>
  TQ_FORCE_INLINE void one_block(const arch::floats<Arch> (&x)[4], const P& p, std::size_t i, std::uint64_t place,
                                 made<Arch>& out) const noexcept {
    using L = arch::lanes<Arch>;
    using F = arch::floats<Arch>;
    constexpr bool to_min = std::same_as<typename N::nan_type, NanToMin>, is_signed = std::is_signed_v<Code>;
    const F lo(static_cast<float>(range.min)), hi(static_cast<float>(range.max));
    arch::ints<Arch> v[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      F distance = arch::replace_nan<Arch>(x[k], F(0.0f));
      if constexpr (Offsets) distance = distance - arch::bit_cast<float>(arch::ints<Arch>(p.offset(i, k)));
      F q = exact_quotient<Arch, N>(distance, p, i, k);
      if constexpr (to_min) q = xsimd::select(x[k] == x[k], q, lo);
      q = arch::replace_nan<Arch>(q, F(0.0f));
      v[k] = round_with<Arch>(numerics.rounding, arch::clamp<Arch>(q, lo, hi), place + k * arch::width<Arch>);
    }
    if constexpr (sizeof(Code) == 1)
      out = L::template narrow8<is_signed>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3]));
    else L::template narrow16<is_signed>(v, out);
  }
#endif
};

}  // namespace tq::kernels
