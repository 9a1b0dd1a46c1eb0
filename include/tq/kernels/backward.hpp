// SPDX-License-Identifier: MIT
#pragma once
// The gradient of fake quantization, with respect to the input and to the parameters, for any
// gradient policy.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/backward_elements.hpp>
#include <tq/kernels/gradient_point.hpp>
#include <tq/kernels/gradient_rows.hpp>
#include <tq/kernels/quotient_simd.hpp>
#include <tq/kernels/round.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// gx = Gradient::input, and the sums per parameter of gy * Gradient::scale and gy *
/// Gradient::offset. `index` is the place of the first element. The sums are the same bits for the
/// same rows, wherever they lie, but not on every instruction set.
template <class Arch, bool Integers, NumericsPolicy N, class Gradient>
struct backward;

/// Without SIMD.
template <bool Integers, NumericsPolicy N, class Gradient>
struct backward<arch::scalar, Integers, N, Gradient>
    : detail::backward_elements<arch::scalar, Integers, N, Gradient> {};

#if TQ_HAS_SIMD

template <class Arch, bool Integers, NumericsPolicy N, class Gradient>
struct backward {
  static void run(const Gradients& g, const GradientRows& rows, Bounds bounds, const N& n,
                  std::uint64_t index, ParameterSums sums) noexcept {
    if (rows.count == 0) return;
    if (rows.length < width / 2) {
      detail::backward_elements<Arch, Integers, N, Gradient>::run(g, rows, bounds, n, index, sums);
      return;
    }
    if (rows.param_row == 0 && rows.sum_row == 0 && rows.param_step == 0)
      return together({{g, index}, rows.length, rows.count, &rows, bounds}, rows.scale,
                      rows.zero_point, n, sums);
    for (std::size_t r = 0; r < rows.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      const std::size_t p = r * rows.param_row;
      together({{g.from(row * rows.x, row * rows.y, row * rows.gy, row * rows.gx),
                 index + static_cast<std::uint64_t>(row * rows.draw_step)},
                rows.length,
                1,
                &rows,
                bounds},
               rows.scale + p, rows.zero_point != nullptr ? rows.zero_point + p : nullptr, n,
               sums.from(r * rows.sum_row));
    }
  }

 private:
  using L = arch::lanes<Arch>;
  using Floats = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  using M = xsimd::batch_bool<float, Arch>;
  using Point = GradientPoint<Floats, M>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr int learned = detail::learned<Gradient>;

  // Where elements lie, and what draws are made of for the first one.
  struct Place {
    Gradients arrays;
    std::uint64_t index;
    [[nodiscard]] TQ_FORCE_INLINE Place further(std::size_t i) const noexcept {
      return {{arrays.x + i, Integers ? nullptr : arrays.y + i, arrays.gy + i, arrays.gx + i},
              index + i};
    }
  };

  // Rows that share a parameter, or one row.
  struct Row {
    Place at;
    std::size_t length, count;
    const GradientRows* rows;  // how far they are apart
    Bounds bounds;
  };

  // The codes, and whether they end at the zero point.
  struct Codes {
    Bounds bounds;
    bool end_at_zero;
  };

  struct Parameter {
    float scale;
    std::int32_t zero_point;
  };

  static TQ_FORCE_INLINE void together(const Row& at, const float* scale, const std::int32_t* zero,
                                       const N& n, ParameterSums to) noexcept {
    constexpr Quotient fast = fast_quotient<Arch, N>;
    if (at.rows->param_step != 0) return elements(at, Each{scale, zero, at.rows->sum_step}, n, to);
    const Parameter one{*scale, zero != nullptr ? *zero : 0};
    if constexpr (Integers && has_fast_path<N>)
      if (!needs_correctable(fast) ||
          (at.bounds.high - at.bounds.low <= 255 && correctable(one.scale)))
        return stretch<true>(at, one, n, to);
    stretch<false>(at, one, n, to);
  }

  // A parameter per element: a cursor over arrays.
  struct Each {
    const float* scales;
    const std::int32_t* zeros;  // may be null
    std::size_t sum_step;
    TQ_FORCE_INLINE Floats scale(std::size_t i, std::size_t k) const noexcept {
      return Floats::load_unaligned(scales + i + k * width);
    }
    TQ_FORCE_INLINE Floats divided(const Floats& v, std::size_t i, std::size_t k) const noexcept {
      return v * arch::divide<Arch>(Floats(1.0f), scale(i, k));
    }
    TQ_FORCE_INLINE I zero(std::size_t i, std::size_t k) const noexcept {
      return zeros != nullptr ? I::load_unaligned(zeros + i + k * width) : I(0);
    }
  };

  // The bounds that values of a batch are compared with, in steps from the zero point.
  struct Levels {
    Floats zero_point, low, high;
    TQ_FORCE_INLINE Levels(const I& zero, Bounds bounds) noexcept
        : zero_point(Integers ? xsimd::to_float(zero) : Floats(0.0f)),
          low(Floats(bounds.low) - zero_point),
          high(Floats(bounds.high) - zero_point) {}
  };

  // One parameter, in registers: loops would make some of it anew for each block.
  struct One {
    Floats lanes_of_scale, lanes_of_inverse;
    Levels levels;
    TQ_FORCE_INLINE One(const Parameter& p, Bounds bounds) noexcept
        : lanes_of_scale(kept(Floats(p.scale))),
          lanes_of_inverse(1.0f / p.scale),
          levels(I(p.zero_point), bounds) {
      for (Floats* level : {&levels.zero_point, &levels.low, &levels.high}) *level = kept(*level);
    }
    TQ_FORCE_INLINE const Floats& scale(std::size_t, std::size_t) const noexcept {
      return lanes_of_scale;
    }
    TQ_FORCE_INLINE const Floats& inverse(std::size_t, std::size_t) const noexcept {
      return lanes_of_inverse;
    }
    TQ_FORCE_INLINE Floats divided(const Floats& v, std::size_t, std::size_t) const noexcept {
      return v * lanes_of_inverse;
    }
    static TQ_FORCE_INLINE Floats kept(const Floats& v) noexcept {
      return Floats(arch::kept(typename Floats::register_type(v)));
    }
  };
  static TQ_FORCE_INLINE const Levels& levels_of(const One& p, std::size_t, std::size_t,
                                                 Bounds) noexcept {
    return p.levels;
  }
  static TQ_FORCE_INLINE Levels levels_of(const Each& p, std::size_t i, std::size_t k,
                                          Bounds bounds) noexcept {
    return {p.zero(i, k), bounds};
  }

  // The summands of a block's four batches.
  struct Added {
    Floats scale[4], offset[4];
  };

  // One block of whole batches; false where a value is NaN, and then nothing is done. The corrected
  // quotient is that of the division but where it underflows, which matters where codes end at 0:
  // whether a value is 0 or beside it.
  template <bool Fast, class Params>
  static TQ_FORCE_INLINE bool values(const float* x, const Params& p, std::size_t i,
                                     bool end_at_zero, Floats (&v)[4]) noexcept {
    constexpr Quotient q = fast_quotient<Arch, N>;
    Floats at[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      at[k] = Floats::load_unaligned(x + k * width);
      if constexpr (Fast) v[k] = quotient<q, Arch>(at[k], p, i, k);
      else v[k] = exact_quotient<Arch, N>(at[k], p, i, k);
    }
    if constexpr (Fast && q == Quotient::corrected) {
      if (end_at_zero) {
        const auto underflows = [&](std::size_t k) TQ_LAMBDA_INLINE {
          return (xsimd::abs(v[k]) < Floats(0x1p-126f)) & (at[k] != Floats(0.0f));
        };
        if (xsimd::any((underflows(0) | underflows(1)) | (underflows(2) | underflows(3))))
            [[unlikely]]
          return false;
      }
    }
    return !L::any_nan(v[0], v[1], v[2], v[3]);
  }

  // The rounded value as far as it matters whether it is a code.
  static TQ_FORCE_INLINE I beyond_codes(const Floats& v, const Floats& low, const Floats& high,
                                        const N& n, std::uint64_t index) noexcept {
    if constexpr (std::is_same_v<typename N::rounding_type, NearestEven>)
      return arch::round_to_int<Arch>(v);  // what int32 does not hold becomes one of its ends
    else
      return round_with<Arch>(n.rounding,
                              arch::clamp<Arch>(v, low - Floats(1.0f), high + Floats(1.0f)), index);
  }

  template <bool Fast, class Params>
  static TQ_FORCE_INLINE bool one_block(const Place& at, const Params& params, std::size_t i,
                                        Codes codes, const N& n, Added& added) noexcept {
    const Gradients& g = at.arrays;
    Floats v[4];
    if (!values<Fast>(g.x, params, i, codes.end_at_zero, v)) [[unlikely]]
      return false;
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      Point p;
      p.upstream =
          arch::load_once<Arch>(g.gy + k * width);  // not by a mask: that would wait for it
      p.value = v[k];
      p.scale = params.scale(i, k);
      const Levels& levels = levels_of(params, i, k, codes.bounds);
      p.zero_point = levels.zero_point;
      p.low = levels.low;
      p.high = levels.high;
      if constexpr (Integers) {
        const Floats rounded =
            xsimd::to_float(beyond_codes(v[k], p.low, p.high, n, at.index + k * width));
        p.inside = (rounded >= p.low) & (rounded <= p.high);
        p.code = xsimd::to_float(round_with<Arch>(
            n.rounding, arch::clamp<Arch>(v[k], p.low, p.high), at.index + k * width));
      } else {
        p.code = arch::divide<Arch>(Floats::load_unaligned(g.y + k * width), p.scale);
        p.inside = (v[k] >= p.low) & (v[k] <= p.high);
      }
      if constexpr (learned > 0) added.scale[k] = p.upstream * Gradient::scale(p);
      if constexpr (learned > 1) added.offset[k] = p.upstream * Gradient::offset(p);
      Floats(Gradient::input(p)).store_unaligned(g.gx + k * width);
    }
    return true;
  }

  // All lanes of four batches.
  static TQ_FORCE_INLINE double total(const Floats (&v)[4]) noexcept {
    alignas(64) float lanes[width];
    Floats((v[0] + v[1]) + (v[2] + v[3])).store_aligned(lanes);
    double sum = 0;
    for (const float lane : lanes) sum += static_cast<double>(lane);
    return sum;
  }
  static TQ_FORCE_INLINE void add_total(ParameterSums to, const Added& added) noexcept {
    if constexpr (learned > 0) *to.scale += total(added.scale);
    if constexpr (learned > 1) *to.offset += total(added.offset);
  }

  // Takes the rest of a row, or a block with NaN, element by element.
  static TQ_RARE void rest(const Place& at, const GradientRows& row, Bounds bounds, const N& n,
                           ParameterSums to) noexcept {
    detail::backward_elements<Arch, Integers, N, Gradient>::run(at.arrays, row, bounds, n, at.index,
                                                                to);
  }
  static GradientRows row_of(std::size_t length, const Parameter& p) noexcept {
    return {.length = length, .scale = &p.scale, .zero_point = &p.zero_point};
  }
  static GradientRows row_of(std::size_t length, const Each& p, std::size_t i) noexcept {
    return {.length = length,
            .scale = p.scales + i,
            .zero_point = p.zeros != nullptr ? p.zeros + i : nullptr,
            .param_step = 1,
            .sum_step = p.sum_step};
  }

  // One parameter. Lanes are summed in float32 for `patience` blocks, of one row or of many, in
  // double from there on.
  template <bool Fast>
  static TQ_NO_INLINE void stretch(const Row& row, const Parameter& params, const N& n,
                                   ParameterSums to) noexcept {
    constexpr std::size_t patience = 64;
    const Row all = row;
    const One p(params, all.bounds);
    const Parameter own = params;
    const auto zero = static_cast<float>(own.zero_point);
    const Codes codes{all.bounds, all.bounds.low == zero || all.bounds.high == zero};
    Added sums;
    std::size_t left = patience;
    const std::size_t length = all.length;
    Place at = all.at;
    for (std::size_t r = 0;;) {
      std::size_t i = 0;
      while (length - i >= block) {
        const std::size_t blocks = std::min(left, (length - i) / block), last = i + blocks * block;
        if (left == patience)
          TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) sums.scale[k] = sums.offset[k] =
              Floats(0.0f);
        for (; i < last; i += block) {
          Added added;
          if (!one_block<Fast>(at.further(i), p, 0, codes, n, added)) [[unlikely]] {
            rest(at.further(i), row_of(block, own), all.bounds, n, to);
            continue;
          }
          TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
            if constexpr (learned > 0) sums.scale[k] = sums.scale[k] + added.scale[k];
            if constexpr (learned > 1) sums.offset[k] = sums.offset[k] + added.offset[k];
          }
        }
        left -= blocks;
        if (left == 0) add_total(to, sums), left = patience;
      }
      if (i != length) {
        if (left != patience) add_total(to, sums), left = patience;
        tail<Fast>(at.further(i), length - i, own, p, codes, n, to);
      }
      if (++r == all.count) break;
      at = {at.arrays.from(all.rows->x, all.rows->y, all.rows->gy, all.rows->gx),
            at.index + static_cast<std::uint64_t>(all.rows->draw_step)};
    }
    if (left != patience) add_total(to, sums);
  }

  // Fewer elements than a block, in one filled up with zeros that have no upstream gradient.
  template <bool Fast>
  static TQ_FORCE_INLINE void tail(const Place& at, std::size_t count, const Parameter& own,
                                   const One& p, Codes codes, const N& n,
                                   ParameterSums to) noexcept {
    const Gradients& g = at.arrays;
    alignas(64) float x[block] = {}, y[block] = {}, gy[block] = {}, gx[block];
    std::copy_n(g.x, count, x);
    if constexpr (!Integers) std::copy_n(g.y, count, y);
    std::copy_n(g.gy, count, gy);
    Added added;
    if (!one_block<Fast>({{x, y, gy, gx}, at.index}, p, 0, codes, n, added)) [[unlikely]] {
      rest(at, row_of(count, own), codes.bounds, n, to);
      return;
    }
    std::copy_n(gx, count, g.gx);
    add_total(to, added);
  }

  static TQ_NO_INLINE void elements(const Row& at, const Each& p, const N& n,
                                    ParameterSums to) noexcept {
    std::size_t i = 0;
    for (; at.length - i >= block; i += block) {
      Added added;
      if (!one_block<false>(at.at.further(i), p, i, {at.bounds, false}, n, added)) [[unlikely]] {
        rest(at.at.further(i), row_of(block, p, i), at.bounds, n, to.from(i * p.sum_step));
        continue;
      }
      if constexpr (learned > 0) add(to.scale + i * p.sum_step, p.sum_step, added.scale);
      if constexpr (learned > 1) add(to.offset + i * p.sum_step, p.sum_step, added.offset);
    }
    if (i < at.length)
      rest(at.at.further(i), row_of(at.length - i, p, i), at.bounds, n, to.from(i * p.sum_step));
  }
  static TQ_FORCE_INLINE void add(double* to, std::size_t step, const Floats (&added)[4]) noexcept {
    alignas(64) float lanes[block];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) added[k].store_aligned(lanes + k * width);
    if (step == 1)
      for (std::size_t j = 0; j < block; ++j) to[j] += static_cast<double>(lanes[j]);
    else
      for (std::size_t j = 0; j < block; ++j) to[j * step] += static_cast<double>(lanes[j]);
  }
};

#endif

}  // namespace tq::kernels
