// SPDX-License-Identifier: MIT
#pragma once
// How a kernel gets at scales and zero points: one for all lanes, one per stretch, one per group of lanes, or
// one per lane. pieces.hpp turns any Span into contiguous stretches with one of these.

#include <tq/arch/lanes.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/kernels/quotient.hpp>

#include <cstddef>
#include <cstdint>

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
  /// Calls f(r, where it begins in the source, and in the target) for each stretch r.
  template <class F>
  TQ_FORCE_INLINE void each(F&& f) const noexcept {
    std::ptrdiff_t from = source, to = target;
    for (std::size_t r = 0; r < count; ++r, from += source_stride, to += target_stride) f(r, from, to);
  }
};

/// Whether multiplications take the reciprocals of these parameters from memory themselves, each one for all lanes.
template <class Arch, class Params>
inline constexpr bool spreads = requires(const Params& p) {
  arch::lanes<Arch>::multiply_by(p.scale(0, 0), p.inverse_at(0, 0));
};

// The forms. at(r) gives the form for stretch r, for ascending r; prepare(i) is called before the block at element i of a
// stretch is divided, for ascending i; the others give the lanes of batch k of that block. `shifts`: blocks may begin at any
// element and come in any order, so that streaming stores can be aligned. `has_reciprocals`: they are at hand.
// `per_lane`: each lane has its own.

/// x * inverse, x * rest, and x * inverse + y, as cursors have them.
template <class Arch, class Self>
struct ByReciprocals {
  using Floats = arch::floats<Arch>;
  TQ_FORCE_INLINE Floats divided(const Floats& x, std::size_t i, std::size_t k) const noexcept {
    return x * self().inverse(i, k);
  }
  TQ_FORCE_INLINE Floats by_rest(const Floats& x, std::size_t i, std::size_t k) const noexcept {
    return x * self().rest(i, k);
  }
  TQ_FORCE_INLINE Floats divided_plus(const Floats& x, const Floats& y, std::size_t i, std::size_t k) const noexcept {
    return arch::lanes<Arch>::fma(x, self().inverse(i, k), y);
  }

 private:
  TQ_FORCE_INLINE const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

/// One parameter: it stays in registers, what a loop needs of it. Scalars become lanes only there: rows are often short.
template <class Arch>
struct Constant : ByReciprocals<Arch, Constant<Arch>> {
  static constexpr bool shifts = true, has_reciprocals = true, per_lane = false;
  using F = arch::floats<Arch>;
  float scale_;
  F inverse_, rest_;
  std::int32_t zero_;

  TQ_FORCE_INLINE Constant(float scale, std::int32_t zero) noexcept
      : scale_(scale), inverse_(1.0f / scale), rest_(rest_of<Arch>(F(scale), inverse_)), zero_(zero) {}
  TQ_FORCE_INLINE Constant(float scale, std::int32_t zero, float inverse, float rest) noexcept
      : scale_(scale), inverse_(inverse), rest_(rest), zero_(zero) {}
  TQ_FORCE_INLINE const Constant& at(std::size_t) const noexcept { return *this; }
  TQ_FORCE_INLINE void prepare(std::size_t) const noexcept {}
  TQ_FORCE_INLINE F scale(std::size_t, std::size_t) const noexcept { return F(scale_); }
  TQ_FORCE_INLINE const F& inverse(std::size_t, std::size_t) const noexcept { return inverse_; }
  TQ_FORCE_INLINE const F& rest(std::size_t, std::size_t) const noexcept { return rest_; }
  TQ_FORCE_INLINE arch::ints<Arch> zero(std::size_t, std::size_t) const noexcept { return arch::ints<Arch>(zero_); }
  TQ_FORCE_INLINE auto zero16(std::size_t, std::size_t) const noexcept { return arch::lanes<Arch>::splat16(zero_); }
};

/// One parameter for all stretches.
template <class Arch>
struct ForAll {
  static constexpr bool shifts = true, has_reciprocals = true, per_lane = false;
  float scale;
  std::int32_t zero;

  TQ_FORCE_INLINE Constant<Arch> at(std::size_t) const noexcept { return {scale, zero}; }
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
  static constexpr bool shifts = true, has_reciprocals = true, per_lane = false;
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
    if constexpr (!Divides) return {scale, zero};
    if (r % width == 0) {
      if (count == 1) return {scale, zero};
      of_batch.take(scales + r * stride, stride, count - r);
    }
    return {scale, zero, of_batch.inverses[r % width], of_batch.rests[r % width]};
  }
};

/// A parameter per element, in arrays that reach to the end of the last block.
template <class Arch>
struct PerLane : ByReciprocals<Arch, PerLane<Arch>> {
  static constexpr bool shifts = false, has_reciprocals = true, per_lane = true;
  const float* scales;
  const float* inverses;
  const float* rests;
  const std::int32_t* zeros;  // may be null

  TQ_FORCE_INLINE PerLane(const float* scale, const float* inverse, const float* rest, const std::int32_t* zero) noexcept
      : scales(scale), inverses(inverse), rests(rest), zeros(zero) {}
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

/// A parameter per element, where the caller has them; `last_scales` and `last_zeros` are those from the last whole block on,
/// padded to one. Reciprocals are taken when they are needed: where elements come from memory and dividing is fast, that costs
/// less than reciprocals that displace them from the first cache, and rows stay in one piece.
template <class Arch>
struct PerColumn : ByReciprocals<Arch, PerColumn<Arch>> {
  static constexpr bool shifts = false, has_reciprocals = false, per_lane = true;
  static constexpr std::size_t width = arch::width<Arch>;
  const float* scales;
  const std::int32_t* zeros;  // may be null
  std::size_t whole;          // elements in whole blocks
  const float* last_scales;
  const std::int32_t* last_zeros;

  TQ_FORCE_INLINE PerColumn(const float* scale, const std::int32_t* zero, std::size_t in_whole, const float* last_scale,
                            const std::int32_t* last_zero) noexcept
      : scales(scale), zeros(zero), whole(in_whole), last_scales(last_scale), last_zeros(last_zero) {}
  TQ_FORCE_INLINE const PerColumn& at(std::size_t) const noexcept { return *this; }
  TQ_FORCE_INLINE void prepare(std::size_t) const noexcept {}
  TQ_FORCE_INLINE auto scale(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>::load_unaligned((i < whole ? scales + i : last_scales) + k * width);
  }
  TQ_FORCE_INLINE auto inverse(std::size_t i, std::size_t k) const noexcept {
    return arch::divide<Arch>(arch::floats<Arch>(1.0f), scale(i, k));
  }
  TQ_FORCE_INLINE auto zero(std::size_t i, std::size_t k) const noexcept {
    using I = arch::ints<Arch>;
    return zeros != nullptr ? I::load_unaligned((i < whole ? zeros + i : last_zeros) + k * width) : I(0);
  }
  TQ_FORCE_INLINE auto zero16(std::size_t i, std::size_t k) const noexcept {
    return arch::lanes<Arch>::pack16(zero(i, k), zero(i, k + 1));
  }
};

/// A parameter per group of `Batches` batches (1, 2 or 4). Reciprocals are taken for a batch of groups at a
/// time while those of the batch before are used, so that nothing waits for the divider; scales are asked for long before,
/// as processors do not look ahead for a line that is needed so rarely.
template <class Arch, std::size_t Batches, bool Splits>
struct PerGroupOfLanes {
  static constexpr bool shifts = false, has_reciprocals = true, per_lane = false;
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
  TQ_FORCE_INLINE const float* inverse_at(std::size_t i, std::size_t k) const noexcept {
    return of_batches[i / elements / width % 2].inverses + i / elements % width + k / Batches;
  }
  TQ_FORCE_INLINE const float* rest_at(std::size_t i, std::size_t k) const noexcept {
    return of_batches[i / elements / width % 2].rests + i / elements % width + k / Batches;
  }
  TQ_FORCE_INLINE auto inverse(std::size_t i, std::size_t k) const noexcept {
    return arch::floats<Arch>(*inverse_at(i, k));
  }
  TQ_FORCE_INLINE arch::floats<Arch> divided(const arch::floats<Arch>& x, std::size_t i, std::size_t k) const noexcept {
    return times(x, inverse_at(i, k));
  }
  TQ_FORCE_INLINE arch::floats<Arch> by_rest(const arch::floats<Arch>& x, std::size_t i, std::size_t k) const noexcept {
    return times(x, rest_at(i, k));
  }
  TQ_FORCE_INLINE arch::floats<Arch> divided_plus(const arch::floats<Arch>& x, const arch::floats<Arch>& y, std::size_t i,
                                                  std::size_t k) const noexcept {
    using L = arch::lanes<Arch>;
    if constexpr (requires { L::fma_by(x, inverse_at(i, k), y); }) return L::fma_by(x, inverse_at(i, k), y);
    else return L::fma(x, inverse(i, k), y);
  }
  TQ_FORCE_INLINE auto zero(std::size_t i, std::size_t k) const noexcept {
    return arch::ints<Arch>(zeros != nullptr ? zeros[i / elements + k / Batches] : 0);
  }
  TQ_FORCE_INLINE auto zero16(std::size_t i, std::size_t k) const noexcept {
    return arch::lanes<Arch>::pack16(zero(i, k), zero(i, k + 1));
  }

 private:
  static TQ_FORCE_INLINE arch::floats<Arch> times(const arch::floats<Arch>& x, const float* y) noexcept {
    if constexpr (requires { arch::lanes<Arch>::multiply_by(x, y); }) return arch::lanes<Arch>::multiply_by(x, y);
    else return x * arch::floats<Arch>(*y);
  }
};

#endif

}  // namespace tq::kernels
