// SPDX-License-Identifier: MIT
#pragma once
// Symmetries: which codes are used, and how a range of real numbers becomes a scale and a zero point.

#include <tq/core/element.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>

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

namespace detail {
// x where it is below (above) 0, else 0. Without branches: of many ranges at once.
[[nodiscard]] constexpr double negative_part(double x) noexcept {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return std::bit_cast<double>(bits & (bits >> 63));
}
[[nodiscard]] constexpr double positive_part(double x) noexcept {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return std::bit_cast<double>(bits & ~(bits >> 63));
}
}  // namespace detail

/// The codes a scheme uses, both ends included.
struct CodeRange {
  std::int32_t min, max;
  friend constexpr bool operator==(const CodeRange&, const CodeRange&) = default;
};

/// Zero point 0 and every code of the type: scale = max|x| / qmax, so the lowest code of a signed type
/// lies one step below -max|x|. For unsigned types negative values become 0 (post-ReLU activations).
/// Floats and code books: scale = max|x| / max_finite; those of 16 bits and exponents (E8M0) span so much that they are not
/// scaled unless max|x| is beyond them. Where no code means 0, zeros, and what is too small for a scale, have the scale 0.
struct Symmetric {
  static constexpr bool has_zero_point = false;
  static constexpr std::string_view name = "symmetric";
  template <IntegerElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne>
  [[nodiscard]] static constexpr Affine affine(Range r) {
    const double top = std::max(T::qmin < 0 ? -double{r.min} : 0.0, double{r.max});
    return {detail::degenerate_of_integers<D>::apply(static_cast<float>(top / T::qmax)), 0};
  }
  template <CodedElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {0, (1 << T::bits) - 1};
  }
  template <CodedElement T, DegeneratePolicy D = ScaleOne>
  [[nodiscard]] static constexpr Affine affine(Range r) {
    constexpr double most = double{T::format::max_finite};
    const double top = std::max(-double{r.min}, double{r.max});
    if (most >= 65504 && top <= most) return {1.0f, 0};
    using F = typename T::format;
    const auto scale = static_cast<float>(top / most);
    // Without a code for 0, the scale 1 would make ones of what is next to nothing.
    const bool next_to_nothing = top == 0 || (std::same_as<D, ScaleOne> && !detail::usable_scale(scale));
    if (next_to_nothing && F::decode(F::template encode<Saturate>(0.0f, NearestEven{}, 0)) != 0.0f) return {0.0f, 0};
    return {D::apply(scale), 0};
  }
};

/// As `Symmetric` without the lowest code of a signed type: -qmax to qmax (TensorFlow Lite weights).
struct SymmetricNarrow {
  static constexpr bool has_zero_point = false;
  static constexpr std::string_view name = "symmetric_narrow";
  template <IntegerElement T>
    requires(T::qmin < 0)
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {-T::qmax, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne>
    requires(T::qmin < 0)
  [[nodiscard]] static constexpr Affine affine(Range r) {
    return Symmetric::affine<T, D>(r);
  }
};

/// PyTorch's symmetric schemes: the largest magnitude lies half a step above the highest code, and the middle code, 0 for
/// signed types, is the zero point. scale = max|x| / ((qmax - qmin) / 2). Source: PyTorch, UniformQuantizationObserverBase.
struct SymmetricHalf {
  static constexpr bool has_zero_point = true;
  static constexpr std::string_view name = "symmetric_half";
  template <IntegerElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne>
  [[nodiscard]] static constexpr Affine affine(Range r) {
    const double top = std::max({-double{r.min}, double{r.max}, 0.0});
    const float scale = detail::degenerate_of_integers<D>::apply(static_cast<float>(2 * top / (double{T::qmax} - T::qmin)));
    return {scale, zero_point<T>(r, scale)};
  }
  template <IntegerElement T>
  [[nodiscard]] static constexpr std::int32_t zero_point(Range, float) noexcept {
    return (T::qmin + T::qmax + 1) / 2;
  }
};

/// An integer zero point. The range is extended to contain 0, so real 0 is always a code:
///     scale = (max - min) / (qmax - qmin),  zero_point = clamp(round_half_even(qmin - min / scale)).
struct Asymmetric {
  static constexpr bool has_zero_point = true;
  static constexpr std::string_view name = "asymmetric";
  template <IntegerElement T>
  [[nodiscard]] static constexpr CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <IntegerElement T, DegeneratePolicy D = ScaleOne>
  [[nodiscard]] static Affine affine(Range r) {
    const double lo = detail::negative_part(r.min), hi = detail::positive_part(r.max);
    const float scale = detail::degenerate_of_integers<D>::apply(static_cast<float>((hi - lo) / (double{T::qmax} - T::qmin)));
    return {scale, zero_point<T>(r, scale)};
  }
  /// The zero point of a range whose scale is given: one that was rounded to be stored.
  template <IntegerElement T>
  [[nodiscard]] static std::int32_t zero_point(Range r, float scale) noexcept {
    const double zero = std::nearbyint(T::qmin - detail::negative_part(r.min) / double{scale});
    const double above = T::qmin + detail::positive_part(zero - T::qmin);
    return static_cast<std::int32_t>(T::qmax + detail::negative_part(above - T::qmax));
  }
};

/// A symmetry that element type T can have. A user's own has the four members of `Symmetric`.
template <class S, class T>
concept SymmetryFor = Element<T> && requires(Range r) {
  { S::has_zero_point } -> std::convertible_to<bool>;
  { S::name } -> std::convertible_to<std::string_view>;
  { S::template codes<T>() } -> std::same_as<CodeRange>;
  { S::template affine<T>(r) } -> std::same_as<Affine>;
};

}  // namespace tq
