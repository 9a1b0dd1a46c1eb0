// SPDX-License-Identifier: MIT
#pragma once
// The number formats of numeric/ on batches, bit for bit: encode (nearest even, no lane NaN) and
// decode.

#include <tq/arch/lanes.hpp>
#include <tq/arch/lookup.hpp>
#include <tq/kernels/codebook_cells.hpp>
#include <tq/kernels/round.hpp>
#include <tq/numeric/codebook_format.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/numeric/fixed_format.hpp>
#include <tq/numeric/float_format.hpp>
#include <tq/numeric/value_format.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#if TQ_HAS_SIMD

namespace tq::kernels {

/// The formats that processors convert themselves.
template <class F>
inline constexpr bool is_half = std::same_as<F, FloatFormat<5, 10, 15, FloatSpecials::ieee>>;
template <class F>
inline constexpr bool is_bfloat16 = std::same_as<F, FloatFormat<8, 7, 127, FloatSpecials::ieee>>;

/// encode<O>(v): the code of every lane. Precondition: no lane is NaN.
/// encode<O>(v, signs): the same with the signs of `signs`, where `takes_signs`.
/// encode<O>(v, rounding, index): the same by any rounding, where `rounds`.
/// decode(c): the value of every lane. Precondition: codes have no bits above the format's, unless
/// `decode_wraps`.
template <class Arch, ValueFormat F>
struct codec;

template <class Arch, int Exponent, int Mantissa, int Bias, FloatSpecials Specials>
struct codec<Arch, FloatFormat<Exponent, Mantissa, Bias, Specials>> {
  using F = FloatFormat<Exponent, Mantissa, Bias, Specials>;
  using L = arch::lanes<Arch>;
  using floats = arch::floats<Arch>;
  using ints = arch::ints<Arch>;
  // Mantissa bits that float32 has more. With float32's own exponents, subnormals need no care.
  static constexpr int extra = 23 - Mantissa;
  static constexpr bool same_exponent = Exponent == 8 && Bias == 127;
  static constexpr std::int32_t lowest = (F::min_exponent + 127) << 23;  // 2^min_exponent as bits

  // The magnitude where the codes end: the largest finite value, or what the code after it would
  // be, which is the code of infinity or NaN already.
  template <OverflowPolicy O>
  static constexpr float limit() noexcept {
    const auto top = std::bit_cast<std::uint32_t>(F::max_finite);
    return F::template saturates<O> ? F::max_finite : std::bit_cast<float>(top + (1u << extra));
  }

  // 2^exponent of a magnitude as bits, not below that of the subnormals.
  static TQ_FORCE_INLINE ints binade(const floats& magnitude) noexcept {
    const ints bits = arch::bit_cast<std::int32_t>(magnitude) & ints(0x7f800000);
    return arch::bit_cast<std::int32_t>(
        xsimd::max(arch::bit_cast<float>(bits), floats(std::bit_cast<float>(lowest))));
  }
  // Where NaN is the code after the largest, that is the sign's bit.
  static constexpr std::int32_t magnitude_mask =
      static_cast<std::int32_t>(F::has_negative_zero ? F::sign_bit : 2 * F::sign_bit) - 1;
  // See encode: even, so that ties stay even.
  static constexpr std::int32_t offset = [] {
    std::int32_t c = 0;
    while (((c + (((extra << 23) + lowest + c) >> extra)) & magnitude_mask) != 0) c += 2;
    return c;
  }();
  // A magnitude's code, of which the low bits count, with the sign of `v`, which 0 may not have.
  static TQ_FORCE_INLINE ints with_sign(const ints& low, const floats& v) noexcept {
    const ints top =
        arch::bit_cast<std::int32_t>(arch::bit_cast<std::uint32_t>(v) >> (32 - F::bits));
    if constexpr (F::has_negative_zero) {  // the sign, and below it bits of v's exponent
      return ints(L::merge(ints(magnitude_mask), low, top));
    } else {
      const ints sign = top & ints(static_cast<std::int32_t>(F::sign_bit)),
                 code = low & ints(magnitude_mask);
      return code | arch::select<Arch>(code == ints(0), ints(0), sign);
    }
  }

  static constexpr bool takes_signs = !same_exponent;

  template <OverflowPolicy O>
  static TQ_FORCE_INLINE ints encode(const floats& v) noexcept {
    return encode<O>(v, v);
  }
  template <OverflowPolicy O>
  static TQ_FORCE_INLINE ints encode(const floats& v, const floats& signs) noexcept {
    if constexpr (same_exponent) {  // the upper bits of float32, rounded; the sign is one of them
      static_assert(F::has_infinity && F::bits == 32 - extra);
      using words = xsimd::batch<std::uint32_t, Arch>;
      const floats top(F::max_finite);
      const words bits = arch::bit_cast<std::uint32_t>(
          F::template saturates<O> ? arch::clamp<Arch>(v, -top, top) : v);
      const words odd = (bits >> extra) & words(1u);
      return arch::bit_cast<std::int32_t>((bits + odd + words((1u << (extra - 1)) - 1u)) >> extra);
    } else {
      const floats magnitude(L::magnitude(v, floats(limit<O>())));
      // Adding 2^(extra + exponent) rounds to the step of the format and leaves the number of steps
      // in the low bits. The code is that number and the exponent's place; what the constants make
      // of its low bits is added with the power.
      const ints power = binade(magnitude) + ints((extra << 23) + offset);
      const floats sum = magnitude + arch::bit_cast<float>(power);
      return with_sign(arch::bit_cast<std::int32_t>(sum) + (power >> extra), signs);
    }
  }

  /// Whether other roundings than nearest even are done on batches.
  static constexpr bool rounds = !same_exponent;

  /// The same by another rounding; `index` is the element index of lane 0.
  template <OverflowPolicy O, Rounding R>
    requires rounds
  static TQ_FORCE_INLINE ints encode(const floats& v, const R& rounding,
                                     std::uint64_t index) noexcept {
    const floats magnitude(L::magnitude(v, floats(limit<O>())));
    const ints exponent = binade(magnitude);
    // Times 2^(Mantissa - exponent), exactly: the value in steps, with its sign.
    const floats steps = magnitude * arch::bit_cast<float>(ints((254 + Mantissa) << 23) - exponent);
    const ints sign =
        arch::bit_cast<std::int32_t>(v) & ints(std::numeric_limits<std::int32_t>::min());
    const ints rounded = round_with<Arch>(
        rounding, arch::bit_cast<float>(arch::bit_cast<std::int32_t>(steps) | sign), index);
    return with_sign(xsimd::abs(rounded) + ((exponent - ints(lowest)) >> extra), v);
  }

  // Bytes whose exponents binary16 has become one of another exponent by moving their bits, but for
  // the codes of NaN where binary16 has numbers.
  static constexpr bool is_like_half = F::bits == 8 && L::has_half && Exponent <= 5 &&
                                       Specials != FloatSpecials::finite &&
                                       (Exponent == 5) == (Specials == FloatSpecials::ieee);
  // False, and nothing decoded, where a block has such codes.
  static TQ_FORCE_INLINE bool decode_like_half(const void* codes, floats (&v)[4]) noexcept
    requires is_like_half
  {
    constexpr int shift = 10 - Mantissa, below_sign = (1 << (F::bits - 1 + shift)) - 1;
    constexpr bool nan_is_negative_zero = Specials == FloatSpecials::negative_zero_nan;
    constexpr int counts = nan_is_negative_zero ? 0xff : 0x7f,
                  nan = nan_is_negative_zero ? 0x80 : 0x7f;
    if (Specials != FloatSpecials::ieee && L::any8(L::load8(codes), counts, nan)) return false;
    L::template widen_half<shift, (-0x8000 | below_sign)>(codes, v);
    constexpr int power = 15 - Bias;
    if constexpr (power != 0)
      TQ_UNROLL for (floats& x : v) x = x * floats(std::bit_cast<float>((127 + power) << 23));
    return true;
  }

  // Every value, where they fit in a register or two.
  static constexpr bool has_table = F::bits <= 4 && arch::has_lookup<Arch>;
  alignas(64) static constexpr std::array<float, (has_table ? 1u << F::bits : 1u)> table = [] {
    std::array<float, (has_table ? 1u << F::bits : 1u)> t{};
    for (std::uint32_t code = 0; code < t.size(); ++code) t[code] = F::decode(code);
    return t;
  }();

  static constexpr bool decode_wraps = has_table && arch::lookup_wraps<Arch, table.size()>;
  static TQ_FORCE_INLINE floats decode(const ints& c) noexcept {
    if constexpr (has_table) return arch::lookup<Arch, table.size()>(table.data(), c);
    else return decode_bits(c);
  }

 private:
  static TQ_FORCE_INLINE floats decode_bits(const ints& c) noexcept {
    const ints magnitude = c & ints(static_cast<std::int32_t>(F::sign_bit - 1u));
    const ints sign = (c & ints(static_cast<std::int32_t>(F::sign_bit))) << (32 - F::bits);
    ints bits = magnitude << extra;
    if constexpr (!same_exponent) {
      // Subnormals get the smallest normal exponent and its hidden bit, which is then taken off
      // again.
      const auto subnormal = magnitude < ints(1 << Mantissa);
      const ints biased = bits + ints((127 - Bias) << 23);
      const floats low =
          arch::bit_cast<float>(biased + ints(1 << 23)) - floats(std::bit_cast<float>(lowest));
      ints out = arch::select<Arch>(subnormal, arch::bit_cast<std::int32_t>(low), biased);
      if constexpr (F::has_nan) {
        const ints special = F::has_infinity ? bits | ints(0x7f800000) : ints(0x7fc00000);
        if constexpr (Specials == FloatSpecials::negative_zero_nan)
          out = arch::select<Arch>(c == ints(static_cast<std::int32_t>(F::sign_bit)), special, out);
        else
          out = arch::select<Arch>(magnitude > ints(static_cast<std::int32_t>(F::max_code)),
                                   special, out);
      }
      bits = out;
    }
    return arch::bit_cast<float>(bits | sign);
  }
};

template <class Arch, CodebookTable Table>
struct codec<Arch, CodebookFormat<Table>> {
  using F = CodebookFormat<Table>;
  using floats = arch::floats<Arch>;
  using ints = arch::ints<Arch>;
  static constexpr std::size_t entries = std::size_t{1} << F::bits;
  static constexpr std::array<float, entries> padded(const auto& from, float rest) noexcept {
    std::array<float, entries> t{};
    for (std::size_t i = 0; i < entries; ++i)
      t[i] = i < from.size() ? static_cast<float>(from[i]) : rest;
    return t;
  }
  alignas(64) static constexpr std::array<float, entries> values =
      padded(F::values, std::numeric_limits<float>::quiet_NaN());
  alignas(64) static constexpr std::array<float, entries> thresholds =
      padded(F::thresholds, std::numeric_limits<float>::infinity());
  alignas(64) static constexpr std::array<float, entries> order = padded(F::order, 0.0f);
  static constexpr bool sorted = [] {
    for (std::size_t i = 0; i < F::size; ++i)
      if (F::order[i] != i) return false;
    return true;
  }();

  template <OverflowPolicy>
  static TQ_FORCE_INLINE ints encode(const floats& v) noexcept {
    if constexpr (F::size > 32)
      if constexpr (CodebookCells<F>::exists) return encode_by_cells(v);
    ints rank(0);
    if constexpr (F::size > 16 || (F::size > 4 && arch::has_lookup<Arch>)) {
      TQ_UNROLL for (std::int32_t step = entries / 2; step > 0; step /= 2) {
        const floats t = arch::lookup<Arch, entries>(thresholds.data(), rank + ints(step - 1));
        rank = rank + arch::int_where<Arch>(v > t, step);
      }
    } else {
      TQ_UNROLL for (const float t : F::thresholds) rank =
          rank + arch::int_where<Arch>(v > floats(t), 1);
    }
    if constexpr (sorted) return rank;
    else return arch::truncate_to_int<Arch>(arch::lookup<Arch, entries>(order.data(), rank));
  }
  static constexpr bool rounds = false, takes_signs = false,
                        decode_wraps = arch::lookup_wraps<Arch, entries>;
  static TQ_FORCE_INLINE floats decode(const ints& c) noexcept {
    return arch::lookup<Arch, entries>(values.data(), c);
  }

 private:
  // A lane at a time: two loads from small tables, where gathering takes eight.
  static TQ_FORCE_INLINE ints encode_by_cells(const floats& v) noexcept {
    using cells = CodebookCells<F>;
    constexpr auto low = static_cast<std::int32_t>(cells::lowest),
                   high = static_cast<std::int32_t>(cells::highest);
    const ints bits = arch::bit_cast<std::int32_t>(v);
    const ints magnitude = xsimd::min(xsimd::max(bits & ints(0x7fffffff), ints(low)), ints(high));
    const ints negative = (bits >> 31) & ints(static_cast<std::int32_t>(cells::per_sign));
    constexpr std::size_t width = arch::width<Arch>;
    alignas(64) float x[width];
    alignas(64) std::int32_t at[width];
    v.store_aligned(x);
    (((magnitude - ints(low)) >> cells::shift) + negative).store_aligned(at);
    TQ_UNROLL for (std::size_t i = 0; i < width; ++i) {
      std::uint32_t rank = cells::first[static_cast<std::size_t>(at[i])];
      rank += x[i] > thresholds[rank] ? 1u : 0u;
      at[i] = sorted ? static_cast<std::int32_t>(rank) : F::order[rank];
    }
    return ints::load_aligned(at);
  }
};

template <class Arch, int Bits, int Fraction>
struct codec<Arch, FixedFormat<Bits, Fraction>> {
  using F = FixedFormat<Bits, Fraction>;
  using floats = arch::floats<Arch>;
  using ints = arch::ints<Arch>;
  template <OverflowPolicy>
  static TQ_FORCE_INLINE ints encode(const floats& v) noexcept {
    const floats top(static_cast<float>(F::max_code));
    const floats steps =
        arch::clamp<Arch>(v * floats(static_cast<float>(1 << Fraction)), -top, top);
    return arch::round_to_int<Arch>(steps) & ints((1 << Bits) - 1);
  }
  static constexpr bool rounds = true, takes_signs = false, decode_wraps = false;
  template <OverflowPolicy, Rounding R>
  static TQ_FORCE_INLINE ints encode(const floats& v, const R& rounding,
                                     std::uint64_t index) noexcept {
    const floats top(static_cast<float>(F::max_code));
    const floats steps =
        arch::clamp<Arch>(v * floats(static_cast<float>(1 << Fraction)), -top, top);
    return round_with<Arch>(rounding, steps, index) & ints((1 << Bits) - 1);
  }
  static TQ_FORCE_INLINE floats decode(const ints& c) noexcept {
    const ints sign(1 << (Bits - 1));
    return xsimd::to_float((c ^ sign) - sign) * floats(F::unit);
  }
};

template <class Arch>
struct codec<Arch, ExponentFormat> {
  using F = ExponentFormat;
  using floats = arch::floats<Arch>;
  using ints = arch::ints<Arch>;
  template <OverflowPolicy O>
  static TQ_FORCE_INLINE ints encode(const floats& v) noexcept {
    constexpr bool magnitudes = std::same_as<O, SaturateFn>;
    const ints raw = arch::bit_cast<std::int32_t>(v) & ints(magnitudes ? 0x7fffffff : -1);
    const ints half = arch::select<Arch>(raw < ints(0x800000), ints(0x3fffff), ints(0x400000));
    const ints code = (raw + half) >> 23;
    const ints top(static_cast<std::int32_t>(F::max_code)), nan(static_cast<std::int32_t>(F::nan));
    const ints bounded =
        arch::select<Arch>(code > top, std::same_as<O, Saturate> ? top : nan, code);
    return magnitudes ? bounded : arch::select<Arch>(raw > ints(0), bounded, nan);
  }
  static constexpr bool rounds = false, takes_signs = false, decode_wraps = false;
  static TQ_FORCE_INLINE floats decode(const ints& c) noexcept {
    const ints bits = arch::select<Arch>(c == ints(0), ints(0x00400000), c << 23);
    return arch::bit_cast<float>(arch::select<Arch>(c == ints(255), ints(0x7fc00000), bits));
  }
};

}  // namespace tq::kernels

#endif
