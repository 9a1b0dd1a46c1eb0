// SPDX-License-Identifier: MIT
#pragma once
// The library's products of groups for the instruction set that this file is compiled for. Only the
// files that tq_add_kernels makes include it.

#include <tq/arch/group_dot.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/kernels/group_row.hpp>
#include <tq/kernels/group_values.hpp>
#include <tq/linear/detail/library_groups.hpp>

#include <cstddef>
#include <tuple>

namespace tq::kernel_library {

// The functions of `Arch` for an entry of a table.
template <class Arch, class Entry>
struct EntryOf;

// Wide levels have tiles of their own only where they take more instructions.
template <class Arch, int Width, bool Table, bool Wide>
struct EntryOf<Arch, GroupTile<kernels::LevelBits<Width, Table, Wide>>> {
  using bits = kernels::LevelBits<Width, Table, Wide && kernels::group_has_wide<Arch>>;
  static constexpr GroupTile<kernels::LevelBits<Width, Table, Wide>> value{
      &kernels::group_tile<Arch, bits>};
};
template <class Arch, class Bits>
struct EntryOf<Arch, GroupLevels<Bits>> {
  static constexpr GroupLevels<Bits> value{&kernels::group_levels<Arch, Bits>};
};
template <class Arch, class Bits, bool Reals, bool Offsets>
struct EntryOf<Arch, GroupRow<Bits, Reals, Offsets>> {
  static constexpr GroupRow<Bits, Reals, Offsets> value{
      &kernels::group_row<Arch, Bits, Reals, Offsets>};
};

template <class Arch, class Entries>
struct EntriesOf;
template <class Arch, class... Entries>
struct EntriesOf<Arch, std::tuple<Entries...>> {
  static constexpr std::tuple<Entries...> value{EntryOf<Arch, Entries>::value...};
};

template <class Arch>
constexpr GroupTiles group_tiles_of() noexcept {
  using best = arch::best_group<Arch>;
  return {kernels::group_tile_rows<best>, EntriesOf<best, decltype(GroupTiles::tiles)>::value};
}
template <class Arch>
constexpr AllGroupLevels group_levels_of() noexcept {
  return EntriesOf<Arch, AllGroupLevels>::value;
}
template <class Arch>
constexpr GroupRowsOfFloats group_rows_of() noexcept {
  return {EntriesOf<Arch, decltype(GroupRowsOfFloats::rows)>::value, &kernels::group_values<Arch>};
}
template <class Arch>
constexpr FloatTiles float_tiles_of() noexcept {
  return {kernels::values_tile_rows<Arch>, &kernels::values_tile<Arch>};
}

}  // namespace tq::kernel_library
