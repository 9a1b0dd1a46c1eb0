// SPDX-License-Identifier: MIT
#pragma once
// Numerics: how a value becomes a code, as one policy object, and the presets that match peers bit
// for bit.

#include <tq/error.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/numeric/float_format.hpp>
#include <tq/numeric/overflow.hpp>
#include <tq/numeric/range_arithmetic.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace tq {

/// v = x / s, the correctly rounded quotient (ONNX, ONNX Runtime).
struct Divide {
  static constexpr std::string_view name = "divide";
  static TQ_FORCE_INLINE float apply(float x, float scale) noexcept { return x / scale; }
};

/// v = x * (1 / s) with 1 / s rounded to float (PyTorch, FBGEMM, XNNPACK); differs from `Divide`
/// near ties.
struct Reciprocal {
  static constexpr std::string_view name = "reciprocal";
  static TQ_FORCE_INLINE float apply(float x, float scale) noexcept { return x * (1.0f / scale); }
};

/// v = x / s rounded to `Format`: the division of two numbers of that format (ONNX QuantizeLinear
/// with `precision` float16 or bfloat16). float32 has more than twice the digits of those, so
/// rounding its quotient rounds once in effect.
template <class Format>
struct DivideIn {
  static constexpr std::string_view name = "divide_in";
  static TQ_FORCE_INLINE float apply(float x, float scale) noexcept {
    return Format::decode(Format::template encode<NonSaturate>(x / scale, NearestEven{}, 0));
  }
};

/// v = x * (1 / s) where s is a power of two: both are exact, so this is `Divide` without its cost.
/// Operations use it for scales of type float8_e8m0fnu.
struct PowerOfTwo {
  static constexpr std::string_view name = "power_of_two";
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
struct RaiseNan {
  static constexpr std::string_view name = "nan_raises";
};
using NanRaises [[deprecated("this is tq::RaiseNan")]] = RaiseNan;

template <class N>
concept NanPolicy =
    std::same_as<N, NanToZero> || std::same_as<N, NanToMin> || std::same_as<N, RaiseNan>;

namespace detail {
// True when `scale` can divide: positive, and neither it nor its reciprocal overflows, as that of
// 2^-128 does, but not that of the float after it. Without branches: of many scales at once.
constexpr bool usable_scale(float scale) noexcept {
  return (scale > 0x1p-128f) & (scale <= std::numeric_limits<float>::max());
}
// `other` where `scale` is too small to be used, or no number; too large is not too small: then it
// is the largest float.
constexpr float usable_or(float other, float scale) noexcept {
  constexpr float most = std::numeric_limits<float>::max();
  const float finite = scale > most ? most : scale;
  return finite > 0x1p-128f ? finite : other;
}
}  // namespace detail

// A scale is unusable that is 0 or, unless values are divided by it, has a reciprocal that is not
// finite. One that overflowed becomes the largest there is.

/// An unusable scale becomes 1, so that zeros stay zeros.
struct ScaleOne {
  static constexpr std::string_view name = "scale_one";
  static constexpr float apply(float scale) noexcept { return detail::usable_or(1.0f, scale); }
};
/// An unusable scale becomes 0, and every value of the block with it (bitsandbytes, GGUF). Integers
/// have no such scale: for them it is `ScaleOne`.
struct ScaleZero {
  static constexpr std::string_view name = "scale_zero";
  static constexpr float apply(float scale) noexcept { return detail::usable_or(0.0f, scale); }
};
/// Scales are at least 2^-23 (PyTorch observers).
struct ScaleEpsilon {
  static constexpr std::string_view name = "scale_epsilon";
  static constexpr float apply(float scale) noexcept {
    return scale > 0x1p-23f ? detail::usable_or(0x1p-23f, scale) : 0x1p-23f;
  }
};
/// An unusable scale becomes 0.1 (FBGEMM).
struct ScaleTenth {
  static constexpr std::string_view name = "scale_tenth";
  static constexpr float apply(float scale) noexcept { return detail::usable_or(0.1f, scale); }
};
/// An unusable scale, and one that overflowed, throws `errc::bad_scale`.
struct ScaleRaises {
  static constexpr std::string_view name = "scale_raises";
  static float apply(float scale) {
    if (!detail::usable_scale(scale))
      detail::raise_expected(errc::bad_scale, "tq::ScaleRaises", {"a range with a usable scale"},
                             {"scale ", scale});
    return scale;
  }
};

namespace detail {
template <class D>
struct Divided;
template <class D>
struct of_integers {
  using type = D;
};
template <>
struct of_integers<ScaleZero> {
  using type = ScaleOne;
};
template <>
struct of_integers<Divided<ScaleZero>> {
  using type = Divided<ScaleOne>;
};
template <class D>
using degenerate_of_integers = typename of_integers<D>::type;
}  // namespace detail

/// The rule for the scale of a degenerate range. Smallest model: `ScaleOne`.
template <class D>
concept DegeneratePolicy = requires(float scale) {
  { D::name } -> std::convertible_to<std::string_view>;
  { D::apply(scale) } -> std::same_as<float>;
};

/// Everything that decides which code a value gets:
///
///     q = clamp(round(scaling(x, s)), qmin - z, qmax - z) + z   of integers,
///     q = encode(scaling(x, s))                                 of floats and code books;
/// `O` is the overflow rule of floats, `E` the rule for scales that are powers of two, `A` makes
/// scales and zero points of ranges. NaN policies are those of integers: formats with NaN keep it.
template <Rounding R = NearestEven, Scaling S = Divide, NanPolicy N = NanToZero,
          DegeneratePolicy D = ScaleOne, OverflowPolicy O = Saturate,
          ExponentRule E = ExponentFloor, RangeArithmetic A = RangeInFloat>
struct Numerics {
  using rounding_type = R;
  using scaling_type = S;
  using nan_type = N;
  using degenerate_type = D;
  using overflow_type = O;
  using exponent_rule = E;
  using range_arithmetic = A;
  R rounding{};
};

namespace detail {
template <class T>
inline constexpr bool is_numerics = false;
template <class R, class S, class N, class D, class O, class E, class A>
inline constexpr bool is_numerics<Numerics<R, S, N, D, O, E, A>> = true;
}  // namespace detail

template <class T>
concept NumericsPolicy = detail::is_numerics<T>;

namespace detail {
// N with another scaling, and with another degenerate policy.
template <NumericsPolicy N, Scaling S>
using with_scaling =
    Numerics<typename N::rounding_type, S, typename N::nan_type, typename N::degenerate_type,
             typename N::overflow_type, typename N::exponent_rule, typename N::range_arithmetic>;
template <NumericsPolicy N, DegeneratePolicy D>
using with_degenerate =
    Numerics<typename N::rounding_type, typename N::scaling_type, typename N::nan_type, D,
             typename N::overflow_type, typename N::exponent_rule, typename N::range_arithmetic>;

// D where values are divided by scales: what only a reciprocal cannot do is then no reason to do
// without, so that 0 alone is.
template <class D>
struct Divided : D {
  static constexpr float apply(float scale) noexcept(noexcept(D::apply(scale))) {
    constexpr float most = std::numeric_limits<float>::max();
    if constexpr (!noexcept(D::apply(scale))) {
      return scale > 0.0f && scale <= most ? scale : D::apply(scale);
    } else {
      const float finite = scale > most ? most : scale;
      return finite > 0.0f ? finite : D::apply(0.0f);
    }
  }
};
template <class D>
inline constexpr bool is_about_use = std::same_as<D, ScaleOne> || std::same_as<D, ScaleZero> ||
                                     std::same_as<D, ScaleTenth> || std::same_as<D, ScaleRaises>;
template <class S>
inline constexpr bool divides = std::same_as<S, Divide>;
template <class Format>
inline constexpr bool divides<DivideIn<Format>> = true;
// The degenerate policy of N, which knows how values meet scales.
template <NumericsPolicy N>
using degenerate_of =
    std::conditional_t<is_about_use<typename N::degenerate_type> &&
                           divides<typename N::scaling_type>,
                       Divided<typename N::degenerate_type>, typename N::degenerate_type>;
}  // namespace detail

/// Presets, each bit for bit what the named peer computes of finite values; scales are finite as
/// `affine_for` says. The guide of the numeric contract
/// lists the remaining differences.
namespace numerics {
/// ONNX QuantizeLinear and DynamicQuantizeLinear of opsets 10 to 25, onnx 1.23, ONNX Runtime 1.32
/// (the default).
using onnx = Numerics<>;
/// The same where x and scale are float16: the reference of onnx, and ONNX Runtime from opset 23
/// on, divide in float16.
using onnx_float16 = Numerics<NearestEven, DivideIn<FloatFormat<5, 10, 15, FloatSpecials::ieee>>>;
/// PyTorch 2.12 to 2.15: torch.quantize_per_tensor, torch.quantize_per_channel,
/// torch.fake_quantize_*; observers; Tensor.to(torch.float8_*).
using torch = Numerics<NearestEven, Reciprocal, NanToZero, ScaleEpsilon, SaturateFn, ExponentFloor,
                       RangeInFloatRoundFirst>;
/// PyTorch 1.13 to 2.11, whose Tensor.to(torch.float8_e4m3fn) makes NaN of what is too large.
using torch_2_11 = Numerics<NearestEven, Reciprocal, NanToZero, ScaleEpsilon, NonSaturate,
                            ExponentFloor, RangeInFloatRoundFirst>;
/// OCP Microscaling v1.0 with its defaults, microxcaling with round=even, torchao; on finite
/// values. A block with NaN or infinities they make a block of NaN, here these do not count for its
/// scale.
using ocp = Numerics<>;
/// bitsandbytes: quantize_4bit, quantize_blockwise.
using bitsandbytes = Numerics<NearestEven, Reciprocal, NanToZero, ScaleZero>;
/// No peer's: the scales and zero points nearest to the exact ones, and correctly rounded
/// quotients.
using exact =
    Numerics<NearestEven, Divide, NanToZero, ScaleOne, Saturate, ExponentFloor, RangeInDouble>;
}  // namespace numerics

}  // namespace tq
