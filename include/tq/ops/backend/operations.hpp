// SPDX-License-Identifier: MIT
#pragma once
// Operations: what is done to the elements of a tensor, as a type and its numbers. A backend has a
// kernel for each.

#include <tq/core/element.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/real.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <type_traits>

namespace tq::operation {

/// Real numbers to codes of T, packed by Pack.
template <Real In, Element T, Packing Pack, NumericsPolicy N>
struct Quantize {
  CodeRange range;
  N numerics;
};
/// The same where codes count from float offsets.
template <Real In, Element T, Packing Pack, NumericsPolicy N>
struct QuantizeOffset {
  CodeRange range;
  N numerics;
};

/// Codes to real numbers.
template <Element T, Packing Pack, Real Out>
struct Dequantize {};
template <Element T, Packing Pack, Real Out>
struct DequantizeOffset {};

/// Real numbers to what they become by both.
template <Real In, Element T, Real Out, NumericsPolicy N>
struct FakeQuantize {
  CodeRange range;
  N numerics;
};
template <Real In, Element T, Real Out, NumericsPolicy N>
struct FakeQuantizeOffset {
  CodeRange range;
  N numerics;
};

/// Real numbers to others, rounded once.
template <Real In, Real Out>
struct Copy {};

/// Codes of a number format to float32 times a scale: scales that are quantized themselves.
template <class Format>
struct Decode {};

}  // namespace tq::operation

namespace tq::detail {

// Whether what is too large has more than one answer.
template <Element T>
inline constexpr bool overflows = [] {
  if constexpr (CodedElement<T>) return T::format::has_nan;
  else return false;
}();

// The part of numerics that codes of Params depend on; the rest shares kernels. Dividing by
// powers of two is multiplying.
template <AnyParams Params, NumericsPolicy N>
struct numerics_for {
  static constexpr bool is_coded = CodedParams<Params>,
                        is_wide = sizeof(typename Params::code_type) > 2;
  using scaling =
      std::conditional_t<is_coded && std::same_as<typename Params::scale_type, float8_e8m0fnu>,
                         PowerOfTwo, typename N::scaling_type>;
  using nan = std::conditional_t<std::same_as<typename N::nan_type, NanToMin>, NanToMin, NanToZero>;
  using basic = Numerics<typename N::rounding_type, scaling>;
  using type = Numerics<
      typename N::rounding_type, scaling,
      std::conditional_t<is_coded, typename basic::nan_type, nan>, typename basic::degenerate_type,
      std::conditional_t<overflows<typename Params::type>, typename N::overflow_type,
                         typename basic::overflow_type>,
      typename basic::exponent_rule,
      std::conditional_t<is_wide, typename N::range_arithmetic, typename basic::range_arithmetic>>;
};

// The operation under Params, by the part of numerics that the codes depend on.
template <AnyParams Params, Real In, Packing Pack, NumericsPolicy N>
[[nodiscard]] constexpr auto quantizing(const N& numerics) noexcept {
  using T = typename Params::type;
  using M = typename numerics_for<Params, N>::type;
  using Operation =
      std::conditional_t<OffsetParams<Params>, operation::QuantizeOffset<In, T, Pack, M>,
                         operation::Quantize<In, T, Pack, M>>;
  return Operation{{Params::codes.min, Params::codes.max}, M{numerics.rounding}};
}
template <AnyParams Params, Packing Pack, Real Out>
using dequantizing =
    std::conditional_t<OffsetParams<Params>,
                       operation::DequantizeOffset<typename Params::type, Pack, Out>,
                       operation::Dequantize<typename Params::type, Pack, Out>>;
template <AnyParams Params, Real In, Real Out, NumericsPolicy N>
[[nodiscard]] constexpr auto fake_quantizing(const N& numerics) noexcept {
  using T = typename Params::type;
  using M = typename numerics_for<Params, N>::type;
  using Operation =
      std::conditional_t<OffsetParams<Params>, operation::FakeQuantizeOffset<In, T, Out, M>,
                         operation::FakeQuantize<In, T, Out, M>>;
  return Operation{{Params::codes.min, Params::codes.max}, M{numerics.rounding}};
}

// Bits of a code in memory.
template <Element T, Packing Pack>
inline constexpr int bits_in_memory =
    is_unpacked<Pack, T> ? 8 * static_cast<int>(sizeof(typename T::code_type)) : T::bits;

}  // namespace tq::detail
