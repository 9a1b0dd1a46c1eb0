// SPDX-License-Identifier: MIT
#pragma once
// The products of groups of the kernel library: functions that tq_add_kernels compiled once for
// several instruction sets, for GroupedLinear and FloatLinear. Each table has a getter of its own,
// so that a program links only the tables that its layers read.

#include <tq/kernels/group_dot.hpp>
#include <tq/kernels/group_values.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tq::kernel_library {

/// As `kernels::group_tile`, of weights that are packed as `Bits`.
template <class Bits>
struct GroupTile {
  void (*of)(std::size_t rows, const kernels::GroupRows& x, const kernels::GroupPanel& w,
             const kernels::GroupExtent& extent, float* out, std::size_t stride) noexcept;
};
/// As `kernels::group_levels`.
template <class Bits>
struct GroupLevels {
  void (*of)(const std::uint8_t* codes, std::size_t units, const std::uint8_t* table,
             std::uint8_t* out) noexcept;
};
/// As `kernels::group_row`.
template <class Bits, bool Reals, bool Offsets>
struct GroupRow {
  void (*of)(std::size_t rows, const float* x, std::size_t stride, const kernels::GroupPanel& w,
             const kernels::GroupExtent& extent, const kernels::GroupValues& values,
             float* sums) noexcept;
};

/// How levels of 2, 3 and 4 bits lie in a panel, and levels of 4 bits that name bytes of a table.
using Bits2 = kernels::LevelBits<2, false, false>;
using Bits3 = kernels::LevelBits<3, false, false>;
using Bits4 = kernels::LevelBits<4, false, false>;
using Coded4 = kernels::LevelBits<4, true, false>;
using WideCoded4 = kernels::LevelBits<4, true, true>;
using Bytes = kernels::LevelBytes<false>;
using WideBytes = kernels::LevelBytes<true>;

/// Rows of int8 times weights in groups, by the fastest instructions of an instruction set.
struct GroupTiles {
  std::size_t rows;  ///< `kernels::group_tile_rows`
  std::tuple<GroupTile<Bits2>, GroupTile<Bits3>, GroupTile<Bits4>, GroupTile<Coded4>,
             GroupTile<WideCoded4>, GroupTile<Bytes>, GroupTile<WideBytes>>
      tiles;
};

/// Packed weights in groups as bytes.
using AllGroupLevels =
    std::tuple<GroupLevels<Bits2>, GroupLevels<Bits3>, GroupLevels<Bits4>, GroupLevels<Coded4>>;

/// A few rows of floats times weights in groups; and the floats that levels stand for.
struct GroupRowsOfFloats {
  std::tuple<GroupRow<Bits2, false, false>, GroupRow<Bits2, false, true>,
             GroupRow<Bits3, false, false>, GroupRow<Bits3, false, true>,
             GroupRow<Bits4, false, false>, GroupRow<Bits4, false, true>,
             GroupRow<Bits4, true, false>, GroupRow<Coded4, false, false>,
             GroupRow<Bytes, false, false>, GroupRow<Bytes, false, true>>
      rows;
  void (*values)(const std::uint8_t* levels, std::size_t inputs, const kernels::GroupValues& of,
                 float* out) noexcept;  ///< as `kernels::group_values`
};

/// Rows of floats times a panel of floats.
struct FloatTiles {
  std::size_t rows;  ///< `kernels::values_tile_rows`
  void (*tile)(std::size_t rows, const float* x, std::size_t stride, const float* values,
               std::size_t inputs, float* sums) noexcept;  ///< as `kernels::values_tile`
};

/// The functions of the instruction set that runs.
[[nodiscard]] const GroupTiles& group_tiles() noexcept;
[[nodiscard]] const AllGroupLevels& group_levels() noexcept;
[[nodiscard]] const GroupRowsOfFloats& group_rows() noexcept;
[[nodiscard]] const FloatTiles& float_tiles() noexcept;

}  // namespace tq::kernel_library
