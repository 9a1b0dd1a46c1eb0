// SPDX-License-Identifier: MIT
#pragma once
// ColumnSweep: rows of a span for a stage that names columns. It knows no source, stage or sink.

#include <tq/driver/column_cursor.hpp>
#include <tq/driver/columns.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/streaming_plan.hpp>
#include <tq/driver/table.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tq::driver::detail {

/// The numbers of a column for some rows, as loops read them: a register for each row whose
/// elements share a number, or one for each element.
template <class Arch>
class ColumnNumbers {
 public:
  static constexpr std::size_t capacity = 1024, size = 4;
  static constexpr std::size_t width = std::is_same_v<Arch, arch::scalar> ? 1 : block<Arch> / 4;
  static_assert(2 * block<Arch> <= Column::padding);

  /// Numbers 0 to n - 1 of elements [begin, begin + n) of a row, and zeros behind them.
  void take_row(const Column& c, std::size_t row, std::size_t begin, std::size_t n) noexcept {
    const std::size_t first = c.first + row * c.row_step;
    std::memset(numbers_ + size * n, 0, size * Column::padding);
    if (c.group == 1) return read(c, first + begin * c.step, n, c.step, 0);
    for (std::size_t at = 0; at < n;) {
      const std::size_t group = (begin + at) / c.group,
                        length = std::min(c.group - (begin + at) % c.group, n - at);
      read(c, first + group * c.step, 1, 0, at);
      repeat(at, length);
      at += length;
    }
  }

  /// A register for each of n rows, of the number that its element `begin` has.
  void take_rows(const Column& c, std::size_t row, std::size_t begin, std::size_t n) noexcept {
    for (std::size_t k = 0; k < n; ++k) {
      read(c, c.first + (row + k) * c.row_step + begin / c.group * c.step, 1, 0, k * width);
      repeat(k * width, width);
    }
  }

  /// A register of zeros.
  void take_zeros() noexcept { std::memset(numbers_, 0, size * width); }

  [[nodiscard]] const unsigned char* data() const noexcept { return numbers_; }

 private:
  void read(const Column& c, std::size_t first, std::size_t n, std::size_t stride,
            std::size_t at) noexcept {
    c.numbers.read(c.numbers.data, first, n, stride, numbers_ + size * at);
  }
  // The number at `at` so many times.
  void repeat(std::size_t at, std::size_t times) noexcept {
    unsigned char* to = numbers_ + size * at;
    for (std::size_t k = 1; k < times; ++k) std::memcpy(to + size * k, to, size);
  }

  alignas(64) unsigned char numbers_[size * (capacity + Column::padding)];
};

template <class Arch>
class ColumnSweep {
 public:
  /// Columns that a stage may have.
  static constexpr std::size_t most = 4;

  ColumnSweep(const RowSpan<Arch>& all, const Columns& columns) noexcept
      : all_(all), columns_(columns), span_(all.span) {
    for (std::size_t c = 0; c < all_.kernel.columns; ++c) kinds_[c] = kind_of(column(c));
  }

  TQ_NO_INLINE void run() noexcept {
    const std::size_t n = all_.kernel.columns;
    const auto are = [&](Kind k) { return std::count(kinds_, kinds_ + n, k) != 0; };
    // A table has room for so many elements, and for so many rows.
    const std::size_t length =
                          are(Kind::shared) || are(Kind::own) ? Numbers::capacity : span_.length,
                      count = are(Kind::own)   ? 1
                              : are(Kind::row) ? Numbers::capacity / Numbers::width
                                               : span_.count;
    for (std::size_t i = 0; i < span_.length; i += length) {
      const std::size_t some = std::min(length, span_.length - i);
      for (std::size_t c = 0; c < n; ++c) take_shared(c, i, some);
      for (std::size_t r = 0; r < span_.count; r += count) {
        const std::size_t rows = std::min(count, span_.count - r);
        for (std::size_t c = 0; c < n; ++c) take_own(c, r, rows, i, some);
        all_.loop(Form::constant, 0, false)
            .run(all_.rows({.row = r, .column = i, .length = some, .count = rows, .rows_apart = 1},
                           nullptr, entries_));
      }
    }
  }

 private:
  using Numbers = ColumnNumbers<Arch>;
  enum class Kind : unsigned char {
    one,       // all rows share a number
    row,       // the elements of a row share a number
    in_place,  // numbers of elements lie ready
    shared,    // elements have numbers of their own, which all rows share
    own,       // every row has others
  };

  [[nodiscard]] const Column& column(std::size_t c) const noexcept { return columns_.all[c]; }

  [[nodiscard]] Kind kind_of(const Column& c) const noexcept {
    const std::size_t first = columns_.element, last = first + span_.length - 1;
    const bool rows_share = c.row_step == 0 || span_.count == 1;
    if (!c.numbers.exists()) return Kind::one;
    if (c.step == 0 || first / c.group == last / c.group) return rows_share ? Kind::one : Kind::row;
    if (c.lie_ready && c.group == 1 && c.step == 1) return Kind::in_place;
    return rows_share ? Kind::shared : Kind::own;
  }

  // Takes the entries that all rows share, for elements [i, i + n) of the span.
  void take_shared(std::size_t c, std::size_t i, std::size_t n) noexcept {
    const std::size_t begin = columns_.element + i;
    if (kinds_[c] == Kind::one) {
      if (column(c).numbers.exists()) numbers_[c].take_rows(column(c), columns_.row, begin, 1);
      else numbers_[c].take_zeros();
      entries_[c] = {numbers_[c].data(), 0, 0};
    } else if (kinds_[c] == Kind::shared) {
      numbers_[c].take_row(column(c), columns_.row, begin, n);
      entries_[c] = {numbers_[c].data(), 0, ~std::size_t{0}};
    }
  }

  // Takes the entries that rows [r, r + rows) have of their own.
  void take_own(std::size_t c, std::size_t r, std::size_t rows, std::size_t i,
                std::size_t n) noexcept {
    const std::size_t row = columns_.row + r, begin = columns_.element + i;
    const Column& of = column(c);
    if (kinds_[c] == Kind::row) {
      numbers_[c].take_rows(of, row, begin, rows);
      entries_[c] = {numbers_[c].data(), Numbers::size * Numbers::width, 0};
    } else if (kinds_[c] == Kind::in_place) {
      entries_[c] = {static_cast<const unsigned char*>(of.numbers.data) +
                         Numbers::size * (of.first + row * of.row_step + begin),
                     Numbers::size * of.row_step, ~std::size_t{0}};
    } else if (kinds_[c] == Kind::own) {
      numbers_[c].take_row(of, row, begin, n);
      entries_[c] = {numbers_[c].data(), 0, ~std::size_t{0}};
    }
  }

  const RowSpan<Arch>& all_;
  const Columns& columns_;
  const Span& span_;
  Kind kinds_[most] = {};
  ColumnEntries entries_[most];
  Numbers numbers_[most];
};

// Not inlined, so that a stack has room for one table, not for each call.
template <class Arch>
TQ_NO_INLINE void sweep_by_columns(BoundLoops<Arch> loops, const Operands& operands,
                                   const Span& span, const Columns& columns,
                                   std::ptrdiff_t draw_stride, const Tuning& tuning) noexcept {
  const How how = streaming_plan(loops.kernel, operands, Plan{span, {}}, tuning);
  ColumnSweep<Arch>({loops, operands, span, draw_stride, how}, columns).run();
  fence<Arch>(how);
}

}  // namespace tq::driver::detail
