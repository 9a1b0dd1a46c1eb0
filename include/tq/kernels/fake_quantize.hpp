// SPDX-License-Identifier: MIT
#pragma once
// Stages of fake_quantize: what a number becomes by being quantized and dequantized, without its
// code in memory.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/quotient_simd.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/numeric/numerics.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// (clamp(round(x / scale) + zero point) - zero point) * scale, for codes of a Code.
template <class Code, NumericsPolicy N>
struct FakeQuantize {
  CodeRange range;
  N numerics;

  static constexpr bool takes_origins = true;
  static constexpr bool draws = may_be_stochastic<typename N::rounding_type>;

  template <class Arch>
  TQ_FORCE_INLINE float one(float x, float scale, std::int32_t zero_point,
                            std::uint64_t draw_index) const noexcept {
    const std::int32_t code =
        Quantize<Code, N>{range, numerics}.template one<Arch>(x, scale, zero_point, draw_index);
    if constexpr (sizeof(Code) > 2) return reference::dequantize_wide(code, scale, zero_point);
    else return reference::dequantize(code, scale, zero_point);
  }

#if TQ_HAS_SIMD
 private:
  // Quotients by reciprocals are proven for codes of at most 8 bits.
  static constexpr bool clamps = sizeof(Code) == 1 && has_fast_path<N>;
  // Parameters of their own for all lanes are for quotients that are clamped: what the limits of
  // the codes stand for would be two more products.
  template <class Arch, class P>
  static constexpr Quotient method =
      quotient_with<P>(P::per_lane ? fast_quotient<Arch, N> : fast_clamped_quotient<Arch, N>);

 public:
  template <class Arch>
  static constexpr driver::Divides divides = [] {
    constexpr bool multiplies = std::same_as<typename N::scaling_type, Reciprocal>;
    if (clamps)  // what the limits stand for is finite by correctable scales
      return multiplies ? driver::Divides::by_correctable : driver::Divides::where_correctable;
    return multiplies ? driver::Divides::by_reciprocals : driver::Divides::no;
  }();
  template <class Arch>
  using made = arch::floats<Arch>[4];

  template <class Arch, bool Origins, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t draw_index, const driver::NothingKept&,
                              made<Arch> (&out)[Blocks]) const noexcept {
    static_assert(Blocks == 1);
    if constexpr (sizeof(Code) > 2) return false;
    else if constexpr (clamps) return by_limits<Arch, Origins>(x[0], p, i, out[0]);
    else {
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
        const arch::ints<Arch> zero = Origins ? arch::ints<Arch>(p.origin(i, k)) : 0;
        out[0][k] = p.scaled(
            xsimd::to_float(grid_value<Arch>(exact_quotient<Arch, N>(x[0][k], p, i, k), zero, range,
                                             numerics, draw_index + k * arch::width<Arch>)),
            i, k);
      }
      return true;
    }
  }

 private:
  // Either x is clamped to what the first and the last code stand for, which round to them, so that
  // what is divided is neither infinite nor too large, or the quotient.
  template <class Arch, bool Origins, class P>
  TQ_FORCE_INLINE bool by_limits(const arch::floats<Arch> (&x)[4], const P& p, std::size_t i,
                                 made<Arch>& out) const noexcept {
    using L = arch::lanes<Arch>;
    using Floats = arch::floats<Arch>;
    using I = arch::ints<Arch>;
    Floats v[4], lo[4], hi[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      const I zero = Origins ? I(p.origin(i, k)) : I(0);
      v[k] = x[k];
      lo[k] = xsimd::to_float(I(range.min) - zero);
      hi[k] = xsimd::to_float(I(range.max) - zero);
      if constexpr (P::per_lane) v[k] = quotient<method<Arch, P>, Arch>(v[k], p, i, k);
      else lo[k] = p.scaled(lo[k], i, k), hi[k] = p.scaled(hi[k], i, k);
    }
    if (L::any_nan(v[0], v[1], v[2], v[3])) [[unlikely]]
      return false;
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      v[k] = arch::clamp<Arch>(v[k], lo[k], hi[k]);
      if constexpr (!P::per_lane) v[k] = quotient<method<Arch, P>, Arch>(v[k], p, i, k);
      if constexpr (L::has_fma)  // + 0: codes have no -0
        out[k] = L::fma(arch::round_even<Arch>(v[k]), p.scale(i, k), Floats(0.0f));
      else out[k] = p.scaled(xsimd::to_float(arch::round_to_int<Arch>(v[k])), i, k);
    }
    return true;
  }
#endif
};

/// The value of the code of x / scale in format F, times scale.
template <ValueFormat Format, NumericsPolicy N>
struct FakeEncode {
  N numerics;

  static constexpr bool takes_origins = false;
  static constexpr bool draws = may_be_stochastic<typename N::rounding_type>;

  template <class Arch>
  TQ_FORCE_INLINE float one(float x, float scale, std::int32_t zero_point,
                            std::uint64_t draw_index) const noexcept {
    const std::int32_t code =
        Encode<Format, N>{numerics}.template one<Arch>(x, scale, zero_point, draw_index);
    return reference::decode<Format>(static_cast<std::uint32_t>(code), scale);
  }

#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides = Encode<Format, N>::template divides<Arch>;
  template <class Arch>
  using made = arch::floats<Arch>[4];

  template <class Arch, bool, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t draw_index, const driver::NothingKept&,
                              made<Arch> (&out)[Blocks]) const noexcept {
    static_assert(Blocks == 1);
    using stage = typename encoding<Format, N>::stage;
    using sink = typename encoding<Format, N>::sink;
    if constexpr (converts<Arch>) {
      typename stage::template made<Arch> block[1];
      if (!encoder<stage>().template blocks<Arch, false>(x, p, i, draw_index,
                                                         driver::NothingKept(0), block))
        return false;
      alignas(64) unsigned char codes[sizeof(format_code<Format>) * driver::block<Arch>];
      sink::template put<Arch, false>(codes, block[0]);
      Values<Format>::template load<Arch>(codes, out[0]);
    } else {
      arch::ints<Arch> code[4];
      if (!Encode<Format, N>{numerics}.template encode<Arch>(x[0], p, i, draw_index, code))
        return false;
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) out[0][k] =
          codec<Arch, Format>::decode(code[k]);
    }
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) out[0][k] = p.scaled(out[0][k], i, k);
    return true;
  }

 private:
  // Whether codes in memory become values faster than those in registers.
  template <class Arch>
  static constexpr bool converts = [] {
    if constexpr (is_half<Format>) return arch::lanes<Arch>::has_half;
    else if constexpr (requires { requires codec<Arch, Format>::is_like_half; }) return true;
    else return false;
  }();
  template <class Stage>
  [[nodiscard]] Stage encoder() const noexcept {
    if constexpr (std::is_empty_v<Stage>) return {};
    else return {numerics};
  }
#endif
};

}  // namespace tq::kernels
