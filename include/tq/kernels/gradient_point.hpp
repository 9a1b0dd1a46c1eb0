// SPDX-License-Identifier: MIT
#pragma once
// GradientPoint: all that a gradient of fake quantization may depend on.

#include <tq/config.hpp>

#include <type_traits>

namespace tq::kernels {

namespace detail {
TQ_FORCE_INLINE float select(bool mask, float yes, float no) noexcept { return mask ? yes : no; }
}  // namespace detail

/// The lowest and the highest value of codes at scale 1.
struct Bounds {
  float low, high;
};

/// The arguments of a gradient policy for an element, or for a batch of elements: V is float or a
/// batch, M bool or its mask.
template <class V, class M>
struct GradientPoint {
  V upstream;   ///< dL/dy
  V value;      ///< x / scale, NaN where x is
  V code;       ///< what the value became: rounded and clamped, less the zero point
  V low, high;  ///< the first and the last code, less the zero point
  V scale, zero_point;
  M inside;  ///< whether the rounded value has a code, so that nothing is clipped; never for NaN

  static TQ_FORCE_INLINE V zero() noexcept { return V(0.0f); }
  static TQ_FORCE_INLINE V one() noexcept { return V(1.0f); }
  static TQ_FORCE_INLINE V select(const M& mask, const V& yes, const V& no) noexcept {
    using detail::select;  // or that of the batches
    return select(mask, yes, no);
  }
  /// One of three by where the rounded value is; 0 for NaN.
  [[nodiscard]] TQ_FORCE_INLINE V by_code(const V& in, const V& under,
                                          const V& over) const noexcept {
    return select(inside, in, select(value > high, over, not_nan(under)));
  }
  /// `in` where nothing is clipped, else 0.
  [[nodiscard]] TQ_FORCE_INLINE V unless_clipped(const V& in) const noexcept {
    return select(inside, in, zero());
  }
  /// `out` where something is clipped, else 0; for NaN 0.
  [[nodiscard]] TQ_FORCE_INLINE V where_clipped(const V& out) const noexcept {
    return select(inside, zero(), not_nan(out));
  }
  /// `in` where the value itself lies within the codes, the ends counting as outside, else 0; for
  /// NaN 0.
  [[nodiscard]] TQ_FORCE_INLINE V within(const V& in) const noexcept {
    return select((value > low) & (value < high), in, zero());
  }
  /// One of three by where the value itself is, the ends counting as outside; 0 for NaN.
  [[nodiscard]] TQ_FORCE_INLINE V by_value(const V& in, const V& under,
                                           const V& over) const noexcept {
    return select(value >= high, over, select(value <= low, under, not_nan(in)));
  }

 private:
  // Kernels keep batches with NaN from policies.
  [[nodiscard]] TQ_FORCE_INLINE V not_nan(const V& v) const noexcept {
    if constexpr (std::is_same_v<V, float>) return value == value ? v : 0.0f;
    else return v;
  }
};

}  // namespace tq::kernels
