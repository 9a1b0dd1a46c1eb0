// SPDX-License-Identifier: MIT
#pragma once
// The interface between sweeps and loops: the inside of the driver.

#include <tq/arch/cpu.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/column_cursor.hpp>
#include <tq/driver/operands.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/table.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// How all rows of a sweep are read and written.
struct How {
  bool streams = false;  ///< past the cache
  bool shifted = false;  ///< with a short block before, so that what is streamed is aligned
  std::ptrdiff_t lines = 0, pages = 0,
                 written_pages = 0;  ///< bytes ahead that are asked for; 0: not at all
};

/// `count` rows of n elements; the parameters of row r begin at entry r * entry_step of a table.
template <class Arch>
struct RowBatch {
  const unsigned char* in;
  unsigned char* out;
  std::size_t n, count;
  std::ptrdiff_t in_step, out_step;  ///< bytes from row to row
  const Table<Arch>* table;          ///< of stages that have scales and origins
  std::size_t entry_step;
  unsigned shift;  ///< where blocks have a parameter each: that of element i is entry i >> shift
  const How& how;
  const void* stage;         ///< not read where it has no state
  std::uint64_t draw_index;  ///< of the first element in the target, which draws depend on
  std::ptrdiff_t draw_step;  ///< from row to row
  /// Where a source finds elements by their numbers: that of the first one, and from row to row.
  std::ptrdiff_t first, first_step;
  const ColumnEntries* columns;  ///< of stages that name columns
};

/// The loops for a form of parameters: for rows that are stored, or streamed past the cache, and
/// that have no origins, or some. Null where they are not needed.
template <class Arch>
struct LoopsOfForm {
  using Function = void (*)(const RowBatch<Arch>&) noexcept;
  Function stored[2] = {}, streamed[2] = {};
};

/// The loops of a kernel, and what a sweep knows of its source, stage and sink.
template <class Arch>
struct RowLoops {
  LoopsOfForm<Arch> constant{}, per_lane{};
  LoopsOfForm<Arch> per_grain[3] = {};  ///< a block, half of it, a quarter
  int source_bits, sink_bits;           ///< of an element in memory; 0 where several share theirs
  bool streams = false;                 ///< past the cache, where it is asked to
  bool takes_origins, divides, draws;
  bool corrects = false;    ///< quotients by reciprocals: what is streamed by lanes it divides
  bool finds = false;       ///< the source finds elements by their numbers
  std::size_t columns = 0;  ///< that the stage names

  /// Where elements are packed: the same loops for elements that have whole bytes each. Else null.
  const RowLoops* loose = nullptr;
  /// How n elements of the source, from number `first` on, come by those, and how n of them become
  /// packed ones of the target. Null where they have whole bytes already.
  void (*unpack)(const unsigned char* in, std::size_t first, std::size_t n,
                 unsigned char* out) noexcept = nullptr;
  void (*pack)(const unsigned char* in, std::size_t n, unsigned char* out) noexcept = nullptr;

  [[nodiscard]] constexpr const LoopsOfForm<Arch>& of(Form form, std::size_t grain) const noexcept {
    if (form == Form::per_grain)
      return per_grain[grain == block<Arch> ? 0 : grain == block<Arch> / 2 ? 1 : 2];
    return form == Form::constant ? constant : per_lane;
  }
  [[nodiscard]] constexpr bool has(Form form, std::size_t grain) const noexcept {
    const LoopsOfForm<Arch>& loops = of(form, grain);
    return loops.stored[0] != nullptr || loops.stored[1] != nullptr;
  }
};

namespace detail {

/// Some rows: `count` of them, each of `length` elements, the first one from `column` of `row` on.
/// The next ones begin so many rows and columns further.
struct Piece {
  std::size_t row = 0, column = 0, length = 0, count = 1, rows_apart = 0, columns_apart = 0;
  std::size_t entry_step = 0;
  unsigned shift = 0;
};

/// Loops, and the state of their stage.
template <class Arch>
struct BoundLoops {
  const RowLoops<Arch>& kernel;
  const void* stage;
};

/// Rows with their operands, and the loops that sweep them.
template <class Arch>
struct RowSpan : BoundLoops<Arch> {
  using BoundLoops<Arch>::kernel, BoundLoops<Arch>::stage;
  using Function = typename LoopsOfForm<Arch>::Function;
  const Operands& operands;
  const Span& span;
  std::ptrdiff_t draw_stride;
  const How& how;

  /// Loops for a form, and whether they read origins: some do though there are none. Precondition:
  /// parameters are what is known of them, so that there are such loops.
  struct Loop {
    Function run;
    bool reads_origins;
  };
  [[nodiscard]] Loop loop(Form form, std::size_t grain, bool has_origins) const noexcept {
    const LoopsOfForm<Arch>& all = kernel.of(form, grain);
    const Function(&f)[2] = how.streams ? all.streamed : all.stored;
    const bool reads = (has_origins && kernel.takes_origins) || f[0] == nullptr;
    return {f[reads], reads};
  }

  /// How many elements element i of row r lies after the begin of a line of the target, or 0 where
  /// so many would cut a byte of the source. Precondition: shifted.
  [[nodiscard]] std::size_t elements_past_line(std::size_t r, std::size_t i) const noexcept {
    const std::ptrdiff_t at =
        static_cast<std::ptrdiff_t>(r) * span.target_stride + static_cast<std::ptrdiff_t>(i);
    const std::size_t place = reinterpret_cast<std::uintptr_t>(operands.target) +
                              static_cast<std::uintptr_t>(bytes_to(at, kernel.sink_bits)),
                      past =
                          place % arch::line_bytes * 8 / static_cast<std::size_t>(kernel.sink_bits);
    return past % until_whole_bytes(kernel.source_bits) == 0 ? past : 0;
  }

  /// A piece of them, with a table or columns.
  [[nodiscard]] TQ_FORCE_INLINE RowBatch<Arch> rows(const Piece& p, const Table<Arch>* table,
                                                    const ColumnEntries* columns) const noexcept {
    const auto distance = [](std::size_t rows, std::ptrdiff_t stride, std::size_t elements) {
      return static_cast<std::ptrdiff_t>(rows) * stride + static_cast<std::ptrdiff_t>(elements);
    };
    const std::ptrdiff_t from = operands.first + distance(p.row, span.source_stride, p.column),
                         from_step = distance(p.rows_apart, span.source_stride, p.columns_apart),
                         to = distance(p.row, span.target_stride, p.column),
                         to_step = distance(p.rows_apart, span.target_stride, p.columns_apart);
    return {
        static_cast<const unsigned char*>(operands.source) + bytes_to(from, kernel.source_bits),
        static_cast<unsigned char*>(operands.target) + bytes_to(to, kernel.sink_bits),
        p.length,
        p.count,
        bytes_to(from_step, kernel.source_bits),
        bytes_to(to_step, kernel.sink_bits),
        table,
        p.entry_step,
        p.shift,
        how,
        stage,
        operands.draw_index + static_cast<std::uint64_t>(distance(p.row, draw_stride, p.column)),
        distance(p.rows_apart, draw_stride, p.columns_apart),
        from,
        from_step,
        columns};
  }
};

}  // namespace detail

}  // namespace tq::driver
