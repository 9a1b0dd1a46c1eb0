// SPDX-License-Identifier: MIT
#pragma once
// Numerics: how a value becomes a code, as one policy object, and the presets that match peers bit for bit.

#include <tq/error.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tq {

/// v = x / s, the correctly rounded quotient (ONNX, ONNX Runtime).
struct Divide {
  static constexpr std::string_view name = "divide";
  static TQ_FORCE_INLINE float apply(float x, float scale) noexcept { return x / scale; }
};

/// v = x * (1 / s) with 1 / s rounded to float (PyTorch, FBGEMM, XNNPACK); differs from `Divide` near ties.
struct Reciprocal {
  static constexpr std::string_view name = "reciprocal";
  static TQ_FORCE_INLINE float apply(float x, float scale) noexcept { return x * (1.0f / scale); }
};

/// How x and the scale meet. Smallest model: `Divide`.
template <class S>
concept Scaling = requires(float x, float scale) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::apply(x, scale) } noexcept -> std::same_as<float>;
};

/// NaN becomes the code of real 0.
struct NanToZero {
  static constexpr std::string_view name = "nan_to_zero";
};
/// NaN becomes the lowest code.
struct NanToMin {
  static constexpr std::string_view name = "nan_to_min";
};
/// NaN makes the checked operations throw `errc::not_finite` before anything is written.
struct NanRaises {
  static constexpr std::string_view name = "nan_raises";
};

template <class N>
concept NanPolicy = std::same_as<N, NanToZero> || std::same_as<N, NanToMin> || std::same_as<N, NanRaises>;

namespace detail {
// True when `scale` can divide: positive, and neither it nor its reciprocal overflows.
constexpr bool usable_scale(float scale) noexcept {
  constexpr float biggest = std::numeric_limits<float>::max();
  return scale > 0.0f && scale <= biggest && 1.0f / scale <= biggest;
}
}  // namespace detail

/// An unusable scale (zero range, or 1/s not finite) becomes 1, so that zeros stay zeros.
struct ScaleOne {
  static constexpr std::string_view name = "scale_one";
  static constexpr float apply(float scale) noexcept { return detail::usable_scale(scale) ? scale : 1.0f; }
};
/// Scales are at least 2^-23 (PyTorch observers).
struct ScaleEpsilon {
  static constexpr std::string_view name = "scale_epsilon";
  static constexpr float apply(float scale) noexcept { return scale > 0x1p-23f ? scale : 0x1p-23f; }
};
/// An unusable scale becomes 0.1 (FBGEMM).
struct ScaleTenth {
  static constexpr std::string_view name = "scale_tenth";
  static constexpr float apply(float scale) noexcept { return detail::usable_scale(scale) ? scale : 0.1f; }
};
/// An unusable scale throws `errc::bad_scale`.
struct ScaleRaises {
  static constexpr std::string_view name = "scale_raises";
  static float apply(float scale) {
    if (!detail::usable_scale(scale))
      raise(errc::bad_scale, "tq::ScaleRaises: expected a range with a usable scale, got scale " +
                                 std::to_string(scale));
    return scale;
  }
};

/// What to do with the scale of a degenerate range. Smallest model: `ScaleOne`.
template <class D>
concept DegeneratePolicy = requires(float scale) {
  { D::name } -> std::convertible_to<std::string_view>;
  { D::apply(scale) } -> std::same_as<float>;
};

/// Everything that decides which code a value gets:
///     q = clamp(round(scaling(x, s)), qmin - z, qmax - z) + z.
template <Rounding R = NearestEven, Scaling S = Divide, NanPolicy N = NanToZero,
          DegeneratePolicy D = ScaleOne>
struct Numerics {
  using rounding_type = R;
  using scaling_type = S;
  using nan_type = N;
  using degenerate_type = D;
  R rounding{};
};

namespace detail {
template <class T>
inline constexpr bool is_numerics = false;
template <class R, class S, class N, class D>
inline constexpr bool is_numerics<Numerics<R, S, N, D>> = true;
}  // namespace detail

template <class T>
concept NumericsPolicy = detail::is_numerics<T>;

/// Presets, each bit for bit what the named peer computes.
namespace numerics {
/// ONNX QuantizeLinear, ONNX Runtime (the default).
using onnx = Numerics<>;
/// torch.quantize_per_tensor, torch.quantize_per_channel, torch.fake_quantize_*.
using torch = Numerics<NearestEven, Reciprocal, NanToZero, ScaleEpsilon>;
}  // namespace numerics

}  // namespace tq
