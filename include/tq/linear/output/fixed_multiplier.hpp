// SPDX-License-Identifier: MIT
#pragma once
// FixedMultiplier: a positive factor as an integer of 31 bits and a power of two, for processors
// and peers that requantize without floats.

#include <tq/error.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tq {

/// mantissa * 2^(exponent - 31), with mantissa 0 or in [2^30, 2^31), as TensorFlow Lite has it
/// (quantization_util.cc).
struct FixedMultiplier {
  std::int32_t mantissa = 0;
  int exponent = 0;  ///< in [-31, 30]

  friend bool operator==(const FixedMultiplier&, const FixedMultiplier&) = default;

  /// The nearest one, a tie away from zero. Factors below 2^-32 become 0, those from 2^30 on are
  /// the largest there is. Throws: `errc::bad_scale` for a factor that is negative, NaN or
  /// infinite.
  [[nodiscard]] static FixedMultiplier of(double factor) {
    if (!(factor >= 0 && factor <= std::numeric_limits<double>::max()))
      detail::raise_expected(errc::bad_scale, "tq::FixedMultiplier",
                             {"a finite factor of at least 0"}, {static_cast<float>(factor)});
    if (factor == 0) return {};
    int exponent = 0;
    auto mantissa =
        static_cast<std::int64_t>(std::round(std::ldexp(std::frexp(factor, &exponent), 31)));
    if (mantissa == std::int64_t{1} << 31) {
      mantissa /= 2;
      ++exponent;
    }
    if (exponent < -31) return {};
    if (exponent > 30) return {std::numeric_limits<std::int32_t>::max(), 30};
    return {static_cast<std::int32_t>(mantissa), exponent};
  }
};

}  // namespace tq
