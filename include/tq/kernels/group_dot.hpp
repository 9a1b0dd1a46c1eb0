// SPDX-License-Identifier: MIT
#pragma once
// group_tile: a few rows of int8 times a panel of 32 columns of weights in groups of inputs, each
// with a scale and a zero point; and group_levels, which takes packed weights apart for many rows.
//
// Weights are unsigned levels of 2, 3, 4 or 8 bits; the weight is (level - zero point) * scale, and
// an offset is added where weights have offsets. A
// panel is units of 16 inputs (32 where levels have 3 bits), and a unit is lines of 128 bytes, byte
// 4c + j for input j of four neighbours and column c. Of `Width` bits, four number s of a unit is
// in line s % L at bit s / L * Width, where L is the number of lines; levels of 3 bits are such
// lines of 2 bits, and after them one of the third bits.

#include <tq/arch/group_dot.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tq::kernels {

/// Columns of a panel, for every instruction set.
inline constexpr std::size_t group_columns = 32;

/// How levels lie in a panel: `Width` bits each; where `Table`, four that name a byte of a table;
/// `Wide`, whether there are such above 31.
template <int Width, bool Table, bool Wide>
struct LevelBits {
  static_assert(Width == 2 || Width == 3 || Width == 4 || Width == 8);
  static constexpr int width = Width;
  static constexpr bool has_table = Table, is_wide = Wide;
  static constexpr std::size_t inputs = Width == 3 ? 32 : 16;  // of a unit
  static constexpr std::size_t fours = inputs / 4;
  static constexpr std::size_t line = 4 * group_columns;
  static constexpr std::size_t bytes = inputs * group_columns * Width / 8;
};
/// A byte each.
template <bool Wide>
using LevelBytes = LevelBits<8, false, Wide>;

/// Rows of int8, one after the other, with zeros up to whole units of every group.
struct GroupRows {
  const std::int8_t* codes;
  std::size_t stride;          ///< from row to row
  const std::int32_t* starts;  ///< [rows, groups]: less the sum of a group, times a zero point that
                               ///< all weights share
  const float* scales;         ///< [rows, groups], or null for ones
  const float* row_scales;     ///< one a row, or null for ones
  const float* sums = nullptr;  ///< [rows, groups]: of the numbers; null where nothing has offsets
};

/// A panel of weights.
struct GroupPanel {
  const std::uint8_t* codes;
  const float* scales;             ///< [groups, 32]
  const std::uint8_t* zeros;       ///< [groups, 32], or null where all weights share one
  const float* bias;               ///< 32, or null
  const std::uint8_t* table;       ///< 16 bytes, or null
  const float* offsets = nullptr;  ///< [groups, 32], or null where there are none
};

/// Groups of a panel, and units of each.
struct GroupExtent {
  std::size_t groups, units;
};

/// Rows that one call takes at most.
template <class Arch>
inline constexpr std::size_t group_tile_rows = arch::group_dot<Arch>::rows;

/// Whether levels above 31 take more instructions than smaller ones.
template <class Arch>
inline constexpr bool group_has_wide = arch::group_dot<Arch>::reach < std::size_t{4} * 255;

namespace detail {

// Calls f(number) for the numbers below N, which are known when this is compiled.
template <std::size_t N, class F>
TQ_FORCE_INLINE void unrolled(F&& f) noexcept {
  [&]<std::size_t... I>(std::index_sequence<I...>) TQ_LAMBDA_INLINE {
    (f(std::integral_constant<int, static_cast<int>(I)>{}), ...);
  }(std::make_index_sequence<N>{});
}

// Four number S of a unit, of the columns that p belongs to.
template <class Arch, class Bits, int S>
TQ_FORCE_INLINE auto levels_of(
    const std::uint8_t* p,
    [[maybe_unused]] const typename arch::group_dot<Arch>::tables& table) noexcept {
  using dot = arch::group_dot<Arch>;
  if constexpr (Bits::width == 3) {
    const auto low = dot::template field<S / 2 * 2, 3>(dot::load(p + S % 2 * Bits::line));
    return dot::template join<2>(low, dot::template field<S, 1>(dot::load(p + 2 * Bits::line)));
  } else if constexpr (Bits::width == 8) {
    return dot::load(p + S * Bits::line);
  } else {
    constexpr int lines = static_cast<int>(Bits::fours) * Bits::width / 8;
    const auto v = dot::template field<S / lines * Bits::width, (1 << Bits::width) - 1>(
        dot::load(p + S % lines * Bits::line));
    if constexpr (Bits::has_table) return dot::lookup(table, v);
    else return v;
  }
}

// The product of some registers' columns: see group_tile.
template <class Arch, class Bits, std::size_t Rows>
class GroupTile {
  using dot = arch::group_dot<Arch>;
  static constexpr std::size_t width = dot::width, registers = dot::registers;
  static_assert(Bits::is_wide || Bits::width == 8 || Bits::has_table ||
                Bits::fours * ((1u << Bits::width) - 1) <= dot::reach);

 public:
  TQ_FORCE_INLINE GroupTile(const GroupRows& x, const GroupPanel& w, const GroupExtent& extent,
                            std::size_t from) noexcept
      : x_(x), w_(w), extent_(extent), from_(from) {}

  TQ_FORCE_INLINE void run(float* out, std::size_t stride) const noexcept {
    typename dot::floats total[Rows][registers];
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) total[r][c] = dot::splat(0.0f);
    for (std::size_t r = 0; r < Rows; ++r)  // or the stores of a tile wait for memory
      for (std::size_t c = 0; c < registers * width; c += 16)
        arch::prefetch<>(out + r * stride + from_ + c, 0);
    std::size_t at = 4 * from_;  // in the codes, which are null where there are no units
    const std::int8_t* x = x_.codes;
    [[maybe_unused]] typename dot::tables table{};
    if constexpr (Bits::has_table) table = dot::table(w_.table);
    for (std::size_t g = 0; g < extent_.groups; ++g) {
      typename dot::sums sums[Rows][registers];
      begin(g, sums);
      for (std::size_t u = 0; u < extent_.units; ++u) {
        add_unit(w_.codes + at, x, table, sums);
        at += Bits::bytes;
        x += Bits::inputs;
      }
      scale(g, sums, total);
    }
    if (w_.offsets != nullptr)  // apart from the loop above, which has no register left
      for (std::size_t g = 0; g < extent_.groups; ++g) add_offsets(g, total);
    finish(total, out, stride);
  }

 private:
  // Starts the sums of group g at `starts`, times the weights' own zero points, if they have any.
  TQ_FORCE_INLINE void begin(std::size_t g,
                             typename dot::sums (&sums)[Rows][registers]) const noexcept {
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto start = dot::all(x_.starts[r * extent_.groups + g]);
      TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c) sums[r][c] = start;
    }
    if (w_.zeros == nullptr) return;
    TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) {
      const auto zero = dot::numbers(w_.zeros + g * group_columns + from_ + c * width);
      TQ_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) sums[r][c] = dot::multiply(sums[r][c], zero);
    }
  }

  TQ_FORCE_INLINE void add_unit(const std::uint8_t* codes, const std::int8_t* x,
                                const typename dot::tables& table,
                                typename dot::sums (&sums)[Rows][registers]) const noexcept {
    typename dot::parts parts[Rows][registers];
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) parts[r][c] = dot::begin(sums[r][c]);
    if constexpr (Rows == 1)
      for (std::size_t i = 0; i < registers * 4 * width * Bits::bytes / (16 * Bits::line); i += 64)
        arch::prefetch<>(codes, static_cast<std::ptrdiff_t>(ahead + i));
    unrolled<Bits::fours>([&](auto s) TQ_LAMBDA_INLINE {
      typename dot::levels weights[registers];
      TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c)
        weights[c] = levels_of<Arch, Bits, decltype(s)::value>(codes + 4 * c * width, table);
      TQ_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        const auto a = dot::splat(x + r * x_.stride + 4 * decltype(s)::value);
        TQ_UNROLL
        for (std::size_t c = 0; c < registers; ++c)
          parts[r][c] = dot::template add<Bits::is_wide>(parts[r][c], weights[c], a);
      }
    });
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c)
      sums[r][c] = dot::template end<Bits::is_wide>(sums[r][c], parts[r][c]);
  }

  TQ_FORCE_INLINE void scale(std::size_t g, const typename dot::sums (&sums)[Rows][registers],
                             typename dot::floats (&total)[Rows][registers]) const noexcept {
    typename dot::floats scales[registers];
    TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c)
      scales[c] = dot::read(w_.scales + g * group_columns + from_ + c * width);
    if (x_.scales == nullptr) {
      TQ_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c)
        total[r][c] = dot::fma(dot::value(sums[r][c]), scales[c], total[r][c]);
    } else {
      TQ_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        const auto by = dot::splat(x_.scales[r * extent_.groups + g]);
        TQ_UNROLL
        for (std::size_t c = 0; c < registers; ++c)
          total[r][c] = dot::fma(dot::value(sums[r][c]), dot::times(scales[c], by), total[r][c]);
      }
    }
  }

  TQ_FORCE_INLINE void add_offsets(std::size_t g,
                                   typename dot::floats (&total)[Rows][registers]) const noexcept {
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto sum = dot::splat(x_.sums[r * extent_.groups + g]);
      TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c) {
        auto offset = dot::read(w_.offsets + g * group_columns + from_ + c * width);
        if (x_.scales != nullptr)
          offset = dot::times(offset, dot::splat(x_.scales[r * extent_.groups + g]));
        total[r][c] = dot::fma(sum, offset, total[r][c]);
      }
    }
  }

  TQ_FORCE_INLINE void finish(typename dot::floats (&total)[Rows][registers], float* out,
                              std::size_t stride) const noexcept {
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) {
      auto v = total[r][c];
      const std::size_t column = from_ + c * width;
      if (w_.bias == nullptr) {
        if (x_.row_scales != nullptr) v = dot::times(v, dot::splat(x_.row_scales[r]));
      } else {
        const auto bias = dot::read(w_.bias + column);
        if (x_.row_scales != nullptr) v = dot::fma(v, dot::splat(x_.row_scales[r]), bias);
        else v = dot::plus(v, bias);
      }
      dot::write(out + r * stride + column, v);
    }
  }

  static constexpr std::size_t ahead = 2048;  // bytes that one row asks for before it reads them

  const GroupRows& x_;
  const GroupPanel& w_;
  const GroupExtent& extent_;
  std::size_t from_;
};

template <class Arch, class Bits, std::size_t Rows>
TQ_NO_INLINE void group_rows(const GroupRows& x, const GroupPanel& w, const GroupExtent& extent,
                             float* out, std::size_t stride) noexcept {
  using dot = arch::group_dot<Arch>;
  for (std::size_t from = 0; from < group_columns; from += dot::registers * dot::width)
    GroupTile<Arch, Bits, Rows>(x, w, extent, from).run(out, stride);
}

template <class Arch, class Bits, std::size_t Rows>
void group_some_rows(std::size_t rows, const GroupRows& x, const GroupPanel& w,
                     const GroupExtent& extent, float* out, std::size_t stride) noexcept {
  if (rows == Rows) return group_rows<Arch, Bits, Rows>(x, w, extent, out, stride);
  if constexpr (Rows > 1) group_some_rows<Arch, Bits, Rows - 1>(rows, x, w, extent, out, stride);
}

}  // namespace detail

/// out[r][c], rows of 32 that begin `stride` apart. In every group the products of levels and
/// numbers are summed exactly, in 32 bits, with the start of the row (times the zero point of the
/// column, where they have their own); then, in ascending groups,
///     v = fma(float(sum), scale, v),
/// where scale is that of the column, times that of the row's group, if there is one. Where there
/// are offsets, the sums of the row's numbers and the offsets of the column follow in the same way.
/// Last v is multiplied by the row's scale, and the bias added, by fma where there are both. 1 <=
/// `rows`
/// <= `group_tile_rows`, which is 1 unless levels are bytes.
template <class Arch, class Bits>
void group_tile(std::size_t rows, const GroupRows& x, const GroupPanel& w,
                const GroupExtent& extent, float* out, std::size_t stride) noexcept {
  constexpr std::size_t most = Bits::width == 8 ? group_tile_rows<Arch> : 1;
  detail::group_some_rows<Arch, Bits, most>(rows, x, w, extent, out, stride);
}

/// The levels of `units` units of a panel, as those of bytes are: 16 inputs after 16 inputs.
template <class Arch, class Bits>
void group_levels(const std::uint8_t* codes, std::size_t units, const std::uint8_t* table,
                  std::uint8_t* out) noexcept {
  using dot = arch::group_dot<Arch>;
  [[maybe_unused]] typename dot::tables entries{};
  if constexpr (Bits::has_table) entries = dot::table(table);
  for (std::size_t u = 0; u < units; ++u, codes += Bits::bytes, out += Bits::fours * Bits::line)
    for (std::size_t at = 0; at < Bits::line; at += 4 * dot::width)
      detail::unrolled<Bits::fours>([&](auto s) TQ_LAMBDA_INLINE {
        constexpr int four = decltype(s)::value;
        dot::store(out + four * Bits::line + at,
                   detail::levels_of<Arch, Bits, four>(codes + at, entries));
      });
}

}  // namespace tq::kernels
