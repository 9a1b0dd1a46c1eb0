// SPDX-License-Identifier: MIT
#pragma once
// From any Span to contiguous stretches with one form of parameters: for_each_piece(); or to its elements.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/arch/lookup.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/params.hpp>
#include <tq/kernels/quotient.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

#if TQ_HAS_SIMD

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

namespace detail {
// The smallest and the largest of scales, as bits, which have the order of positive values and put every other far below or
// above them, NaN too: the smallest of two floats, one of them NaN, depends on the version of xsimd.
template <class Arch>
struct ScaleBits {
  using I = arch::ints<Arch>;
  I low = I(std::bit_cast<std::int32_t>(1.0f)), high = low;

  TQ_FORCE_INLINE void add(const arch::floats<Arch>& scales) noexcept {
    const I bits = arch::bit_cast<std::int32_t>(scales);
    low = xsimd::min(low, bits);
    high = xsimd::max(high, bits);
  }
  [[nodiscard]] TQ_FORCE_INLINE bool all_correctable() const noexcept {
    return !xsimd::any(low < I(std::bit_cast<std::int32_t>(least_correctable))) &&
           !xsimd::any(high > I(std::bit_cast<std::int32_t>(most_correctable)));
  }
};

// Copies scales, whole batches of them up to n, and takes their reciprocals; true when all are correctable, or no one asks.
template <class Arch, bool Splits, bool Checks>
TQ_FORCE_INLINE bool invert(const float* scale, std::size_t n, float* scales, float* inverses, float* rests) noexcept {
  using F = arch::floats<Arch>;
  ScaleBits<Arch> seen;
  for (std::size_t i = 0; i < n; i += F::size) {
    const F s = F::load_unaligned(scale + i);
    const F inverse = arch::divide<Arch>(F(1.0f), s);
    s.store_aligned(scales + i);
    inverse.store_aligned(inverses + i);
    if constexpr (Splits) rest_of<Arch>(s, inverse).store_aligned(rests + i);
    if constexpr (Checks) seen.add(s);
  }
  return seen.all_correctable();
}
}  // namespace detail

/// Parameters per lane on the stack, with their reciprocals, padded to whole blocks.
template <class Arch>
struct Staged {
  static constexpr std::size_t width = arch::width<Arch>, page = 4096;
  static constexpr std::size_t capacity = 1024, padding = 4 * width, bytes = (capacity + padding) * sizeof(float);
  static constexpr std::size_t most_rows = 128;  // that repeat() takes
  alignas(64) unsigned char memory[4 * bytes + page];
  float* scales;
  float* inverses;
  float* rests;
  std::int32_t* zeros;

  // Where floats are written to `out`, one for each parameter read, the parameters lie 1 KiB and more after them within a
  // page: processors tell loads from the stores before them by the lowest 12 bits, and parameters up to 512 bytes before
  // took up to twice as long.
  TQ_FORCE_INLINE explicit Staged(const float* out) noexcept {
    const auto line = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) / 64 * 64; };
    unsigned char* first = memory + (out != nullptr ? (line(out) + page / 4 - line(memory)) % page : 0);
    scales = reinterpret_cast<float*>(first);
    inverses = reinterpret_cast<float*>(first + bytes);
    rests = reinterpret_cast<float*>(first + 2 * bytes);
    zeros = reinterpret_cast<std::int32_t*>(first + 3 * bytes);
  }

  // Copies n parameters to position `at`.
  TQ_FORCE_INLINE void put(std::size_t at, const float* scale, const std::int32_t* zero, std::size_t n) noexcept {
    std::memcpy(scales + at, scale, n * sizeof(float));
    put_zeros(at, zero, n);
  }
  TQ_FORCE_INLINE void put_zeros(std::size_t at, const std::int32_t* zero, std::size_t n) noexcept {
    if (zero != nullptr) std::memcpy(zeros + at, zero, n * sizeof(std::int32_t));
  }
  // n parameters padded to whole blocks.
  static constexpr std::size_t padded(std::size_t n) noexcept { return (n + padding - 1) / padding * padding; }
  // Pads after n parameters.
  TQ_FORCE_INLINE void seal(std::size_t n) noexcept {
    for (std::size_t i = 0; i < padding; i += width) {
      arch::floats<Arch>(1.0f).store_unaligned(scales + n + i);
      arch::ints<Arch>(0).store_unaligned(zeros + n + i);
    }
  }
  // Copies n scales, padded to whole blocks, and takes their reciprocals; true when all are correctable, or no one asks.
  template <bool Splits, bool Checks>
  TQ_FORCE_INLINE bool invert(const float* scale, std::size_t n) noexcept {
    return detail::invert<Arch, Splits, Checks>(scale, padded(n), scales, inverses, rests);
  }
  // Repeats each of `rows` parameters, `stride` apart, `length` times, padded to whole blocks, with their reciprocals if an op
  // `Divides`; true when all are correctable, or no one asks.
  template <bool Divides, bool Splits, bool Checks>
  TQ_NO_INLINE bool repeat(const float* scale, const std::int32_t* zero, std::size_t stride, std::size_t rows,
                           std::size_t length) noexcept {
    using F = arch::floats<Arch>;
    constexpr std::size_t read = most_rows + padding + 2 * width;  // of each table, at most
    alignas(64) float row_scales[read], row_inverses[read], row_rests[read], row_zeros[read], lane[width];
    for (std::size_t k = rows / width * width; k < rows + padding + width; k += width) {
      F(1.0f).store_aligned(row_scales + k);
      if constexpr (Divides) F(1.0f).store_aligned(row_inverses + k);
      if constexpr (Splits) F(0.0f).store_aligned(row_rests + k);
      F(0.0f).store_aligned(row_zeros + k);
    }
    for (std::size_t k = 0; k < rows; ++k) row_scales[k] = scale[k * stride];
    if (zero != nullptr)  // their bits
      for (std::size_t k = 0; k < rows; ++k) std::memcpy(row_zeros + k, zero + k * stride, sizeof(float));
    const bool ok = Divides && detail::invert<Arch, Splits, Checks>(row_scales, rows, row_scales, row_inverses, row_rests);
    // Lane k of a batch that begins `phase` elements after `row` does is of the row that is (phase + k) / length further.
    for (std::size_t k = 0; k < width; ++k) lane[k] = static_cast<float>(k) + 0.5f;
    const F first = F::load_aligned(lane), per_row(1.0f / static_cast<float>(length));
    const std::size_t rows_further = width / length, elements_further = width % length;
    float *const to_scales = scales, *const to_inverses = inverses, *const to_rests = rests;
    std::int32_t* const to_zeros = zeros;
    for (std::size_t i = 0, row = 0, phase = 0; i < padded(rows * length); i += width) {
      const auto index = arch::truncate_to_int<Arch>((first + F(static_cast<float>(phase))) * per_row);
      const auto of = [&](const float* table) TQ_LAMBDA_INLINE { return arch::lookup<Arch, width>(table + row, index); };
      of(row_scales).store_aligned(to_scales + i);
      if constexpr (Divides) of(row_inverses).store_aligned(to_inverses + i);
      if constexpr (Splits) of(row_rests).store_aligned(to_rests + i);
      if (zero != nullptr) arch::bit_cast<std::int32_t>(of(row_zeros)).store_aligned(to_zeros + i);
      row += rows_further;
      phase += elements_further;
      if (phase >= length) {
        phase -= length;
        ++row;
      }
    }
    return ok;
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
    ScaleBits<Arch> seen;
    for (; i + F::size <= n; i += F::size) seen.add(F::load_unaligned(scale + i));
    if (!seen.all_correctable()) return false;
  }
  for (; i < n; ++i)
    if (!correctable(scale[i * stride])) return false;
  return true;
}

// Every element of a stretch has its own parameter.
template <class Arch, bool Divides, bool Splits, bool Checks, class Op>
TQ_FORCE_INLINE void per_lane_pieces(const Span& span, const float* out, Op&& op) noexcept {
  Staged<Arch> stage(out);
  const std::size_t together = span.param_stride == 0 ? span.count : 1;  // stretches with the same parameters
  for (std::size_t r = 0; r < span.count; r += together)
    for (std::size_t c = 0; c < span.length; c += Staged<Arch>::capacity) {
      const std::size_t n = at_most(span.length - c, Staged<Arch>::capacity), p = r * span.param_stride + c;
      const bool whole = Divides && n % Staged<Arch>::padding == 0;  // then copied when divided
      if (whole) {
        stage.put_zeros(0, shifted(span.zero_point, p), n);
      } else {
        stage.put(0, span.scale + p, shifted(span.zero_point, p), n);
        stage.seal(n);
      }
      const bool ok = Divides && stage.template invert<Splits, Checks>(whole ? span.scale + p : stage.scales, n);
      const auto row = static_cast<std::ptrdiff_t>(r), col = static_cast<std::ptrdiff_t>(c);
      op(Stretches{row * span.source_stride + col, row * span.target_stride + col, n, together,
                   span.source_stride, span.target_stride},
         stage.lanes(span.zero_point != nullptr), ok);
    }
}

// The same of stretches with the same parameters, each at one go.
template <class Arch, class Op>
TQ_FORCE_INLINE void column_pieces(const Span& span, bool ok, Op&& op) noexcept {
  constexpr std::size_t block = 4 * arch::width<Arch>;
  const std::size_t whole = span.length / block * block, rest = span.length - whole;
  float last_scales[block];
  std::int32_t last_zeros[block] = {};
  for (float& s : last_scales) s = 1.0f;
  std::memcpy(last_scales, span.scale + whole, rest * sizeof(float));
  if (span.zero_point != nullptr) std::memcpy(last_zeros, span.zero_point + whole, rest * sizeof(std::int32_t));
  op(Stretches{0, 0, span.length, span.count, span.source_stride, span.target_stride},
     PerColumn<Arch>{span.scale, span.zero_point, whole, last_scales, last_zeros}, ok);
}

// Of so many rows of `length` as many as fill whole blocks, or lines of codes, if there are some: then each stage begins
// at the start of one.
template <class Arch>
TQ_FORCE_INLINE std::size_t whole_blocks(std::size_t rows, std::size_t length) noexcept {
  const std::size_t power_of_two = length & (~length + 1);  // the largest that divides it
  for (const std::size_t block : {4 * arch::width<Arch>, std::size_t{16}}) {
    const std::size_t unit = block / at_most(block, power_of_two);
    if (rows >= unit) return rows - rows % unit;
  }
  return rows;
}

// Short stretches without gaps (3x3 convolution weights, a few channels last): many at a time, with a
// parameter per lane.
template <class Arch, bool Divides, bool Splits, bool Checks, class Op>
TQ_FORCE_INLINE void short_pieces(const Span& span, std::size_t start, const float* out, Op&& op) noexcept {
  Staged<Arch> stage(out);
  const bool repeats = span.step == 0;
  const std::size_t per_stage =
      whole_blocks<Arch>(at_most(Staged<Arch>::capacity / span.length, repeats ? Staged<Arch>::most_rows : span.count), span.length);
  bool ok = false;
  for (std::size_t r = 0; r < span.count; r += per_stage) {
    const std::size_t rows = at_most(span.count - r, per_stage), p = r * span.param_stride;
    if (repeats) {
      ok = stage.template repeat<Divides, Splits, Checks>(span.scale + p, shifted(span.zero_point, p), span.param_stride, rows,
                                                          span.length);
    } else if (r == 0 || span.param_stride != 0) {
      for (std::size_t k = 0; k < rows; ++k)
        stage.put(k * span.length, span.scale + p + k * span.param_stride,
                  shifted(span.zero_point, p + k * span.param_stride), span.length);
      stage.seal(rows * span.length);
      ok = Divides && stage.template invert<Splits, Checks>(stage.scales, rows * span.length);
    }
    const auto at = static_cast<std::ptrdiff_t>(start + r * span.length);
    op(Stretches{at, at, rows * span.length, 1, 0, 0}, stage.lanes(span.zero_point != nullptr), ok);
  }
}

template <class Arch, bool Divides, bool Splits, bool Checks, class S, class Op>
TQ_FORCE_INLINE void pieces_of(const S& span, const float* out, Op&& op, [[maybe_unused]] bool from_memory) noexcept {
  constexpr std::size_t width = arch::width<Arch>, block = 4 * width, shared = shared_of<S>;
  if (span.length == 0 || span.count == 0) return;
  const bool dense = span.source_stride == static_cast<std::ptrdiff_t>(span.length) &&
                     span.target_stride == static_cast<std::ptrdiff_t>(span.length);
  const auto per_stretch = [&](std::size_t stride, std::size_t count) TQ_LAMBDA_INLINE {
    if constexpr (shared == one_parameter)
      return ForAll<Arch>{*span.scale, span.zero_point != nullptr ? *span.zero_point : 0};
    else
      return PerStretch<Arch, Divides, Splits>(span.scale, span.zero_point, stride, count);
  };
  if (span.step == 0 && (span.count == 1 || (dense && span.param_stride == 0))) {
    op(Stretches{0, 0, span.length * span.count, 1, 0, 0}, per_stretch(0, 1), correctable(*span.scale));
    return;
  }
  if constexpr (shared != one_parameter) {
    const auto may_be = [&](std::size_t length) TQ_LAMBDA_INLINE {
      return (shared == any_number || shared == length) && span.length == length;
    };
    const bool groups = dense && span.step == 0 && span.param_stride == 1 && (may_be(width) || may_be(2 * width) || may_be(block));
    if (groups) {
      const bool ok = Checks && all_correctable<Arch>(span.scale, span.count, span.param_stride);
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
        rest.zero_point = shifted(span.zero_point, count);
        short_pieces<Arch, Divides, Splits, Checks>(rest, count * span.length, out, op);
      }
      return;
    }
    if (dense && span.length < block) return short_pieces<Arch, Divides, Splits, Checks>(span, 0, out, op);
    if (span.step == 1) {
      if constexpr (is_known<S> && shared == any_number) {
        const bool alike = span.param_stride == 0 || span.count == 1;
        const bool stays = span.length <= Staged<Arch>::capacity && arch::keeps_parameters();  // copied, and aligned
        if (from_memory && alike && !stays && (!Divides || arch::divides_fast()) &&
            (!Checks || all_correctable<Arch>(span.scale, span.length, 1)))
          return column_pieces<Arch>(span, Divides, op);
      }
      return per_lane_pieces<Arch, Divides, Splits, Checks>(span, out, op);
    }
  }
  const bool ok = Checks && all_correctable<Arch>(span.scale, span.count, span.param_stride);
  op(Stretches{0, 0, span.length, span.count, span.source_stride, span.target_stride},
     per_stretch(span.param_stride, span.count), ok);
}

}  // namespace detail

/// Calls op(stretches, parameters, correctable) for contiguous stretches that together are `span`, with
/// `parameters` one of the forms of params.hpp; lane 0 is the first element of a stretch. `Divides`: op uses
/// reciprocals, and when it `Splits` also their rests; it `Checks` whether the scales are correctable. `out`: where op writes a
/// float for each element, or nullptr. `from_memory`: op may write past the cache, which is over when this returns. PerColumn
/// is for that, unless the processor keeps_parameters() of stretches so short, and if the type is known: kernels for any type
/// are many already.
template <class Arch, bool Divides, bool Splits = false, bool Checks = Divides, class S, class Op>
TQ_FORCE_INLINE void for_each_piece(const S& span, const float* out, Op&& op, bool from_memory) noexcept {
  detail::pieces_of<Arch, Divides, Splits, Checks>(span, out, op, from_memory);
  if (from_memory) arch::lanes<Arch>::fence();
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
