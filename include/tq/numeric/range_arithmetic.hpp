// SPDX-License-Identifier: MIT
#pragma once
// Range arithmetics: how a scale and a zero point or an offset come of a range, and codes of 32
// bits of a zero point, as peers compute them.

#include <tq/config.hpp>
#include <tq/numeric/rounding.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tq {

/// In double, each rounded once: the float nearest to the exact scale, and the zero point nearest
/// to the exact one.
struct RangeInDouble {
  static constexpr std::string_view name = "range_in_double";
  [[nodiscard]] static constexpr float scale(float lo, float hi, double steps) noexcept {
    return static_cast<float>((double(hi) - double(lo)) / steps);
  }
  [[nodiscard]] static double zero_point(float lo, float scale, double qmin) noexcept {
    return std::nearbyint(qmin - double(lo) / double(scale));
  }
  [[nodiscard]] static constexpr float offset(float lo, float scale, double qmin) noexcept {
    return static_cast<float>(double(lo) - qmin * double(scale));
  }
  [[nodiscard]] static constexpr double plus(float steps, std::int32_t zero_point) noexcept {
    return double(steps) + zero_point;
  }
};

/// In float32, step by step. Where hi - lo overflows, half of it does not.
/// Source: ONNX DynamicQuantizeLinear; ONNX Runtime, `GetQuantizationParameter`.
struct RangeInFloat {
  static constexpr std::string_view name = "range_in_float";
  [[nodiscard]] static constexpr float scale(float lo, float hi, double steps) noexcept {
    // 1, or 2^-1 where the width overflows: without a branch, and so that products with it are
    // exact.
    const auto overflows =
        static_cast<std::uint32_t>(!(hi - lo <= std::numeric_limits<float>::max()));
    const auto part = std::bit_cast<float>(0x3f800000u - (overflows << 23));
    return (hi * part - lo * part) / (static_cast<float>(steps) * part);
  }
  [[nodiscard]] static float zero_point(float lo, float scale, double qmin) noexcept {
    return std::nearbyint(static_cast<float>(qmin) - lo / scale);
  }
  [[nodiscard]] static constexpr float offset(float lo, float scale, double qmin) noexcept {
    return lo - detail::uncontracted(static_cast<float>(qmin) * scale);
  }
  [[nodiscard]] static constexpr double plus(float steps, std::int32_t zero_point) noexcept {
    return double(steps) + zero_point;
  }
};

/// As `RangeInFloat`, but lo / scale is rounded before it is taken from qmin, and codes of 32 bits
/// are sums in float32 too. Source: PyTorch, `UniformQuantizationObserverBase._calculate_qparams`,
/// `quantize_per_tensor`.
struct RangeInFloatRoundFirst {
  static constexpr std::string_view name = "range_in_float_round_first";
  [[nodiscard]] static constexpr float scale(float lo, float hi, double steps) noexcept {
    return RangeInFloat::scale(lo, hi, steps);
  }
  [[nodiscard]] static float zero_point(float lo, float scale, double qmin) noexcept {
    return static_cast<float>(qmin) - std::nearbyint(lo / scale);
  }
  [[nodiscard]] static constexpr float offset(float lo, float scale, double qmin) noexcept {
    return RangeInFloat::offset(lo, scale, qmin);
  }
  [[nodiscard]] static constexpr double plus(float steps, std::int32_t zero_point) noexcept {
    return double(steps + static_cast<float>(zero_point));
  }
};

/// The scale under which [lo, hi] is `steps` steps long, finite where they are two or more; the
/// code of 0 under a scale, where lo is that of `qmin`, an integer that may still lie outside the
/// codes; what the code 0 stands for then; and the code of a rounded quotient over a zero point,
/// for codes that float32 does not hold. Model: `RangeInDouble`.
template <class A>
concept RangeArithmetic = requires(float lo, float hi, double n, std::int32_t zero_point) {
  { A::name } -> std::convertible_to<std::string_view>;
  { A::scale(lo, hi, n) } noexcept -> std::same_as<float>;
  { A::zero_point(lo, hi, n) } noexcept -> std::floating_point;
  { A::offset(lo, hi, n) } noexcept -> std::same_as<float>;
  { A::plus(lo, zero_point) } noexcept -> std::same_as<double>;
};

}  // namespace tq
