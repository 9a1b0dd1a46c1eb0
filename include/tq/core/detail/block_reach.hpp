// SPDX-License-Identifier: MIT
#pragma once
// The reach that the range of a block asks of its codes, and the power of two that takes them
// there.

#include <tq/core/element.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/exponent_format.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace tq::detail {

// The largest magnitude of a range; never -0.
constexpr float magnitude(Range r) noexcept {
  const float top = std::max(-r.min, r.max);
  return top == 0.0f ? 0.0f : top;
}

// The length that codes must reach, and the largest number of steps (or largest value) that codes
// of T under symmetry S have for it. With zero points the length is that of both sides of 0, which
// may be beyond the largest float.
template <bool BothSides>
constexpr auto reach(Range r) noexcept {
  if constexpr (BothSides) return positive_part(double(r.max)) - negative_part(double(r.min));
  else return magnitude(r);
}
template <class T, class S>
constexpr float top_of() noexcept {
  if constexpr (CodedElement<T>) return T::format::max_finite;
  else if constexpr (S::has_zero_point)
    return static_cast<float>(double(S::template codes<T>().max) - S::template codes<T>().min);
  else return static_cast<float>(S::template codes<T>().max);
}

// The same as values, for what is not compiled for every element.
struct CodeReach {
  float top;
  bool both_sides;
  [[nodiscard]] constexpr double of(Range r) const noexcept {
    return both_sides ? reach<true>(r) : double(reach<false>(r));
  }
  // The scale that takes the range there.
  [[nodiscard]] constexpr float scale(Range r) const noexcept {
    return both_sides ? static_cast<float>(reach<true>(r) / double(top)) : reach<false>(r) / top;
  }
};
template <class T, class S>
inline constexpr CodeReach reach_of{top_of<T, S>(), S::has_zero_point};

// The constants of a format for the exponent rules: its own; those of numbers up to `Top`; those of
// a code book, whose scale the rules get in place of the largest magnitude.
struct rule_scale {
  static constexpr int emax = 0, mantissa_bits = 23 - 1;
  static constexpr float max_finite = 1.0f;
};
template <std::uint64_t Top>
struct rule_integer {
  static constexpr int emax = std::bit_width(Top) - 1,
                       mantissa_bits = std::min(emax, rule_scale::mantissa_bits);
  static constexpr float max_finite = static_cast<float>(Top);
};
template <class T, class S>
struct rule_format {
  using type = rule_scale;
};
template <CodedElement T, class S>
  requires requires { T::format::emax; }
struct rule_format<T, S> {
  using type = typename T::format;
};
template <IntegerElement T, class S>
struct rule_format<T, S> {
  static constexpr CodeRange codes = S::template codes<T>();
  using type = rule_integer<static_cast<std::uint64_t>(std::int64_t{codes.max} -
                                                       (S::has_zero_point ? codes.min : 0))>;
};
// Rule E for what reaches `top`, a double where that may be finite and beyond the largest float.
template <ExponentRule E, class F>
[[nodiscard]] constexpr std::uint32_t exponent_code(auto top) noexcept {
  if constexpr (std::same_as<decltype(top), double>)
    if (top > double(std::numeric_limits<float>::max()) && top < 0x1p129)
      return E::template code<F>(static_cast<float>(top / 2)) + 1u;
  return E::template code<F>(static_cast<float>(top));
}

}  // namespace tq::detail
