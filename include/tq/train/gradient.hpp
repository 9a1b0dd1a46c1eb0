// SPDX-License-Identifier: MIT
#pragma once
// The concept of a gradient policy: how fake quantization passes a gradient on, to its input and to
// learned parameters.

#include <tq/core/affine_for.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/kernels/gradient_point.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tq {

/// A stateless gradient of fake quantization. `learned` is the number of parameters it learns per
/// slot: 0, 1 or 2. `input(point)` is dL/dx of an element, or of a batch of elements; see
/// kernels::GradientPoint. Smallest model:
///
///     struct Halved {
///       static constexpr std::string_view name = "halved";
///       static constexpr int learned = 0;
///       template <class Point>
///       static auto input(const Point& p) { return p.upstream * 0.5f; }
///     };
template <class G>
concept GradientPolicy =
    std::is_empty_v<G> && requires(const kernels::GradientPoint<float, bool>& p) {
      { G::name } -> std::convertible_to<std::string_view>;
      requires G::learned >= 0 && G::learned <= 2;
      { G::input(p) } -> std::convertible_to<float>;
    };

/// The learned parameters of a slot, or the gradients with respect to them: the first is that of
/// the scale.
struct Learned {
  float first = 0, second = 0;
};

/// Per slot, the sums over its elements of dL/dy times dy/dscale and dy/doffset as the policy has
/// them.
struct SlotSums {
  double scale = 0, offset = 0;
};

/// A gradient that also learns: it gives dy/dscale (and dy/doffset, if two are learned), makes
/// scale and zero point of the learned parameters, and keeps these in their domain. `bounds` are
/// the first and last code. Model: LearnedStep.
template <class G>
concept LearningGradient =
    GradientPolicy<G> && (G::learned > 0) &&
    requires(const kernels::GradientPoint<float, bool>& p, Affine a, Learned l, SlotSums s,
             kernels::Bounds b) {
      { G::scale(p) } -> std::convertible_to<float>;
      { G::start(a, b) } -> std::same_as<Learned>;  // from calibrated parameters
      { G::affine(l, b) } -> std::same_as<Affine>;  // the parameters to quantize with
      { G::gradient(l, b, s, std::size_t{}) } -> std::same_as<Learned>;  // of n elements
      {
        G::keep(l, l, b)
      } -> std::same_as<Learned>;  // what an optimiser's step from the first becomes
    };

namespace detail {

// The code next to a real number, ties to even.
[[nodiscard]] inline std::int32_t nearest_code(float v, kernels::Bounds b) noexcept {
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(v), b.low, b.high));
}

// `scale`, or the largest with which every code, less the zero point, decodes to a finite value.
[[nodiscard]] inline float finite_step(float scale, kernels::Bounds b,
                                       std::int32_t zero_point = 0) noexcept {
  const auto zero = static_cast<float>(zero_point);
  return std::min(scale, largest_scale_for(std::max(b.high - zero, zero - b.low)));
}
// The same with the zero point that goes with the scale.
template <class ZeroPoint>
[[nodiscard]] Affine finite_affine(float scale, kernels::Bounds b,
                                   const ZeroPoint& zero_point) noexcept {
  for (;;) {  // a smaller scale may move the zero point
    const std::int32_t zero = zero_point(scale);
    const float finite = finite_step(scale, b, zero);
    if (!(finite < scale)) return {scale, zero};
    scale = finite;
  }
}

// A policy without what it learns.
template <GradientPolicy G>
struct InputOnly {
  static constexpr std::string_view name = G::name;
  static constexpr int learned = 0;
  template <class Point>
  static auto input(const Point& p) noexcept {
    return G::input(p);
  }
};

// The lowest and the highest value of codes at scale 1, zero points aside.
template <AnyParams Params>
[[nodiscard]] constexpr kernels::Bounds code_bounds() noexcept {
  if constexpr (IntegerParams<Params>) {
    return {static_cast<float>(Params::codes.min), static_cast<float>(Params::codes.max)};
  } else {
    using F = typename Params::type::format;
    if constexpr (requires { F::order; })
      return {F::values[F::order.front()], F::values[F::order.back()]};  // a code book
    else return {-F::max_finite, F::max_finite};
  }
}

}  // namespace detail

/// A gradient that parameters of type Params allow: those that learn set float32 scales, and a zero
/// point where they learn an offset of codes. Their arithmetic is that of float32, which does not
/// hold the codes of int32. Float offsets have none yet.
template <class G, class Params>
concept GradientFor =
    GradientPolicy<G> && AnyParams<Params> && !OffsetParams<Params> &&
    ExactInFloat32<typename Params::type> &&
    (G::learned == 0 ||
     (LearningGradient<G> && std::same_as<typename Params::scale_type, float>)) &&
    (G::learned < 2 || Params::has_zero_point) &&
    (!requires { G::template allows<Params>; } || requires { requires G::template allows<Params>; });

}  // namespace tq
