// SPDX-License-Identifier: MIT
#pragma once
// RequantizeFloat: the rule of ONNX Runtime, FBGEMM and XNNPACK's fp32 form.

#include <tq/arch/batch.hpp>
#include <tq/arch/scalar.hpp>
#include <tq/error.hpp>
#include <tq/kernels/nearest_int32.hpp>
#include <tq/linear/output/detail/scale_factor.hpp>

#include <concepts>
#include <cstdint>
#include <limits>

namespace tq {

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
      detail::raise_expected(errc::bad_scale, "tq::RequantizeFloat",
                             {"a finite factor of at least 0"}, {m});
    return m;
  }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, float m) noexcept {
    return kernels::NearestInt32::one(static_cast<float>(sum) * m);
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(!std::same_as<Arch, arch::scalar>)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const float* m) noexcept {
    const arch::floats<Arch> product =
        xsimd::to_float(sums) * arch::floats<Arch>::load_unaligned(m);
    return kernels::NearestInt32::lanes<Arch>(product);
  }
#endif
};

}  // namespace tq
