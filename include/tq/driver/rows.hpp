// SPDX-License-Identifier: MIT
#pragma once
// What a sweep hands to loops, and what it knows of them: the inside of the driver.

#include <tq/driver/table.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// How all rows of a sweep are read and written.
struct How {
  bool streams = false;  ///< past the cache
  bool shifted = false;  ///< with a short block before, so that what is streamed is aligned
  bool offsets = false;  ///< not all of them are 0
  std::ptrdiff_t lines = 0, pages = 0,
                 written_pages = 0;  ///< bytes ahead that are asked for; 0: not at all
};

/// `count` rows of n elements; the parameters of row r begin at entry r * entry_step of a table.
template <class Arch>
struct Rows {
  const unsigned char* in;
  unsigned char* out;
  std::size_t n, count;
  std::ptrdiff_t in_step, out_step;  ///< bytes from row to row
  const Table<Arch>& table;
  std::size_t entry_step;
  unsigned shift;  ///< where blocks have a parameter each: that of element i is entry i >> shift
  const How& how;
  const void* stage;          ///< not read where it has no state
  std::uint64_t place;        ///< of the first element in the target, which draws depend on
  std::ptrdiff_t place_step;  ///< from row to row
};

/// The loops of a kernel, and what a sweep knows of its source, stage and sink.
template <class Arch>
struct RowLoops {
  using Function = void (*)(const Rows<Arch>&) noexcept;
  Function constant = nullptr, per_lane = nullptr;
  Function per_grain[3] = {};  ///< a block, half of it, a quarter; null below `least_grain`
  int source_bits, sink_bits;  ///< of an element in memory; 0 where several share theirs
  bool takes_offsets, divides, draws;

  /// Where elements are packed: the same loops for elements that have whole bytes each. Else null.
  const RowLoops* loose = nullptr;
  /// How n elements of the source, from number `first` on, come by those, and how n of them become
  /// packed ones of the target. Null where they have whole bytes already.
  void (*unpack)(const unsigned char* in, std::size_t first, std::size_t n,
                 unsigned char* out) noexcept = nullptr;
  void (*pack)(const unsigned char* in, std::size_t n, unsigned char* out) noexcept = nullptr;
};

}  // namespace tq::driver
