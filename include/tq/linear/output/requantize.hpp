// SPDX-License-Identifier: MIT
#pragma once
// Requantization: a sum of products times a factor, rounded to an integer. One policy for each
// rounding that peers have; they disagree by one code at and near ties.

#include <tq/arch/batch.hpp>
#include <tq/arch/long_lanes.hpp>
#include <tq/error.hpp>
#include <tq/kernels/nearest_int32.hpp>
#include <tq/linear/output/detail/fixed_point.hpp>
#include <tq/linear/output/fixed_multiplier.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace tq {

/// How a sum becomes a code before its zero point is added. `factor(x, w, y)` is what the scales of
/// x, of weights and of the output make of it, in the peer's arithmetic; `make(factor)` may throw
/// `errc::bad_scale`; `apply(sum, m)` is the rounded product, as far as 32 bits reach. Biases are
/// added to sums before, unless R has `apply(sum, m, bias)` for float32: see `RequantizeTorch`.
/// Smallest model: `RequantizeFloat`.
template <class R>
concept Requantizer =
    requires(float scale, double factor, std::int32_t sum, const typename R::multiplier& m) {
      { R::factor(scale, scale, scale) } -> std::same_as<double>;
      { R::make(factor) } -> std::same_as<typename R::multiplier>;
      { R::apply(sum, m) } -> std::same_as<std::int32_t>;
    };

/// Requantizers that add biases of float32, in steps of the sums.
template <class R>
concept FloatBiasRequantizer =
    Requantizer<R> && requires(float bias, std::int32_t sum, const typename R::multiplier& m) {
      { R::bias(bias, bias, bias, true) } -> std::same_as<float>;
      { R::apply(sum, m, bias) } -> std::same_as<std::int32_t>;
    };

#if TQ_HAS_SIMD
/// Requantizers that have `apply` for lanes of sums, with a multiplier for each, and where R adds
/// biases of float32, one of these.
template <class R, class Arch>
concept LaneRequantizer = Requantizer<R> &&(
    requires(const typename R::multiplier* m, const arch::ints<Arch>& sums) {
      { R::template lanes<Arch>(sums, m) } -> std::same_as<arch::ints<Arch>>;
    } ||
    requires(const typename R::multiplier* m, const float* bias, const arch::ints<Arch>& sums) {
      { R::template lanes<Arch>(sums, m, bias) } -> std::same_as<arch::ints<Arch>>;
    });
#else
template <class R, class Arch>
concept LaneRequantizer = false;
#endif

namespace detail {
[[nodiscard]] constexpr std::int32_t saturated(std::int64_t v) noexcept {
  using limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(v, limits::min(), limits::max()));
}
[[nodiscard]] inline double float_factor(float x, float w, float y) noexcept {
  return static_cast<double>(x * w / y);
}
[[nodiscard]] inline double double_factor(float x, float w, float y) noexcept {
  return static_cast<double>(x) * static_cast<double>(w) / static_cast<double>(y);
}
}  // namespace detail

/// The sum as float32 times a float32, to nearest even: ONNX Runtime, FBGEMM, XNNPACK's fp32 form.
struct RequantizeFloat {
  using multiplier = float;

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::float_factor(x, w, y);
  }
  /// Throws: `errc::bad_scale` for a factor that is negative, or none as float32.
  [[nodiscard]] static float make(double factor) {
    const auto m = static_cast<float>(factor);
    if (!(m >= 0 && m <= std::numeric_limits<float>::max()))
      raise(errc::bad_scale, "tq::RequantizeFloat: expected a finite factor of at least 0, got " +
                                 detail::number_text(m));
    return m;
  }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, float m) noexcept {
    return kernels::NearestInt32::one(static_cast<float>(sum) * m);
  }
};

/// PyTorch on FBGEMM: as `RequantizeFloat`, with a bias that stays float32 and is added in steps of
/// the sums, before the factor. Where FBGEMM's AVX2 code gives 0 for products of 2^31 or more, this
/// gives the largest code, as its generic code does.
struct RequantizeTorch {
  using multiplier = float;

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::float_factor(x, w, y);
  }
  /// Throws: as `RequantizeFloat::make`.
  [[nodiscard]] static float make(double factor) { return RequantizeFloat::make(factor); }
  /// A bias in steps of the sums, for the scales of x and of weights: a quotient, or, where `one`
  /// scale serves all outputs, a product with the rounded reciprocal. A bias of 0 is 0 of any
  /// steps; others are infinite where the step is 0 or too small. Source: FBGEMM,
  /// QuantUtilsAvx2.cc.
  [[nodiscard]] static float bias(float bias, float x, float w, bool one) noexcept {
    const float step = x * w;
    if (bias == 0) return bias;
    if (!one) return bias / step;
    return detail::uncontracted(bias * static_cast<float>(1.0 / static_cast<double>(step)));
  }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, float m, float bias = 0) noexcept {
    return kernels::NearestInt32::one((static_cast<float>(sum) + bias) * m);
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(!std::same_as<Arch, arch::scalar>)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums, const float* m,
                                              const float* bias) noexcept {
    using Floats = arch::floats<Arch>;
    const Floats v =
        (xsimd::to_float(sums) + Floats::load_unaligned(bias)) * Floats::load_unaligned(m);
    return kernels::NearestInt32::lanes<Arch>(v);
  }
#endif
};

/// gemmlowp and TensorFlow Lite: the high half of the doubled product, a tie up, then a shift to
/// the right, a tie away from zero. Rounds twice: 11.499 may become 12.
struct RequantizeDouble {
  using multiplier = FixedMultiplier;

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::double_factor(x, w, y);
  }
  /// Throws: as `FixedMultiplier::of`.
  [[nodiscard]] static FixedMultiplier make(double factor) { return FixedMultiplier::of(factor); }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, const FixedMultiplier& m) noexcept {
    const int left = std::max(m.exponent, 0), right = std::max(-m.exponent, 0);
    return shifted(high_product(detail::saturated(std::int64_t{sum} << left), m.mantissa), right);
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(arch::long_lanes<Arch>::exists)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const FixedMultiplier* m) noexcept {
    return kernels::doubled_products<Arch>(sums, m);
  }
#endif

 private:
  // SaturatingRoundingDoublingHighMul. Its quotient is rounded towards zero, after 2^30 was added
  // to a product, or 1 - 2^30 to a negative one: that is the same number.
  static std::int32_t high_product(std::int32_t a, std::int32_t b) noexcept {
    return detail::saturated((std::int64_t{a} * b + (std::int64_t{1} << 30)) >> 31);
  }
  // RoundingDivideByPOT
  static std::int32_t shifted(std::int32_t v, int by) noexcept {
    const std::int64_t half = by == 0 ? 0 : std::int64_t{1} << (by - 1);
    return static_cast<std::int32_t>((std::int64_t{v} + half - (v < 0 && by != 0 ? 1 : 0)) >> by);
  }
};

/// TensorFlow Lite with single rounding: the whole product shifted once, a tie up.
struct RequantizeSingle {
  using multiplier = FixedMultiplier;

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::double_factor(x, w, y);
  }
  /// Throws: as `FixedMultiplier::of`.
  [[nodiscard]] static FixedMultiplier make(double factor) { return FixedMultiplier::of(factor); }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, const FixedMultiplier& m) noexcept {
    const int shift = 31 - m.exponent;
    const std::int64_t half = std::int64_t{1} << (shift - 1);
    return detail::saturated((std::int64_t{sum} * m.mantissa + half) >> shift);
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(arch::long_lanes<Arch>::exists)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const FixedMultiplier* m) noexcept {
    return kernels::shifted_products<Arch, 31>(sums, m);
  }
#endif
};

/// XNNPACK's rndnu: the 24 bits of a float32 factor, the whole product shifted once, a tie up.
struct RequantizeUp {
  /// A factor as 24 bits and a shift.
  struct multiplier {
    std::int32_t mantissa = 0;  ///< 0, or of 24 bits
    int shift = 2;              ///< in [2, 63]
    friend bool operator==(const multiplier&, const multiplier&) = default;
  };

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::float_factor(x, w, y);
  }
  /// Factors below 2^-40 become 0, which all sums times them are. Throws: `errc::bad_scale` for a
  /// factor that is negative, NaN, or 2^22 or more.
  [[nodiscard]] static multiplier make(double factor) {
    const auto m = static_cast<float>(factor);
    if (!(m >= 0 && m < 0x1p22f))
      raise(errc::bad_scale,
            "tq::RequantizeUp: expected a factor of at least 0 and below 2^22, got " +
                detail::number_text(m));
    if (m < 0x1p-40f) return {};
    const auto bits = std::bit_cast<std::uint32_t>(m);
    return {static_cast<std::int32_t>((bits & 0x7fffffu) | 0x800000u),
            150 - static_cast<int>(bits >> 23)};
  }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, const multiplier& m) noexcept {
    const std::int64_t half = std::int64_t{1} << (m.shift - 1);
    return detail::saturated((std::int64_t{sum} * m.mantissa + half) >> m.shift);
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(arch::long_lanes<Arch>::exists)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const multiplier* m) noexcept {
    return kernels::shifted_products<Arch, 0>(sums, m);
  }
#endif
};

/// R with the product of scales rounded to float32 before it is divided: what TensorFlow Lite does
/// in layers with one scale for all weights, as FloatProduct<RequantizeDouble>. Source:
/// tflite-micro, `GetQuantizedConvolutionMultipler`.
template <Requantizer R>
struct FloatProduct : R {
  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return static_cast<double>(x * w) / static_cast<double>(y);
  }
};

}  // namespace tq
