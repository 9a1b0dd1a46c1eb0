// SPDX-License-Identifier: MIT
#pragma once
// How a kernel gets at scales and zero points: one for all lanes, one per group of lanes, or one per lane.
// for_each_piece() turns any Span into contiguous pieces with one of these three.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// How x / s is computed. All but `multiply` give the correctly rounded quotient's code.
enum class Quotient : std::uint8_t {
  multiply,   ///< x * inv, inv = 1 / s rounded: the Reciprocal contract
  corrected,  ///< x * inv with one Newton step in FMA: equal to the division where `correctable()`
  divide,     ///< x / s
};

/// Range of scales for which no intermediate of the corrected quotient under- or overflows near a tie.
/// That within it the codes of types up to 8 bits equal those of x / s is proven by enumeration over all
/// significands (tests/unit/kernels/exact_quotient.test.cpp).
constexpr bool correctable(float scale) noexcept { return scale >= 0x1p-64f && scale <= 0x1p64f; }

#if TQ_HAS_SIMD

/// Parameters that do not change: they stay in registers.
template <class Arch>
struct Constant {
  static constexpr bool aligned_groups = false;
  arch::floats<Arch> scale_, inverse_;
  arch::ints<Arch> zero_;
  typename arch::lanes<Arch>::words zero16_;

  TQ_FORCE_INLINE Constant(float scale, float inverse, std::int32_t zero) noexcept
      : scale_(scale), inverse_(inverse), zero_(zero), zero16_(arch::lanes<Arch>::splat16(zero)) {}
  TQ_FORCE_INLINE const arch::floats<Arch>& scale(std::size_t) const noexcept { return scale_; }
  TQ_FORCE_INLINE const arch::floats<Arch>& inverse(std::size_t) const noexcept { return inverse_; }
  TQ_FORCE_INLINE const arch::ints<Arch>& zero(std::size_t) const noexcept { return zero_; }
  TQ_FORCE_INLINE auto zero16(std::size_t) const noexcept { return zero16_; }
};

/// A parameter per element, in arrays padded to a whole block.
template <class Arch>
struct PerLane {
  static constexpr bool aligned_groups = false;
  const float* scales;
  const float* inverses;
  const std::int32_t* zeros;

  TQ_FORCE_INLINE auto scale(std::size_t i) const noexcept {
    return arch::floats<Arch>::load_unaligned(scales + i);
  }
  TQ_FORCE_INLINE auto inverse(std::size_t i) const noexcept {
    return arch::floats<Arch>::load_unaligned(inverses + i);
  }
  TQ_FORCE_INLINE auto zero(std::size_t i) const noexcept {
    return arch::ints<Arch>::load_unaligned(zeros + i);
  }
  TQ_FORCE_INLINE auto zero16(std::size_t i) const noexcept {
    return arch::lanes<Arch>::pack16(zero(i), zero(i + arch::width<Arch>));
  }
};

/// A parameter per group of `Batches` batches; four is a multiple of `Batches`.
template <class Arch, std::size_t Batches>
struct PerGroupOfLanes {
  static constexpr bool aligned_groups = true;
  const float* scales;
  const float* inverses;
  const std::int32_t* zeros;

  static constexpr std::size_t elements = Batches * arch::width<Arch>;
  TQ_FORCE_INLINE auto scale(std::size_t i) const noexcept { return arch::floats<Arch>(scales[i / elements]); }
  TQ_FORCE_INLINE auto inverse(std::size_t i) const noexcept {
    return arch::floats<Arch>(inverses[i / elements]);
  }
  TQ_FORCE_INLINE auto zero(std::size_t i) const noexcept { return arch::ints<Arch>(zeros[i / elements]); }
  TQ_FORCE_INLINE auto zero16(std::size_t i) const noexcept {
    return arch::lanes<Arch>::pack16(zero(i), zero(i + arch::width<Arch>));
  }
};

/// A stretch of parameters copied to the stack with their reciprocals, padded for whole-block loads.
template <class Arch>
struct Staged {
  static constexpr std::size_t capacity = 512;
  static constexpr std::size_t padding = 4 * arch::width<Arch>;
  alignas(64) float scales[capacity + padding];
  alignas(64) float inverses[capacity + padding];
  alignas(64) std::int32_t zeros[capacity + padding];

  // Copies n parameters to position `at`.
  TQ_FORCE_INLINE void put(std::size_t at, const float* scale, const std::int32_t* zero, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) scales[at + i] = scale[i];
    for (std::size_t i = 0; i < n; ++i) zeros[at + i] = zero != nullptr ? zero[i] : 0;
  }
  // Repeats one parameter n times from position `at`; may write up to a block past them.
  TQ_FORCE_INLINE void fill(std::size_t at, float scale, std::int32_t zero, std::size_t n) noexcept {
    using F = arch::floats<Arch>;
    using I = arch::ints<Arch>;
    for (std::size_t i = 0; i < n; i += arch::width<Arch>) {
      F(scale).store_unaligned(scales + at + i);
      I(zero).store_unaligned(zeros + at + i);
    }
  }
  // Pads after n parameters and computes the reciprocals; true when the corrected quotient may be used.
  TQ_FORCE_INLINE bool seal(std::size_t n) noexcept {
    using F = arch::floats<Arch>;
    fill(n, 1.0f, 0, padding);
    F low(1.0f), high(1.0f);
    for (std::size_t i = 0; i < n; i += arch::width<Arch>) {
      const F s = F::load_unaligned(scales + i);
      (F(1.0f) / s).store_unaligned(inverses + i);
      low = xsimd::min(low, s);
      high = xsimd::max(high, s);
    }
    for (std::size_t i = 0; i < padding; i += arch::width<Arch>) F(1.0f).store_unaligned(inverses + n + i);
    return !xsimd::any(low < F(0x1p-64f)) && !xsimd::any(high > F(0x1p64f));
  }
};

/// Calls op(source offset, target offset, n, parameters, correctable) for contiguous pieces that together
/// are `span`, with `parameters` one of the three forms above.
template <class Arch, class Op>
TQ_FORCE_INLINE void for_each_piece(const Span& span, Op&& op) noexcept {
  constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  using Stage = Staged<Arch>;
  const bool dense = span.source_stride == static_cast<std::ptrdiff_t>(span.length) &&
                     span.target_stride == static_cast<std::ptrdiff_t>(span.length);
  const auto signed_length = static_cast<std::ptrdiff_t>(span.length);
  const auto constant = [&](std::ptrdiff_t source, std::ptrdiff_t target, std::size_t n, float scale,
                            float inverse, std::int32_t zero) TQ_LAMBDA_INLINE {
    op(source, target, n, Constant<Arch>(scale, inverse, zero), correctable(scale));
  };

  if (span.step == 0 && (span.count == 1 || (dense && span.param_stride == 0))) {
    const std::int32_t zero = span.zero_point != nullptr ? *span.zero_point : 0;
    constant(0, 0, span.length * span.count, *span.scale, 1.0f / *span.scale, zero);
    return;
  }

  Stage stage;
  if (span.step == 1 && !(dense && span.param_stride == 0 && 2 * span.length <= Stage::capacity)) {
    if (span.param_stride != 0) {  // every stretch has its own parameters
      for (std::size_t r = 0; r < span.count; ++r) {
        const auto at = static_cast<std::ptrdiff_t>(r);
        for (std::size_t c = 0; c < span.length; c += Stage::capacity) {
          const std::size_t n = span.length - c < Stage::capacity ? span.length - c : Stage::capacity;
          const std::size_t p = r * span.param_stride + c;
          stage.put(0, span.scale + p, span.zero_point != nullptr ? span.zero_point + p : nullptr, n);
          const bool ok = stage.seal(n);
          op(at * span.source_stride + static_cast<std::ptrdiff_t>(c),
             at * span.target_stride + static_cast<std::ptrdiff_t>(c), n,
             PerLane<Arch>{stage.scales, stage.inverses, stage.zeros}, ok);
        }
      }
      return;
    }
    for (std::size_t c = 0; c < span.length; c += Stage::capacity) {  // columns: staged once for all rows
      const std::size_t n = span.length - c < Stage::capacity ? span.length - c : Stage::capacity;
      stage.put(0, span.scale + c, span.zero_point != nullptr ? span.zero_point + c : nullptr, n);
      const bool ok = stage.seal(n);
      for (std::size_t r = 0; r < span.count; ++r) {
        const auto at = static_cast<std::ptrdiff_t>(r), col = static_cast<std::ptrdiff_t>(c);
        op(at * span.source_stride + col, at * span.target_stride + col, n,
           PerLane<Arch>{stage.scales, stage.inverses, stage.zeros}, ok);
      }
    }
    return;
  }

  if (dense && span.length < 2 * block && (span.step == 1 || span.length % width != 0 || block % span.length != 0)) {
    // Short stretches (3x3 convolution weights, a few channels last): one parameter per lane, many at a time.
    const std::size_t per_stage = Stage::capacity / span.length;
    const bool repeats = span.param_stride == 0;
    bool ok = true;
    for (std::size_t r = 0; r < span.count; r += per_stage) {
      const std::size_t rows = span.count - r < per_stage ? span.count - r : per_stage;
      if (r == 0 || !repeats || rows != per_stage) {
        for (std::size_t k = 0; k < rows; ++k) {
          const std::size_t p = (r + k) * span.param_stride;
          const std::int32_t* zero = span.zero_point != nullptr ? span.zero_point + p : nullptr;
          if (span.step == 1)
            stage.put(k * span.length, span.scale + p, zero, span.length);
          else
            stage.fill(k * span.length, span.scale[p], zero != nullptr ? *zero : 0, span.length);
        }
        ok = stage.seal(rows * span.length);
      }
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(r) * signed_length;
      op(at, at, rows * span.length, PerLane<Arch>{stage.scales, stage.inverses, stage.zeros}, ok);
    }
    return;
  }

  // One parameter per stretch. The reciprocals of many are computed at once.
  for (std::size_t r = 0; r < span.count; r += Stage::capacity) {
    const std::size_t rows = span.count - r < Stage::capacity ? span.count - r : Stage::capacity;
    if (span.param_stride == 1) {
      stage.put(0, span.scale + r, span.zero_point != nullptr ? span.zero_point + r : nullptr, rows);
    } else {
      for (std::size_t k = 0; k < rows; ++k) {
        const std::size_t p = (r + k) * span.param_stride;
        stage.scales[k] = span.scale[p];
        stage.zeros[k] = span.zero_point != nullptr ? span.zero_point[p] : 0;
      }
    }
    const bool ok = stage.seal(rows);
    const auto at = static_cast<std::ptrdiff_t>(r);
    const auto groups = [&](auto batches) TQ_LAMBDA_INLINE {
      op(at * span.source_stride, at * span.target_stride, rows * span.length,
         PerGroupOfLanes<Arch, decltype(batches)::value>{stage.scales, stage.inverses, stage.zeros}, ok);
    };
    if (dense && span.length == width) {
      groups(std::integral_constant<std::size_t, 1>{});
    } else if (dense && span.length == 2 * width) {
      groups(std::integral_constant<std::size_t, 2>{});
    } else if (dense && span.length == block) {
      groups(std::integral_constant<std::size_t, 4>{});
    } else {
      for (std::size_t k = 0; k < rows; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(r + k);
        constant(row * span.source_stride, row * span.target_stride, span.length, stage.scales[k],
                 stage.inverses[k], stage.zeros[k]);
      }
    }
  }
}

#endif

/// Calls op(source offset, target offset, scale, zero point) for every element of `span`.
template <class Op>
inline void for_each_element(const Span& span, Op&& op) noexcept {
  for (std::size_t r = 0; r < span.count; ++r)
    for (std::size_t i = 0; i < span.length; ++i) {
      const std::size_t p = r * span.param_stride + i * span.step;
      op(static_cast<std::ptrdiff_t>(r) * span.source_stride + static_cast<std::ptrdiff_t>(i),
         static_cast<std::ptrdiff_t>(r) * span.target_stride + static_cast<std::ptrdiff_t>(i), span.scale[p],
         span.zero_point != nullptr ? span.zero_point[p] : 0);
    }
}

}  // namespace tq::kernels
