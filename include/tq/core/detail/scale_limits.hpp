// SPDX-License-Identifier: MIT
#pragma once
// Limits for rounding a scale to be stored: end codes decode to finite values, and zeros stay
// zeros.

#include <tq/core/affine_for.hpp>
#include <tq/core/element.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/numeric/value_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace tq {

namespace detail {

// Whether every code decodes to a finite value under `scale` and the zero point that goes with it.
template <Element T, class S, NumericsPolicy N>
[[nodiscard]] bool is_finite_under([[maybe_unused]] Range r, float scale) {
  if constexpr (S::has_zero_point)
    return is_product_finite(widest_code<T, S>(zero_point_for<T, S, N>(r, scale)), scale);
  else return is_product_finite(widest_code<T, S>(), scale);
}

// Whether real 0 has a code.
template <Element T>
constexpr bool has_zero() noexcept {
  if constexpr (CodedElement<T>)
    return T::format::decode(T::format::template encode<Saturate>(0.0f, NearestEven{}, 0)) == 0.0f;
  else return true;
}

// Whether a scale may be 0, so that all values become it: not of integers, nor where 0 becomes NaN
// (E8M0).
template <Element T>
constexpr bool may_vanish() noexcept {
  if constexpr (CodedElement<T>) {
    const float zero =
        T::format::decode(T::format::template encode<Saturate>(0.0f, NearestEven{}, 0));
    return zero == zero;
  } else {
    return false;
  }
}

// The value of a code; of formats of at most 8 bits from a table.
template <ValueFormat F>
inline constexpr std::array<float, 256> value_table = [] {
  std::array<float, 256> t{};
  for (std::uint32_t c = 0; c < 256; ++c) t[c] = F::decode(c);
  return t;
}();
template <ValueFormat F>
[[nodiscard]] constexpr float value_of(std::uint32_t code) noexcept {
  if constexpr (F::bits <= 8) return value_table<F>[code & 255u];
  else return F::decode(code);
}

// The codes of the next smaller and the next larger value, of those of positive values; of the last
// ones themselves.
template <ValueFormat F>
constexpr std::uint32_t code_below(std::uint32_t code) noexcept {
  if constexpr (requires { F::order; }) {
    const auto at = std::find(F::order.begin(), F::order.end(), code);
    return at == F::order.begin() ? code : *(at - 1);
  } else {
    return code == 0u ? code : code - 1u;
  }
}
template <ValueFormat F>
constexpr std::uint32_t code_above(std::uint32_t code) noexcept {
  if constexpr (requires { F::order; }) {
    const auto at = std::find(F::order.begin(), F::order.end(), code);
    return at + 1 == F::order.end() ? code : *(at + 1);
  } else {
    return F::decode(code) < F::max_finite ? code + 1u : code;
  }
}

// N as far as scales and zero points depend on it, so that numerics that make the same of a range
// are one type.
template <NumericsPolicy N>
using affine_numerics =
    Numerics<NearestEven, std::conditional_t<divides<typename N::scaling_type>, Divide, Reciprocal>,
             NanToZero, typename N::degenerate_type, Saturate, ExponentFloor,
             typename N::range_arithmetic>;

// Scales that values can meet in numerics N: reciprocals must be finite.
template <NumericsPolicy N>
inline constexpr float least_scale =
    divides<typename N::scaling_type> ? std::numeric_limits<float>::denorm_min() : 0x1.000008p-128f;

}  // namespace detail

/// The conditions that an element under a symmetry sets for stored scales, beside nearness. The
/// default condition is that a positive scale stays positive.
struct ScaleRules {
  float safe = std::numeric_limits<float>::max();  ///< under scales up to this every code decodes
                                                   ///< to a finite value
  bool (*is_finite)(Range, float) =
      nullptr;  ///< whether it does under a larger one, that was made of this range
  float least =
      0.0f;  ///< what is smaller cannot be used: it becomes 0 if it may, else the least that can
  bool has_zero =
      true;  ///< whether real 0 has a code: if not, what rounds to the scale 0 has the scale 0
  bool may_vanish = true;  ///< whether a scale may be 0: not of integers

  /// Whether `scale`, made of `range`, is not too large.
  [[nodiscard]] bool allows(Range range, float scale) const {
    return !(scale > safe) || (is_finite != nullptr && is_finite(range, scale));
  }
  /// Whether `scale` can be stored whatever the range; NaN, which means no numbers, can.
  [[nodiscard]] bool is_plain(float scale) const noexcept {
    return !(scale < least) & !(scale > safe);
  }
};

/// The rules of element T under symmetry S and numerics N.
template <Element T, class S, NumericsPolicy N>
inline constexpr ScaleRules scale_rules{
    detail::always_finite<T, S>, &detail::is_finite_under<T, S, detail::affine_numerics<N>>,
    detail::least_scale<N>, detail::has_zero<T>(), detail::may_vanish<T>()};

namespace detail {
// The code of F next to `code` whose scale, value(code), the rules allow; values ascend with those
// of F. What is too small becomes larger or, where there may be one, 0; what is too large smaller.
template <ValueFormat F, class Value>
[[nodiscard]] std::uint32_t allowed_code(std::uint32_t code, Range range, const ScaleRules& rules,
                                         const Value& value) {
  const auto go = [&](auto next, auto is_there) {
    for (std::uint32_t last = ~code; code != last && !is_there(value(code));) {
      last = code;
      code = next(code);
    }
  };
  if (value(code) < rules.least && !rules.may_vanish)
    go(code_above<F>, [&](float scale) { return scale >= rules.least; });
  else if (value(code) < rules.least) go(code_below<F>, [](float scale) { return !(scale > 0); });
  go(code_below<F>, [&](float scale) { return rules.allows(range, scale); });
  return code;
}

// Whether the rules allow scale_of(value) of all these codes, whatever their ranges.
template <ValueFormat F, class Code, class Scale>
[[nodiscard]] bool are_plain(std::span<const Code> codes, const ScaleRules& rules,
                             const Scale& scale_of) {
  if constexpr (requires {
                  F::max_code;
                  F::smallest_subnormal;
                }) {
    if (!rules.is_plain(scale_of(F::smallest_subnormal))) return false;
    auto last = static_cast<std::uint32_t>(F::max_code);
    for (std::uint32_t first = 0; first < last;) {  // the last code that they allow
      const std::uint32_t middle = (first + last + 1) / 2;
      if (rules.is_plain(scale_of(value_of<F>(middle)))) first = middle;
      else last = middle - 1;
    }
    unsigned beyond = 0;  // of all codes first: a loop for vectors
    for (const Code code : codes) beyond |= code > last ? 1u : 0u;
    return beyond == 0;
  } else {
    return false;
  }
}

// Codes of scales, which stand for scale_of(value), become the next that their rules allow.
template <ValueFormat F, class Code, class Scale>
void keep_rules(std::span<Code> codes, std::span<const Range> ranges, const ScaleRules& rules,
                const Scale& scale_of) {
  if (are_plain<F>(std::span<const Code>(codes), rules, scale_of)) return;
  const auto value = [&](std::uint32_t code) { return scale_of(value_of<F>(code)); };
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (!rules.is_plain(value(codes[i])))
      codes[i] = static_cast<Code>(
          allowed_code<F>(codes[i], ranges.empty() ? Range{} : ranges[i], rules, value));
}
}  // namespace detail

}  // namespace tq
