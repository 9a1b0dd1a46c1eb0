// SPDX-License-Identifier: MIT
#pragma once
// The gradient of fake quantization, with respect to the input and to the parameters, for any gradient policy.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/gradient_point.hpp>
#include <tq/kernels/grid.hpp>
#include <tq/kernels/round.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// The arrays of a backward pass. `y` is the output of fake quantization and only read for coded elements.
/// gx may be gy.
struct Gradients {
  const float* x;
  const float* y;
  const float* gy;
  float* gx;
};

/// What a run adds to: the sums of dL/dy times what the policy gives, from the first element's parameter on. Null where
/// the policy learns nothing.
struct ParameterSums {
  double* scale;
  double* offset;
};

namespace detail {

template <class Gradient>
inline constexpr int learned = Gradient::learned;

// What an element adds to the sums.
struct Share {
  float scale = 0, offset = 0;
};

// One element. `Integers`: codes lie on the integers, with a zero point; otherwise the code is y / scale.
template <bool Integers, NumericsPolicy N, class Gradient>
struct backward_element {
  using Point = GradientPoint<float, bool>;
  static TQ_FORCE_INLINE Point point(float x, float y, float gy, float scale, std::int32_t zero, Bounds bounds,
                                     const N& n, std::uint64_t index) noexcept {
    Point p{};
    p.upstream = gy;
    p.scale = scale;
    p.zero_point = static_cast<float>(zero);
    p.low = bounds.low - p.zero_point;
    p.high = bounds.high - p.zero_point;
    p.value = N::scaling_type::apply(x, scale);
    if (!(p.value == p.value)) return p;
    if constexpr (Integers) {
      const float rounded = n.rounding(std::clamp(p.value, p.low - 1.0f, p.high + 1.0f), index);
      p.inside = rounded >= p.low && rounded <= p.high;
      p.code = std::clamp(rounded, p.low, p.high);
    } else {
      p.inside = p.value >= p.low && p.value <= p.high;
      p.code = y / scale;
    }
    return p;
  }
  static TQ_FORCE_INLINE Share run(const Gradients& g, std::ptrdiff_t s, std::ptrdiff_t t, float scale,
                                    std::int32_t zero, Bounds bounds, const N& n, std::uint64_t index) noexcept {
    const Point p = point(g.x[s], Integers ? 0.0f : g.y[t], g.gy[t], scale, zero, bounds, n, index);
    Share share;
    if constexpr (learned<Gradient> > 0) share.scale = p.upstream * Gradient::scale(p);
    if constexpr (learned<Gradient> > 1) share.offset = p.upstream * Gradient::offset(p);
    g.gx[t] = Gradient::input(p);
    return share;
  }
};

// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, bool Integers, NumericsPolicy N, class Gradient>
struct backward_elements {
  static void run(const Gradients& g, const Span& span, Bounds bounds, const N& n, std::uint64_t index,
                  ParameterSums sums) noexcept {
    for (std::size_t r = 0; r < span.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      double by_scale = 0, by_offset = 0;
      for (std::size_t i = 0; i < span.length; ++i) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i), t = row * span.target_stride + at;
        const std::size_t p = r * span.param_stride + i * span.step;
        const Share add = backward_element<Integers, N, Gradient>::run(
            g, row * span.source_stride + at, t, span.scale[p], span.zero_point != nullptr ? span.zero_point[p] : 0,
            bounds, n, index + static_cast<std::uint64_t>(t));
        by_scale += static_cast<double>(add.scale);
        by_offset += static_cast<double>(add.offset);
        if (span.step != 0 || i + 1 == span.length) {
          if constexpr (learned<Gradient> > 0) sums.scale[p] += by_scale;
          if constexpr (learned<Gradient> > 1) sums.offset[p] += by_offset;
          by_scale = by_offset = 0;
        }
      }
    }
  }
};

}  // namespace detail

/// gx = Gradient::input, and the sums per parameter of gy * Gradient::scale and gy * Gradient::offset. The source of
/// `span` is x; y, gy and gx are its target. The sums are the same bits for the same spans, but not on every instruction
/// set.
template <class Arch, bool Integers, NumericsPolicy N, class Gradient>
struct backward;

/// Without SIMD.
template <bool Integers, NumericsPolicy N, class Gradient>
struct backward<arch::scalar, Integers, N, Gradient> : detail::backward_elements<arch::scalar, Integers, N, Gradient> {};

#if TQ_HAS_SIMD

template <class Arch, bool Integers, NumericsPolicy N, class Gradient>
struct backward {
  static void run(const Gradients& g, const Span& span, Bounds bounds, const N& n, std::uint64_t index,
                  ParameterSums sums) noexcept {
    if (span.length < width / 2) {
      detail::backward_elements<Arch, Integers, N, Gradient>::run(g, span, bounds, n, index, sums);
      return;
    }
    constexpr Quotient fast = fast_quotient<Arch, N>;
    const bool narrow = bounds.high - bounds.low <= 255;
    for (std::size_t r = 0; r < span.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      const std::ptrdiff_t t = row * span.target_stride;
      const std::size_t p = r * span.param_stride;
      const Row at{{g.x + row * span.source_stride, Integers ? nullptr : g.y + t, g.gy + t, g.gx + t},
                   span.length,
                   index + static_cast<std::uint64_t>(t),
                   bounds};
      const ParameterSums to{learned > 0 ? sums.scale + p : nullptr, learned > 1 ? sums.offset + p : nullptr};
      if (span.step != 0) {
        elements(at, Each{span.scale + p, span.zero_point != nullptr ? span.zero_point + p : nullptr}, n, to);
        continue;
      }
      const float scale = span.scale[p];
      const Parameter one{scale, span.zero_point != nullptr ? span.zero_point[p] : 0};
      if constexpr (Integers && has_fast_path<N>) {
        if (!needs_correctable(fast) || (narrow && correctable(scale))) {
          stretch<true>(at, one, n, to);
          continue;
        }
      }
      stretch<false>(at, one, n, to);
    }
  }

 private:
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  using M = xsimd::batch_bool<float, Arch>;
  using Point = GradientPoint<F, M>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr int learned = detail::learned<Gradient>;

  struct Row {
    Gradients at;
    std::size_t length;
    std::uint64_t index;
    Bounds bounds;
  };

  struct Parameter {
    float scale;
    std::int32_t zero_point;
  };

  // A parameter per element: a cursor over arrays.
  struct Each {
    const float* scales;
    const std::int32_t* zeros;  // may be null
    TQ_FORCE_INLINE F scale(std::size_t i, std::size_t k) const noexcept {
      return F::load_unaligned(scales + i + k * width);
    }
    TQ_FORCE_INLINE F divided(const F& v, std::size_t i, std::size_t k) const noexcept {
      return v * arch::divide<Arch>(F(1.0f), scale(i, k));
    }
    TQ_FORCE_INLINE I zero(std::size_t i, std::size_t k) const noexcept {
      return zeros != nullptr ? I::load_unaligned(zeros + i + k * width) : I(0);
    }
  };

  // What the values of a batch are compared with, in steps from the zero point.
  struct Levels {
    F zero_point, low, high;
    TQ_FORCE_INLINE Levels(const I& zero, Bounds bounds) noexcept
        : zero_point(Integers ? xsimd::to_float(zero) : F(0.0f)), low(F(bounds.low) - zero_point), high(F(bounds.high) - zero_point) {}
  };

  // One parameter, in registers: loops would make some of it anew for each block.
  struct One {
    F lanes_of_scale, lanes_of_inverse;
    Levels levels;
    TQ_FORCE_INLINE One(const Parameter& p, Bounds bounds) noexcept
        : lanes_of_scale(kept(F(p.scale))),
          lanes_of_inverse(1.0f / p.scale),
          levels(I(p.zero_point), bounds) {
      for (F* level : {&levels.zero_point, &levels.low, &levels.high}) *level = kept(*level);
    }
    TQ_FORCE_INLINE const F& scale(std::size_t, std::size_t) const noexcept { return lanes_of_scale; }
    TQ_FORCE_INLINE const F& inverse(std::size_t, std::size_t) const noexcept { return lanes_of_inverse; }
    TQ_FORCE_INLINE F divided(const F& v, std::size_t, std::size_t) const noexcept { return v * lanes_of_inverse; }
    static TQ_FORCE_INLINE F kept(const F& v) noexcept { return F(arch::kept(typename F::register_type(v))); }
  };
  static TQ_FORCE_INLINE const Levels& levels_of(const One& p, std::size_t, std::size_t, Bounds) noexcept { return p.levels; }
  static TQ_FORCE_INLINE Levels levels_of(const Each& p, std::size_t i, std::size_t k, Bounds bounds) noexcept {
    return {p.zero(i, k), bounds};
  }

  // What the four batches of a block add to the sums.
  struct Added {
    F scale[4], offset[4];
  };

  // One block of whole batches; false where a value is NaN, and then nothing is done. The corrected quotient is that of the
  // division but where it underflows, which matters where codes end at 0: whether a value is 0 or beside it.
  template <bool Fast, class Params>
  static TQ_FORCE_INLINE bool values(const float* x, const Params& p, std::size_t i, bool ends_at_zero,
                                     F (&v)[4]) noexcept {
    constexpr Quotient q = fast_quotient<Arch, N>;
    F at[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      at[k] = F::load_unaligned(x + k * width);
      if constexpr (Fast) v[k] = quotient<q, Arch>(at[k], p, i, k);
      else v[k] = exact_quotient<Arch, N>(at[k], p, i, k);
    }
    if constexpr (Fast && q == Quotient::corrected) {
      if (ends_at_zero) {
        const auto underflows = [&](std::size_t k) TQ_LAMBDA_INLINE {
          return (xsimd::abs(v[k]) < F(0x1p-126f)) & (at[k] != F(0.0f));
        };
        if (xsimd::any((underflows(0) | underflows(1)) | (underflows(2) | underflows(3)))) [[unlikely]] return false;
      }
    }
    return !L::any_nan(v[0], v[1], v[2], v[3]);
  }

  // The rounded value as far as it matters whether it is a code.
  static TQ_FORCE_INLINE I beyond_codes(const F& v, const F& low, const F& high, const N& n,
                                        std::uint64_t index) noexcept {
    if constexpr (std::is_same_v<typename N::rounding_type, NearestEven>)
      return arch::round_to_int<Arch>(v);  // what int32 does not hold becomes one of its ends
    else
      return round_with<Arch>(n.rounding, arch::clamp<Arch>(v, low - F(1.0f), high + F(1.0f)), index);
  }

  template <bool Fast, class Params>
  static TQ_FORCE_INLINE bool one_block(const Gradients& g, const Params& params, std::size_t i, Bounds bounds,
                                        bool ends_at_zero, const N& n, std::uint64_t index, Added& added) noexcept {
    F v[4];
    if (!values<Fast>(g.x, params, i, ends_at_zero, v)) [[unlikely]]
      return false;
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      Point p;
      p.upstream = arch::load_once<Arch>(g.gy + k * width);  // not by a mask: that would wait for it
      p.value = v[k];
      p.scale = params.scale(i, k);
      const Levels& levels = levels_of(params, i, k, bounds);
      p.zero_point = levels.zero_point;
      p.low = levels.low;
      p.high = levels.high;
      if constexpr (Integers) {
        const F rounded = xsimd::to_float(beyond_codes(v[k], p.low, p.high, n, index + k * width));
        p.inside = (rounded >= p.low) & (rounded <= p.high);
        p.code = xsimd::to_float(round_with<Arch>(n.rounding, arch::clamp<Arch>(v[k], p.low, p.high), index + k * width));
      } else {
        p.code = arch::divide<Arch>(F::load_unaligned(g.y + k * width), p.scale);
        p.inside = (v[k] >= p.low) & (v[k] <= p.high);
      }
      if constexpr (learned > 0) added.scale[k] = p.upstream * Gradient::scale(p);
      if constexpr (learned > 1) added.offset[k] = p.upstream * Gradient::offset(p);
      F(Gradient::input(p)).store_unaligned(g.gx + k * width);
    }
    return true;
  }

  static TQ_FORCE_INLINE Gradients shifted(const Gradients& g, std::size_t i) noexcept {
    return {g.x + i, Integers ? nullptr : g.y + i, g.gy + i, g.gx + i};
  }

  // All lanes of four batches.
  static TQ_FORCE_INLINE double total(const F (&v)[4]) noexcept {
    alignas(64) float lanes[width];
    F((v[0] + v[1]) + (v[2] + v[3])).store_aligned(lanes);
    double sum = 0;
    for (const float lane : lanes) sum += static_cast<double>(lane);
    return sum;
  }
  static TQ_FORCE_INLINE void add_total(ParameterSums to, const Added& added) noexcept {
    if constexpr (learned > 0) *to.scale += total(added.scale);
    if constexpr (learned > 1) *to.offset += total(added.offset);
  }

  // What is left of a row, or holds NaN.
  static TQ_RARE void rest(const Gradients& g, std::size_t count, const float* scale, const std::int32_t* zero,
                           std::size_t step, Bounds bounds, const N& n, std::uint64_t index,
                           ParameterSums to) noexcept {
    Span span;
    span.length = count;
    span.count = 1;
    span.scale = scale;
    span.zero_point = zero;
    span.step = step;
    detail::backward_elements<Arch, Integers, N, Gradient>::run(g, span, bounds, n, index, to);
  }

  // One parameter. Lanes are summed in float32 for `patience` blocks, in double from there on.
  template <bool Fast>
  static TQ_NO_INLINE void stretch(const Row& row, const Parameter& params, const N& n,
                                   ParameterSums to) noexcept {
    constexpr std::size_t patience = 64;
    const Row at = row;
    const One p(params, at.bounds);
    const float scale = params.scale;
    const std::int32_t zero_point = params.zero_point;
    const auto zero = static_cast<float>(zero_point);
    const bool ends_at_zero = at.bounds.low == zero || at.bounds.high == zero;
    std::size_t i = 0;
    while (at.length - i >= block) {
      const std::size_t last = i + std::min(patience, (at.length - i) / block) * block;
      Added sums;
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) sums.scale[k] = sums.offset[k] = F(0.0f);
      for (; i < last; i += block) {
        Added added;
        if (!one_block<Fast>(shifted(at.at, i), p, 0, at.bounds, ends_at_zero, n, at.index + i, added)) [[unlikely]] {
          rest(shifted(at.at, i), block, &scale, &zero_point, 0, at.bounds, n, at.index + i, to);
          continue;
        }
        TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
          if constexpr (learned > 0) sums.scale[k] = sums.scale[k] + added.scale[k];
          if constexpr (learned > 1) sums.offset[k] = sums.offset[k] + added.offset[k];
        }
      }
      add_total(to, sums);
    }
    if (i < at.length)
      tail<Fast>(shifted(at.at, i), at.length - i, p, &scale, &zero_point, at.bounds, ends_at_zero, n, at.index + i, to);
  }

  // Fewer elements than a block, in one filled up with zeros that have no upstream gradient.
  template <bool Fast>
  static TQ_FORCE_INLINE void tail(const Gradients& g, std::size_t count, const One& p, const float* scale,
                                   const std::int32_t* zero, Bounds bounds, bool ends_at_zero, const N& n,
                                   std::uint64_t index, ParameterSums to) noexcept {
    alignas(64) float x[block] = {}, y[block] = {}, gy[block] = {}, gx[block];
    std::copy_n(g.x, count, x);
    if constexpr (!Integers) std::copy_n(g.y, count, y);
    std::copy_n(g.gy, count, gy);
    Added added;
    if (!one_block<Fast>({x, y, gy, gx}, p, 0, bounds, ends_at_zero, n, index, added)) [[unlikely]] {
      rest(g, count, scale, zero, 0, bounds, n, index, to);
      return;
    }
    std::copy_n(gx, count, g.gx);
    add_total(to, added);
  }

  static TQ_NO_INLINE void elements(const Row& at, const Each& p, const N& n, ParameterSums to) noexcept {
    const auto zeros = [&](std::size_t i) { return p.zeros != nullptr ? p.zeros + i : nullptr; };
    std::size_t i = 0;
    for (; at.length - i >= block; i += block) {
      Added added;
      if (!one_block<false>(shifted(at.at, i), p, i, at.bounds, false, n, at.index + i, added)) [[unlikely]] {
        rest(shifted(at.at, i), block, p.scales + i, zeros(i), 1, at.bounds, n, at.index + i, shifted(to, i));
        continue;
      }
      if constexpr (learned > 0) add(to.scale + i, added.scale);
      if constexpr (learned > 1) add(to.offset + i, added.offset);
    }
    if (i < at.length)
      rest(shifted(at.at, i), at.length - i, p.scales + i, zeros(i), 1, at.bounds, n, at.index + i, shifted(to, i));
  }
  static TQ_FORCE_INLINE ParameterSums shifted(ParameterSums to, std::size_t i) noexcept {
    return {learned > 0 ? to.scale + i : nullptr, learned > 1 ? to.offset + i : nullptr};
  }
  static TQ_FORCE_INLINE void add(double* to, const F (&added)[4]) noexcept {
    alignas(64) float lanes[block];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) added[k].store_aligned(lanes + k * width);
    for (std::size_t j = 0; j < block; ++j) to[j] += static_cast<double>(lanes[j]);
  }
};

#endif

}  // namespace tq::kernels
