// SPDX-License-Identifier: MIT
#pragma once
// group_row: a few rows of floats times a panel of weights in groups, which are read as they are
// packed.

#include <tq/arch/group_dot.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/config.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/kernels/group_values.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// Rows that one call of `group_row` takes at most: several of 4 bits, which most weights have.
template <class Arch, class Bits>
inline constexpr std::size_t group_row_rows =
    Bits::width == 4 && !Bits::has_table ? values_tile_rows<Arch> : 1;

namespace detail {

struct NoOffsets {};

// The sums of some registers' columns: see group_row.
template <class Arch, class Bits, bool Reals, bool Offsets, std::size_t Rows>
class GroupRow {
  using dot = arch::group_dot<Arch>;
  static constexpr std::size_t width = dot::width, registers = dot::registers;
  static constexpr int level_bits = Bits::has_table ? 8 : Bits::width;

 public:
  TQ_FORCE_INLINE GroupRow(const float* x, std::size_t stride, const GroupPanel& w,
                           const GroupExtent& extent, const GroupValues& of,
                           std::size_t from) noexcept
      : x_(x), stride_(stride), w_(w), extent_(extent), of_(of), from_(from) {}

  TQ_FORCE_INLINE void run(float* sums) noexcept {
    floats_of total[2][Rows][registers];
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) total[0][r][c] = total[1][r][c] = dot::splat(0.0f);
    const std::uint8_t* codes = w_.codes == nullptr ? nullptr : w_.codes + 4 * from_;
    const float* x = x_;
    [[maybe_unused]] typename dot::tables table{};
    if constexpr (Bits::has_table && !Reals) table = dot::table(w_.table);
    if (of_.zeros == nullptr) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) set_zero(c, dot::all(of_.zero));
    for (std::size_t g = 0; g < extent_.groups; ++g) {
      begin(g);
      for (std::size_t u = 0; u < extent_.units; ++u, codes += Bits::bytes, x += Bits::inputs) {
        if constexpr (Rows == 1)
          for (std::size_t i = 0; i < registers * 4 * width * Bits::bytes / (16 * Bits::line);
               i += 64)
            arch::prefetch<>(codes, static_cast<std::ptrdiff_t>(ahead + i));
        add_unit(codes, x, table, total);
      }
    }
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t o = 0; o < 2; ++o) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c)
      dot::write(sums + (2 * r + o) * group_columns + from_ + c * width, total[o][r][c]);
  }

 private:
  using floats_of = typename dot::floats;

  // Levels of four inputs lie in the bytes of a lane. Where a byte ends above the significand of a
  // float, the lane is shifted first.
  template <int J>
  static constexpr int shift = 8 * J + level_bits <= 23   ? 0
                               : 8 * J + level_bits <= 31 ? 8
                                                          : 16;
  template <int J>
  static constexpr int place = 8 * J - shift<J>;
  static constexpr int places = level_bits == 8 ? 2 : 3;

  TQ_FORCE_INLINE void set_zero(std::size_t c, const typename dot::sums& zero) noexcept {
    unrolled<places>([&](auto n) TQ_LAMBDA_INLINE {
      constexpr int at = 8 * decltype(n)::value;
      zeros_[n][c] = dot::plus(dot::value(zero), dot::splat(static_cast<float>(1 << (23 - at))));
    });
  }
  // Reads the parameters of group g.
  TQ_FORCE_INLINE void begin(std::size_t g) noexcept {
    TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) {
      const std::size_t at = g * group_columns + from_ + c * width;
      scales_[c] = dot::read(of_.scales + at);
      if constexpr (Offsets) offsets_[c] = dot::read(of_.offsets + at);
      if (of_.zeros != nullptr) set_zero(c, dot::numbers(of_.zeros + at));
    }
  }
  // Input J of four, of the columns of register c.
  template <int J>
  TQ_FORCE_INLINE floats_of weight(const typename dot::sums& four, std::size_t c) const noexcept {
    if constexpr (Reals) {
      return dot::times(dot::entry(of_.reals, dot::template byte<J>(four)), scales_[c]);
    } else {
      const auto level = dot::minus(dot::template based<shift<J>, place<J>, level_bits>(four),
                                    zeros_[place<J> / 8][c]);
      if constexpr (!Offsets) return dot::times(level, scales_[c]);
      else return dot::plus(rounded_product<Arch>(level, scales_[c]), offsets_[c]);
    }
  }
  TQ_FORCE_INLINE void add_unit(const std::uint8_t* codes, const float* x,
                                const typename dot::tables& table,
                                floats_of (&total)[2][Rows][registers]) const noexcept {
    unrolled<Bits::fours>([&](auto s) TQ_LAMBDA_INLINE {
      typename dot::sums fours[registers];
      TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c)
        fours[c] =
            dot::lanes(levels_of<Arch, Bits, decltype(s)::value>(codes + 4 * c * width, table));
      unrolled<4>([&](auto j) TQ_LAMBDA_INLINE {
        constexpr int input = decltype(j)::value;
        floats_of weights[registers];
        TQ_UNROLL
        for (std::size_t c = 0; c < registers; ++c) weights[c] = weight<input>(fours[c], c);
        TQ_UNROLL
        for (std::size_t r = 0; r < Rows; ++r) {
          const auto a = dot::splat(x[r * stride_ + 4 * decltype(s)::value + input]);
          TQ_UNROLL
          for (std::size_t c = 0; c < registers; ++c)
            total[input % 2][r][c] = dot::add_product(a, weights[c], total[input % 2][r][c]);
        }
      });
    });
  }

  static constexpr std::size_t ahead = 2048;  // bytes that one row asks for before it reads them

  const float* x_;
  std::size_t stride_;
  const GroupPanel& w_;
  const GroupExtent& extent_;
  const GroupValues& of_;
  std::size_t from_;
  floats_of scales_[registers];
  [[no_unique_address]] std::conditional_t<Offsets, floats_of[registers], NoOffsets> offsets_;
  floats_of zeros_[3][registers];  // 2^(23 - 8 n), and the zero point
};

template <class Arch, class Bits, bool Reals, bool Offsets, std::size_t Rows>
TQ_NO_INLINE void group_row_panel(const float* x, std::size_t stride, const GroupPanel& w,
                                  const GroupExtent& extent, const GroupValues& of,
                                  float* sums) noexcept {
  using dot = arch::group_dot<Arch>;
  for (std::size_t from = 0; from < group_columns; from += dot::registers * dot::width)
    GroupRow<Arch, Bits, Reals, Offsets, Rows>(x, stride, w, extent, of, from).run(sums);
}

template <class Arch, class Bits, bool Reals, bool Offsets, std::size_t Rows>
void group_row_some(std::size_t rows, const float* x, std::size_t stride, const GroupPanel& w,
                    const GroupExtent& extent, const GroupValues& of, float* sums) noexcept {
  if (rows == Rows)
    return group_row_panel<Arch, Bits, Reals, Offsets, Rows>(x, stride, w, extent, of, sums);
  if constexpr (Rows > 1)
    group_row_some<Arch, Bits, Reals, Offsets, Rows - 1>(rows, x, stride, w, extent, of, sums);
}

}  // namespace detail

/// Writes the products of rows of x, which begin `stride` apart, and a panel to `sums`
/// [rows, 2, 32]: the weights are those of `group_values`, which `of` describes for all groups, one
/// after the other, and the sums those that `values_tile` adds to zeros. Rows have zeros up to
/// whole units of every group. `Reals`: levels name values; `Offsets`: levels that do not have
/// offsets. 1 <= `rows` <= `group_row_rows`.
template <class Arch, class Bits, bool Reals, bool Offsets = false>
  requires(!Reals || !Offsets)
void group_row(std::size_t rows, const float* x, std::size_t stride, const GroupPanel& w,
               const GroupExtent& extent, const GroupValues& of, float* sums) noexcept {
  detail::group_row_some<Arch, Bits, Reals, Offsets, group_row_rows<Arch, Bits>>(rows, x, stride, w,
                                                                                 extent, of, sums);
}

}  // namespace tq::kernels
