// SPDX-License-Identifier: MIT
#pragma once
// Symmetries: which codes are used, and how a range of real numbers becomes a scale and a zero
// point or an offset.

#include <tq/core/element.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tq {

/// A closed interval of real numbers.
struct Range {
  float min, max;
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// real = (code - zero_point) * scale.
struct Affine {
  float scale;
  std::int32_t zero_point;
  friend constexpr bool operator==(const Affine&, const Affine&) = default;
};

/// real = code * scale + offset.
struct OffsetAffine {
  float scale, offset;
  friend constexpr bool operator==(const OffsetAffine&, const OffsetAffine&) = default;
};

namespace detail {
// x where it is below (above) 0, else 0. Without branches: of many ranges at once.
template <class X>
using bits_of = std::conditional_t<sizeof(X) == 8, std::int64_t, std::int32_t>;
template <std::floating_point X>
[[nodiscard]] constexpr X negative_part(X x) noexcept {
  const auto bits = std::bit_cast<bits_of<X>>(x);
  return std::bit_cast<X>(bits & (bits >> (8 * sizeof(X) - 1)));
}
template <std::floating_point X>
[[nodiscard]] constexpr X positive_part(X x) noexcept {
  const auto bits = std::bit_cast<bits_of<X>>(x);
  return std::bit_cast<X>(bits & ~(bits >> (8 * sizeof(X) - 1)));
}
}  // namespace detail

/// Zero point 0 and every code of the type: scale = max|x| / qmax, so the lowest code of a signed
/// type lies one step below -max|x|. For unsigned types negative values become 0 (post-ReLU
/// activations). Floats and code books: scale = max|x| / max_finite; those of 16 bits and exponents
/// (E8M0) span so much that they are not scaled unless max|x| is beyond them. Where no code means
/// 0, zeros, and what is too small for a scale, have the scale 0.
struct Symmetric {
  static constexpr bool has_zero_point = false;
  static constexpr std::string_view name = "symmetric";
  template <IntegerElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static constexpr Affine affine(Range r) {
    const float top = detail::positive_part(std::max(T::qmin < 0 ? -r.min : 0.0f, r.max));
    return {detail::degenerate_of_integers<D>::apply(A::scale(0.0f, top, T::qmax)), 0};
  }
  template <CodedElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {0, (1 << T::bits) - 1};
  }
  template <CodedElement T, DegeneratePolicy D = ScaleOne, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static constexpr Affine affine(Range r) {
    using F = typename T::format;
    constexpr double most = double(F::max_finite);
    const double top = detail::positive_part(std::max(-double(r.min), double(r.max)));
    if (most >= 65504 && top <= most) return {1.0f, 0};
    // For float32 operands a quotient in double, rounded to float32, is that of float32: there is
    // one arithmetic.
    const auto scale =
        static_cast<float>(std::min(top / most, double(std::numeric_limits<float>::max())));
    constexpr bool has_zero =
        F::decode(F::template encode<Saturate>(0.0f, NearestEven{}, 0)) == 0.0f;
    if constexpr (!has_zero)
      if (top == 0) return {0.0f, 0};
    const float used = D::apply(scale);
    // Without a code for 0, a scale that is made much larger would make something of what is next
    // to nothing.
    return {has_zero || used <= 2 * scale ? used : 0.0f, 0};
  }
};

/// As `Symmetric` without the lowest code of a signed type: -qmax to qmax (TensorFlow Lite
/// weights).
struct SymmetricNarrow {
  static constexpr bool has_zero_point = false;
  static constexpr std::string_view name = "symmetric_narrow";
  template <IntegerElement T>
    requires(T::qmin < 0)
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {-T::qmax, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne, RangeArithmetic A = RangeInFloat>
    requires(T::qmin < 0)
  [[nodiscard]] static constexpr Affine affine(Range r) {
    return Symmetric::affine<T, D, A>(r);
  }
};

namespace detail {
// PyTorch's symmetric schemes, see below. The middle of signed codes is 0, the one of unsigned
// codes is rounded up or down.
template <bool RoundsUp>
struct HalfStep {
  static constexpr bool has_zero_point = true;
  template <IntegerElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static constexpr Affine affine(Range r) {
    const float top = positive_part(std::max(-r.min, r.max));
    const float scale =
        degenerate_of_integers<D>::apply(A::scale(0.0f, top, (double(T::qmax) - T::qmin) / 2));
    return {scale, zero_point<T>(r, scale)};
  }
  template <IntegerElement T>
  [[nodiscard]] static constexpr std::int32_t zero_point(Range, float) noexcept {
    return (T::qmin + T::qmax + (RoundsUp || T::qmin < 0 ? 1 : 0)) / 2;
  }
};
}  // namespace detail

/// PyTorch's symmetric schemes: the largest magnitude lies half a step above the highest code, and
/// the middle code, 0 for signed types, is the zero point. scale = max|x| / ((qmax - qmin) / 2).
/// Source: PyTorch, UniformQuantizationObserverBase.
struct SymmetricHalf : detail::HalfStep<true> {
  static constexpr std::string_view name = "symmetric_half";
};

/// As `SymmetricHalf` where `quant_min` and `quant_max` are given: the middle of unsigned codes is
/// rounded down.
struct SymmetricHalfDown : detail::HalfStep<false> {
  static constexpr std::string_view name = "symmetric_half_down";
};

/// An integer zero point. The range is extended to contain 0, so real 0 is always a code:
///
///     scale = (max - min) / (qmax - qmin),  zero_point = clamp(round_half_even(qmin - min /
///     scale)).
struct Asymmetric {
  static constexpr bool has_zero_point = true;
  static constexpr std::string_view name = "asymmetric";
  template <IntegerElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static Affine affine(Range r) {
    const float lo = detail::negative_part(r.min), hi = detail::positive_part(r.max);
    const float scale =
        detail::degenerate_of_integers<D>::apply(A::scale(lo, hi, double(T::qmax) - T::qmin));
    return {scale, zero_point<T, A>(r, scale)};
  }
  /// The zero point of a range whose scale is given: one that was rounded to be stored.
  template <IntegerElement T, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static std::int32_t zero_point(Range r, float scale) noexcept {
    // Float32 does not hold every code of the others.
    using In = std::conditional_t<SmallInteger<T>, A, RangeInDouble>;
    return clamped<T>(In::zero_point(detail::negative_part(r.min), scale, T::qmin));
  }

 private:
  template <IntegerElement T, class X>
  [[nodiscard]] static std::int32_t clamped(X zero) noexcept {
    constexpr X qmin = T::qmin, qmax = T::qmax;
    const X above = qmin + detail::positive_part(zero - qmin);
    return static_cast<std::int32_t>(qmax + detail::negative_part(above - qmax));
  }
};

/// No zero point but a real number, the offset, which the code 0 stands for: real = code * scale +
/// offset, as Q4_1 and the K formats of ggml, HQQ and other formats of weights have it. The range
/// is not extended to contain 0, so that real 0 may have no code, and data far from 0 keeps every
/// code:
///
///     scale = (max - min) / (qmax - qmin),  offset = min - qmin * scale.
/// A range within one step has the offset min, which its values are then exactly. Source: ggml,
/// `quantize_row_q4_1_ref`, whose codes are made by the scale before it is stored; here by the
/// stored scale and offset, so that they are the nearest.
struct FloatOffset {
  static constexpr bool has_zero_point = false;
  static constexpr bool has_offset = true;
  static constexpr std::string_view name = "float_offset";
  template <SmallInteger T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <SmallInteger T, DegeneratePolicy D = ScaleOne, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static constexpr float scale(Range r) {
    return detail::degenerate_of_integers<D>::apply(
        A::scale(r.min, r.max, double(T::qmax) - T::qmin));
  }
  /// The offset of a range whose scale is given: one that was rounded to be stored.
  template <SmallInteger T, RangeArithmetic A = RangeInFloat>
  [[nodiscard]] static constexpr float offset(Range r, float scale) noexcept {
    return r.max - r.min < scale ? r.min : A::offset(r.min, scale, T::qmin);
  }
};

/// A symmetry with an offset in place of a zero point. Model: `FloatOffset`.
template <class S>
concept OffsetSymmetry = requires { requires S::has_offset; };

/// A symmetry that element type T can have. A user's own has the four members of `Symmetric`; its
/// `affine` may take fewer template arguments, and know no other scale than its own. One with an
/// offset has the members of `FloatOffset`.
template <class S, class T>
concept SymmetryFor = Element<T> && requires {
  { S::has_zero_point } -> std::convertible_to<bool>;
  { S::name } -> std::convertible_to<std::string_view>;
  { S::template codes<T>() } -> std::same_as<CodeRange>;
} && (requires(Range r) {
                        { S::template affine<T>(r) } -> std::same_as<Affine>;
                      } || (OffsetSymmetry<S> && requires(Range r, float scale) {
                        { S::template scale<T>(r) } -> std::same_as<float>;
                        { S::template offset<T>(r, scale) } -> std::same_as<float>;
                      }));

}  // namespace tq
