// SPDX-License-Identifier: MIT
#pragma once
// How a kernel gets at scales and zero points: one for all lanes, one per stretch, one per group of lanes, or
// one per lane. for_each_piece() turns any Span into contiguous stretches with one of these.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/quotient.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

#if TQ_HAS_SIMD

/// Equal contiguous stretches of a source and a target: `count` of `length` elements.
struct Stretches {
  std::ptrdiff_t source, target;
  std::size_t length, count;
  std::ptrdiff_t source_stride, target_stride;

  /// Whether nothing lies between the stretches of the source.
  [[nodiscard]] bool source_is_dense() const noexcept {
    return count == 1 || source_stride == static_cast<std::ptrdiff_t>(length);
  }
};

// The forms. at(r) gives the form for stretch r, for ascending r; prepare(i) is called before the block at element i of a
// stretch is divided, for ascending i; the others give the lanes of batch k of that block. `shifts`: blocks may begin at any
// element and come in any order, so that streaming stores can be aligned.

/// One parameter: it stays in registers.
template <class Arch>
struct Constant {
  static constexpr bool shifts = true;
  arch::floats<Arch> scale_, inverse_, rest_;
  arch::ints<Arch> zero_;
  typename arch::lanes<Arch>::words zero16_;

  TQ_FORCE_INLINE Constant(float scale, std::int32_t zero) noexcept
      : scale_(scale),
        inverse_(1.0f / scale),
        rest_(rest_of<Arch>(scale_, inverse_)),
        zero_(zero),
        zero16_(arch::lanes<Arch>::splat16(zero)) {}
  TQ_FORCE_INLINE Constant(float scale, std::int32_t zero, float inverse, float rest) noexcept
      : scale_(scale), inverse_(inverse), rest_(rest), zero_(zero), zero16_(arch::lanes<Arch>::splat16(zero)) {}
  TQ_FORCE_INLINE const Constant& at(std::size_t) const noexcept { return *this; }
  TQ_FORCE_INLINE void prepare(std::size_t) const noexcept {}
  TQ_FORCE_INLINE const arch::floats<Arch>& scale(std::size_t, std::size_t) const noexcept { return scale_; }
  TQ_FORCE_INLINE const arch::floats<Arch>& inverse(std::size_t, std::size_t) const noexcept { return inverse_; }
  TQ_FORCE_INLINE const arch::floats<Arch>& rest(std::size_t, std::size_t) const noexcept { return rest_; }
  TQ_FORCE_INLINE const arch::ints<Arch>& zero(std::size_t, std::size_t) const noexcept { return zero_; }
  TQ_FORCE_INLINE auto zero16(std::size_t, std::size_t) const noexcept { return zero16_; }
};

/// Reciprocals of as many parameters as a batch has lanes, taken together, and with `Splits` their rests.
template <class Arch, bool Splits>
struct Reciprocals {
  static constexpr std::size_t width = arch::width<Arch>;
  alignas(64) float inverses[width] = {}, rests[width] = {};

  // Of the first ones of `count` scales, `stride` apart.
  TQ_FORCE_INLINE void take(const float* scales, std::size_t stride, std::size_t count) noexcept {
    using F = arch::floats<Arch>;
    F s(1.0f);
    if (stride == 1 && count >= width) {
      s = F::load_unaligned(scales);
    } else {
      s.store_aligned(inverses);
      for (std::size_t k = 0; k < width && k < count; ++k) inverses[k] = scales[k * stride];
      s = F::load_aligned(inverses);
    }
    const F inverse = arch::divide<Arch>(F(1.0f), s);
    inverse.store_aligned(inverses);
    if constexpr (Splits) rest_of<Arch>(s, inverse).store_aligned(rests);
  }
};

/// One parameter per stretch. Where an op `Divides`, reciprocals are taken long before they are needed: a stretch that began
/// with a division would wait for it.
template <class Arch, bool Divides, bool Splits>
struct PerStretch {
  static constexpr bool shifts = true;
  static constexpr std::size_t width = arch::width<Arch>;
  const float* scales;
  const std::int32_t* zeros;  // may be null
  std::size_t stride, count;
  Reciprocals<Arch, Splits> of_batch = {};

  TQ_FORCE_INLINE PerStretch(const float* scale, const std::int32_t* zero, std::size_t step, std::size_t stretches) noexcept
      : scales(scale), zeros(zero), stride(step), count(stretches) {}
  // Without the batch, which begins with at(0); a copy of all of it would wait for what was written just before.
  TQ_FORCE_INLINE PerStretch(const PerStretch& other) noexcept
      : PerStretch(other.scales, other.zeros, other.stride, other.count) {}
  PerStretch& operator=(const PerStretch&) = delete;
  TQ_FORCE_INLINE Constant<Arch> at(std::size_t r) noexcept {
    const float scale = scales[r * stride];
    const std::int32_t zero = zeros != nullptr ? zeros[r * stride] : 0;
    if (!Divides || count == 1) return {scale, zero};
    if (r % width == 0) of_batch.take(scales + r * stride, stride, count - r);
    return {scale, zero, of_batch.inverses[r % width], of_batch.rests[r % width]};
  }
};

/// A parameter per element, in arrays that reach to the end of the last block.
template <class Arch>
struct PerLane {
  static constexpr bool shifts = true;
  const float* scales;
  const float* inverses;
  const float* rests;
  const std::int32_t* zeros;  // may be null

  TQ_FORCE_INLINE const PerLane& at(std::size_t) const noexcept { return *this; }
  TQ_FORCE_INLINE void prepare(std::size_t) const noexcept {}
  TQ_FORCE_INLINE auto scale(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>::load_unaligned(scales + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE auto inverse(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>::load_unaligned(inverses + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE auto rest(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>::load_unaligned(rests + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE auto zero(std::size_t i, std::size_t k) const noexcept {
    using I = arch::ints<Arch>;
    return zeros != nullptr ? I::load_unaligned(zeros + i + k * arch::width<Arch>) : I(0);
  }
  // Of batches k and k + 1.
  TQ_FORCE_INLINE auto zero16(std::size_t i, std::size_t k) const noexcept {
    return arch::lanes<Arch>::pack16(zero(i, k), zero(i, k + 1));
  }
};

/// A parameter per group of `Batches` batches (1, 2 or 4). Reciprocals are taken for a batch of groups at a
/// time while those of the batch before are used, so that nothing waits for the divider; scales are asked for long before,
/// as processors do not look ahead for a line that is needed so rarely.
template <class Arch, std::size_t Batches, bool Splits>
struct PerGroupOfLanes {
  static constexpr bool shifts = false;
  static constexpr std::size_t width = arch::width<Arch>, elements = Batches * width;
  const float* scales;
  const std::int32_t* zeros;  // may be null
  std::size_t groups;
  Reciprocals<Arch, Splits> of_batches[2] = {};

  TQ_FORCE_INLINE PerGroupOfLanes(const float* scale, const std::int32_t* zero, std::size_t count) noexcept
      : scales(scale), zeros(zero), groups(count) {}
  TQ_FORCE_INLINE const PerGroupOfLanes& at(std::size_t) const noexcept { return *this; }
  TQ_FORCE_INLINE void prepare(std::size_t i) noexcept {
    if (i % (width * elements) != 0) return;
    const std::size_t group = i / elements, next = group + width;
    arch::prefetch(scales, static_cast<std::ptrdiff_t>(next * sizeof(float)) + 512);
    if (group == 0) of_batches[0].take(scales, 1, groups);
    if (next < groups) of_batches[next / width % 2].take(scales + next, 1, groups - next);
  }
  TQ_FORCE_INLINE auto scale(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>(scales[i / elements + k / Batches]);
  }
  TQ_FORCE_INLINE auto inverse(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>(of_batches[i / elements / width % 2].inverses[i / elements % width + k / Batches]);
  }
  TQ_FORCE_INLINE auto rest(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>(of_batches[i / elements / width % 2].rests[i / elements % width + k / Batches]);
  }
  TQ_FORCE_INLINE auto zero(std::size_t i, std::size_t k) const noexcept {
    return arch::ints<Arch>(zeros != nullptr ? zeros[i / elements + k / Batches] : 0);
  }
  TQ_FORCE_INLINE auto zero16(std::size_t i, std::size_t k) const noexcept {
    return arch::lanes<Arch>::pack16(zero(i, k), zero(i, k + 1));
  }
};

/// Calls f(zero, stream) with the flags as constants: `zero` as Z says, or where it does not know; `stream` is never true
/// unless it `MayStream`.
template <bool MayStream, Zeros Z, class F>
TQ_FORCE_INLINE void with_flags(bool zero, bool stream, F&& f) noexcept {
  const auto with_zero = [&](auto streams) TQ_LAMBDA_INLINE {
    if constexpr (Z == Zeros::some) f(std::true_type{}, streams);
    else if constexpr (Z == Zeros::none) f(std::false_type{}, streams);
    else if (zero) f(std::true_type{}, streams);
    else f(std::false_type{}, streams);
  };
  if constexpr (MayStream)
    if (stream) return with_zero(std::true_type{});
  with_zero(std::false_type{});
}

/// Parameters per lane on the stack, with their reciprocals, padded to whole blocks.
template <class Arch>
struct Staged {
  static constexpr std::size_t width = arch::width<Arch>;
  static constexpr std::size_t capacity = 1024, padding = 4 * width;
  alignas(64) float scales[capacity + padding];
  alignas(64) float inverses[capacity + padding];
  alignas(64) float rests[capacity + padding];
  alignas(64) std::int32_t zeros[capacity + padding];

  // Copies n parameters to position `at`.
  TQ_FORCE_INLINE void put(std::size_t at, const float* scale, const std::int32_t* zero, std::size_t n) noexcept {
    std::memcpy(scales + at, scale, n * sizeof(float));
    if (zero != nullptr) std::memcpy(zeros + at, zero, n * sizeof(std::int32_t));
  }
  // Repeats one parameter n times from position `at`; may write up to a batch past them.
  TQ_FORCE_INLINE void fill(std::size_t at, float scale, std::int32_t zero, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; i += width) {
      arch::floats<Arch>(scale).store_unaligned(scales + at + i);
      arch::ints<Arch>(zero).store_unaligned(zeros + at + i);
    }
  }
  // Pads after n parameters.
  TQ_FORCE_INLINE void seal(std::size_t n) noexcept { fill(n, 1.0f, 0, padding); }
  // Takes the reciprocals of the padded parameters; true when all are correctable, or no one asks.
  template <bool Splits, bool Checks>
  TQ_FORCE_INLINE bool invert(std::size_t n) noexcept {
    using F = arch::floats<Arch>;
    F low(1.0f), high(1.0f);
    for (std::size_t i = 0; i < n + padding; i += width) {
      const F s = F::load_unaligned(scales + i);
      const F inverse = arch::divide<Arch>(F(1.0f), s);
      inverse.store_unaligned(inverses + i);
      if constexpr (Splits) rest_of<Arch>(s, inverse).store_unaligned(rests + i);
      if constexpr (Checks) {
        low = xsimd::min(low, s);
        high = xsimd::max(high, s);
      }
    }
    return correctable(arch::lanes<Arch>::lowest(low)) && correctable(arch::lanes<Arch>::highest(high));
  }
  [[nodiscard]] TQ_FORCE_INLINE PerLane<Arch> lanes(bool has_zeros) const noexcept {
    return {scales, inverses, rests, has_zeros ? zeros : nullptr};
  }
};

namespace detail {

TQ_FORCE_INLINE std::size_t at_most(std::size_t n, std::size_t limit) noexcept { return n < limit ? n : limit; }
TQ_FORCE_INLINE const std::int32_t* shifted(const std::int32_t* zero, std::size_t n) noexcept {
  return zero != nullptr ? zero + n : nullptr;
}

template <class Arch>
inline bool all_correctable(const float* scale, std::size_t n, std::size_t stride) noexcept {
  using F = arch::floats<Arch>;
  std::size_t i = 0;
  if (stride == 1) {
    F low(1.0f), high(1.0f);
    for (; i + F::size <= n; i += F::size) {
      const F s = F::load_unaligned(scale + i);
      low = xsimd::min(low, s);
      high = xsimd::max(high, s);
    }
    if (!correctable(arch::lanes<Arch>::lowest(low)) || !correctable(arch::lanes<Arch>::highest(high))) return false;
  }
  for (; i < n; ++i)
    if (!correctable(scale[i * stride])) return false;
  return true;
}

// Every element of a stretch has its own parameter.
template <class Arch, bool Divides, bool Splits, bool Checks, class Op>
TQ_FORCE_INLINE void per_lane_pieces(const Span& span, Op&& op) noexcept {
  Staged<Arch> stage;
  const std::size_t together = span.param_stride == 0 ? span.count : 1;  // stretches with the same parameters
  for (std::size_t r = 0; r < span.count; r += together)
    for (std::size_t c = 0; c < span.length; c += Staged<Arch>::capacity) {
      const std::size_t n = at_most(span.length - c, Staged<Arch>::capacity), p = r * span.param_stride + c;
      stage.put(0, span.scale + p, shifted(span.zero_point, p), n);
      stage.seal(n);
      const bool ok = Divides && stage.template invert<Splits, Checks>(n);
      const auto row = static_cast<std::ptrdiff_t>(r), col = static_cast<std::ptrdiff_t>(c);
      op(Stretches{row * span.source_stride + col, row * span.target_stride + col, n, together,
                   span.source_stride, span.target_stride},
         stage.lanes(span.zero_point != nullptr), ok);
    }
}

// Short stretches without gaps (3x3 convolution weights, a few channels last): many at a time, with a
// parameter per lane.
template <class Arch, bool Divides, bool Splits, bool Checks, class Op>
TQ_FORCE_INLINE void short_pieces(const Span& span, std::size_t start, Op&& op) noexcept {
  Staged<Arch> stage;
  const std::size_t per_stage = Staged<Arch>::capacity / span.length;
  bool ok = false;
  for (std::size_t r = 0; r < span.count; r += per_stage) {
    const std::size_t rows = at_most(span.count - r, per_stage);
    if (r == 0 || span.param_stride != 0) {
      for (std::size_t k = 0; k < rows; ++k) {
        const std::size_t p = (r + k) * span.param_stride;
        if (span.step == 1)
          stage.put(k * span.length, span.scale + p, shifted(span.zero_point, p), span.length);
        else
          stage.fill(k * span.length, span.scale[p], span.zero_point != nullptr ? span.zero_point[p] : 0,
                     span.length);
      }
      stage.seal(rows * span.length);
      ok = Divides && stage.template invert<Splits, Checks>(rows * span.length);
    }
    const auto at = static_cast<std::ptrdiff_t>(start + r * span.length);
    op(Stretches{at, at, rows * span.length, 1, 0, 0}, stage.lanes(span.zero_point != nullptr), ok);
  }
}

}  // namespace detail

/// Calls op(stretches, parameters, correctable) for contiguous stretches that together are `span`, with
/// `parameters` one of the four forms above; lane 0 is the first element of a stretch. `Divides`: op uses
/// reciprocals, and when it `Splits` also their rests; it `Checks` whether the scales are correctable.
template <class Arch, bool Divides, bool Splits = false, bool Checks = Divides, class S, class Op>
TQ_FORCE_INLINE void for_each_piece(const S& span, Op&& op) noexcept {
  constexpr std::size_t width = arch::width<Arch>, block = 4 * width, shared = detail::shared_of<S>;
  if (span.length == 0 || span.count == 0) return;
  const bool dense = span.source_stride == static_cast<std::ptrdiff_t>(span.length) &&
                     span.target_stride == static_cast<std::ptrdiff_t>(span.length);
  if (span.step == 0 && (span.count == 1 || (dense && span.param_stride == 0))) {
    op(Stretches{0, 0, span.length * span.count, 1, 0, 0},
       PerStretch<Arch, Divides, Splits>(span.scale, span.zero_point, 0, 1), correctable(*span.scale));
    return;
  }
  if constexpr (shared != one_parameter) {
    const auto may_be = [&](std::size_t length) TQ_LAMBDA_INLINE {
      return (shared == any_number || shared == length) && span.length == length;
    };
    const bool groups = dense && span.step == 0 && span.param_stride == 1 && (may_be(width) || may_be(2 * width) || may_be(block));
    if (groups) {
      const bool ok = Checks && detail::all_correctable<Arch>(span.scale, span.count, span.param_stride);
      // Whole blocks of groups: a block that ends early would read scales that are not there.
      const std::size_t count = span.count - span.count % (block / span.length);
      const Stretches whole{0, 0, span.length * count, 1, 0, 0};
      const auto go = [&]<std::size_t Batches>(std::integral_constant<std::size_t, Batches>) TQ_LAMBDA_INLINE {
        if constexpr (shared == any_number || shared == Batches * width)
          if (span.length == Batches * width)
            op(whole, PerGroupOfLanes<Arch, Batches, Splits>(span.scale, span.zero_point, count), ok);
      };
      go(std::integral_constant<std::size_t, 1>{});
      go(std::integral_constant<std::size_t, 2>{});
      go(std::integral_constant<std::size_t, 4>{});
      if (count != span.count) {
        Span rest = span;
        rest.count -= count;
        rest.scale += count;
        rest.zero_point = detail::shifted(span.zero_point, count);
        detail::short_pieces<Arch, Divides, Splits, Checks>(rest, count * span.length, op);
      }
      return;
    }
    if (dense && span.length < 2 * block) return detail::short_pieces<Arch, Divides, Splits, Checks>(span, 0, op);
    if (span.step == 1) return detail::per_lane_pieces<Arch, Divides, Splits, Checks>(span, op);
  }
  const bool ok = Checks && detail::all_correctable<Arch>(span.scale, span.count, span.param_stride);
  op(Stretches{0, 0, span.length, span.count, span.source_stride, span.target_stride},
     PerStretch<Arch, Divides, Splits>(span.scale, span.zero_point, span.param_stride, span.count), ok);
}

#endif

/// Calls op(source offset, target offset, scale, zero point) for every element of `span`.
template <class Op>
TQ_FORCE_INLINE void for_each_element(const Span& span, Op&& op) noexcept {
  for (std::size_t r = 0; r < span.count; ++r)
    for (std::size_t i = 0; i < span.length; ++i) {
      const std::size_t p = r * span.param_stride + i * span.step;
      op(static_cast<std::ptrdiff_t>(r) * span.source_stride + static_cast<std::ptrdiff_t>(i),
         static_cast<std::ptrdiff_t>(r) * span.target_stride + static_cast<std::ptrdiff_t>(i), span.scale[p],
         span.zero_point != nullptr ? span.zero_point[p] : 0);
    }
}

}  // namespace tq::kernels
