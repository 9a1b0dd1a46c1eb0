// SPDX-License-Identifier: MIT
#pragma once
// RequantizeTorch: the rule of PyTorch on FBGEMM.

#include <tq/arch/batch.hpp>
#include <tq/arch/scalar.hpp>
#include <tq/kernels/nearest_int32.hpp>
#include <tq/linear/output/detail/scale_factor.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstdint>

namespace tq {

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

}  // namespace tq
