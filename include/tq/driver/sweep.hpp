// SPDX-License-Identifier: MIT
#pragma once
// The driver of one instruction set: from a span and its parameters to rows with a table. It knows
// no source, stage or sink.

#include <tq/driver/bits.hpp>
#include <tq/driver/cursor.hpp>
#include <tq/driver/operands.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/table.hpp>
#include <tq/driver/tiles.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::driver {

namespace detail {

/// Some rows: `count` of them, each of `length` elements, the first one from `column` of `row` on.
/// The next ones begin so many rows and columns further.
struct Piece {
  std::size_t row = 0, column = 0, length = 0, count = 1, rows_apart = 0, columns_apart = 0;
  std::size_t entry_step = 0;
  unsigned shift = 0;
};

/// Operands, and the state of the stage between them.
struct StagedOperands : Operands {
  const void* stage;
};

/// A sweep of rows that have neighbours and begin on bytes.
template <class Arch>
class RowSweep {
 public:
  RowSweep(const RowLoops<Arch>& kernel, const StagedOperands& operands, const Plan& plan,
           std::ptrdiff_t place_stride, const How& how) noexcept
      : kernel_(kernel),
        operands_(operands),
        plan_(plan),
        span_(plan.span),
        params_(plan.params),
        place_stride_(place_stride),
        how_(how),
        table_(kernel.divides) {}

  TQ_NO_INLINE void run() noexcept {
    if (how_.streams && kernel_.takes_offsets && !how_.offsets) table_.take_no_offsets();
    switch (plan_.form) {
      case Form::constant:
        if (params_.group == whole_row) return whole_rows();
        return long_groups();
      case Form::per_grain: return groups();
      case Form::per_lane: return plan_.rows_share ? shared_lanes() : own_lanes();
    }
  }

 private:
  using Function = typename RowLoops<Arch>::Function;
  static constexpr std::size_t capacity = Table<Arch>::capacity;

  void rows(Function f, const Piece& p) noexcept {
    const auto distance = [](std::size_t rows, std::ptrdiff_t stride, std::size_t columns) {
      return static_cast<std::ptrdiff_t>(rows) * stride + static_cast<std::ptrdiff_t>(columns);
    };
    const auto from = [&](std::size_t r, std::size_t c) {
      return bytes_to(distance(r, span_.source_stride, c), kernel_.source_bits);
    };
    const auto to = [&](std::size_t r, std::size_t c) {
      return bytes_to(distance(r, span_.target_stride, c), kernel_.sink_bits);
    };
    f({static_cast<const unsigned char*>(operands_.source) + from(p.row, p.column),
       static_cast<unsigned char*>(operands_.target) + to(p.row, p.column), p.length, p.count,
       from(p.rows_apart, p.columns_apart), to(p.rows_apart, p.columns_apart), table_, p.entry_step,
       p.shift, how_, operands_.stage,
       operands_.place + static_cast<std::uint64_t>(distance(p.row, place_stride_, p.column)),
       distance(p.rows_apart, place_stride_, p.columns_apart)});
  }
  [[nodiscard]] std::size_t first(std::size_t row, std::size_t group) const noexcept {
    return params_.first + row * params_.row_step + group * params_.step;
  }

  void whole_rows() noexcept {
    if (plan_.rows_share) {
      table_.take(params_, params_.first, 1, 0);
      return rows(kernel_.constant,
                  {.length = span_.length, .count = span_.count, .rows_apart = 1});
    }
    for (std::size_t r = 0; r < span_.count; r += capacity) {
      const std::size_t n = std::min(span_.count - r, capacity);
      table_.take(params_, first(r, 0), n, params_.row_step);
      rows(kernel_.constant,
           {.row = r, .length = span_.length, .count = n, .rows_apart = 1, .entry_step = 1});
    }
  }

  void long_groups() noexcept {
    const std::size_t whole = span_.length / params_.group, rest = span_.length % params_.group;
    for (std::size_t r = 0; r < span_.count; ++r) {
      for (std::size_t g = 0; g < whole; g += capacity) {
        const std::size_t n = std::min(whole - g, capacity);
        table_.take(params_, first(r, g), n, params_.step);
        rows(kernel_.constant, {.row = r,
                                .column = g * params_.group,
                                .length = params_.group,
                                .count = n,
                                .columns_apart = params_.group,
                                .entry_step = 1});
      }
      if (rest == 0) continue;
      table_.take(params_, first(r, whole), 1, params_.step);
      rows(kernel_.constant, {.row = r, .column = whole * params_.group, .length = rest});
    }
  }

  // Groups of a few grains. Blocks find theirs by a shift where it is one, the others have an entry
  // each.
  void groups() noexcept {
    const std::size_t grain = plan_.grain, all = (span_.length + params_.group - 1) / params_.group;
    const bool shifts = grain == block<Arch> && std::has_single_bit(params_.group);
    const std::size_t entries = shifts ? 1 : params_.group / grain;
    const auto shift = static_cast<unsigned>(std::countr_zero(shifts ? params_.group : grain));
    const Function f = kernel_.per_grain[grain == block<Arch>       ? 0
                                         : grain == block<Arch> / 2 ? 1
                                                                    : 2];
    const std::size_t at_once = std::max<std::size_t>(capacity / 4 / entries, 1);
    if (span_.count > 1 && 2 * all <= at_once) {  // some rows together
      const std::size_t together = at_once / all;
      for (std::size_t r = 0; r < span_.count; r += together) {
        const std::size_t n = std::min(span_.count - r, together);
        for (std::size_t k = 0; k < n; ++k)
          table_.read(k * all, params_, first(r + k, 0), all, params_.step);
        finish(n * all, entries);
        rows(f, {.row = r,
                 .length = span_.length,
                 .count = n,
                 .rows_apart = 1,
                 .entry_step = all * entries,
                 .shift = shift});
      }
      return;
    }
    for (std::size_t r = 0; r < span_.count; ++r)
      for (std::size_t g = 0; g < all; g += at_once) {
        const std::size_t n = std::min(all - g, at_once), at = g * params_.group;
        table_.read(0, params_, first(r, g), n, params_.step);
        finish(n, entries);
        rows(f, {.row = r,
                 .column = at,
                 .length = std::min(n * params_.group, span_.length - at),
                 .shift = shift});
      }
  }
  void finish(std::size_t n, std::size_t entries) noexcept {
    table_.finish(n);
    if (entries > 1) table_.repeat(n, entries);
  }

  // In the cache tables should be too; from memory rows should stay in one piece.
  [[nodiscard]] std::size_t lanes_at_once() const noexcept {
    return how_.streams ? capacity : capacity / 4;
  }

  void shared_lanes() noexcept {
    const std::size_t together = std::min(plan_.joined_rows, span_.count),
                      whole = span_.count / together, rest = span_.count % together;
    for (std::size_t i = 0; i < span_.length; i += lanes_at_once()) {
      const std::size_t n = std::min(span_.length - i, lanes_at_once());
      table_.take_lanes(params_, 0, i, n);
      table_.copy(n, together);
      rows(kernel_.per_lane,
           {.column = i, .length = n * together, .count = whole, .rows_apart = together});
      if (rest != 0)
        rows(kernel_.per_lane, {.row = whole * together, .column = i, .length = n * rest});
    }
  }

  void own_lanes() noexcept {
    for (std::size_t r = 0; r < span_.count; ++r)
      for (std::size_t i = 0; i < span_.length; i += lanes_at_once()) {
        const std::size_t n = std::min(span_.length - i, lanes_at_once());
        table_.take_lanes(params_, r, i, n);
        rows(kernel_.per_lane, {.row = r, .column = i, .length = n});
      }
  }

  const RowLoops<Arch>& kernel_;
  const StagedOperands& operands_;
  const Plan& plan_;
  const Span& span_;
  const Parameters& params_;
  const std::ptrdiff_t place_stride_;
  const How& how_;
  Table<Arch> table_;
};

// A line of which one part is stored and the other streamed is read from memory first, and
// everything waits: so rows are shifted where they are long, and where it is that or to cache them.
template <class Arch>
How how_to(const RowLoops<Arch>& kernel, [[maybe_unused]] const StagedOperands& operands,
           const Plan& plan, [[maybe_unused]] const Tuning& tuning) noexcept {
  How how;
  how.offsets = kernel.takes_offsets && plan.params.offsets.exists();
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    const Span& s = plan.span;
    const bool in_registers = kernel.sink_bits % 8 == 0 || kernel.sink_bits == 4;
    if (!operands.streams || plan.joined_rows != 1 || !in_registers) return how;
    constexpr std::size_t size = sizeof(typename arch::lanes<Arch>::bytes);
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(operands.target);
    std::uintptr_t apart =
        s.count == 1 ? 0 : static_cast<std::uintptr_t>(bytes_to(s.target_stride, kernel.sink_bits));
    if (plan.form == Form::constant && plan.params.group != whole_row)
      apart |= static_cast<std::uintptr_t>(
          bytes_to(static_cast<std::ptrdiff_t>(plan.params.group), kernel.sink_bits));
    const bool by_sixteen = (place | apart) % 16 == 0,
               shifts = plan.form == Form::constant || plan.form == Form::per_lane;
    how.shifted = (place | apart) % size != 0 && shifts && s.length >= (by_sixteen ? 65536 : 4096);
    how.streams = how.shifted || by_sixteen;
    if (!how.streams) return how;
    // What reads less than it writes has time enough to find pages.
    const bool dense = s.count == 1 || s.source_stride == static_cast<std::ptrdiff_t>(s.length);
    if (dense) how.lines = tuning.lines_ahead;
    if (dense && kernel.source_bits >= kernel.sink_bits)
      how.pages = tuning.pages_ahead * arch::page_bytes;
    how.written_pages = tuning.written_pages_ahead * arch::page_bytes;
  }
#endif
  return how;
}

// Not inlined, so that a stack has room for one table, not for each call.
template <class Arch>
TQ_NO_INLINE void sweep_rows(const RowLoops<Arch>& kernel, const StagedOperands& operands,
                             const Span& span, const Parameters& params,
                             std::ptrdiff_t place_stride, const Tuning& tuning) noexcept {
  const std::size_t unit =
      std::max(until_whole_bytes(kernel.source_bits), until_whole_bytes(kernel.sink_bits));
  const bool joins = !kernel.draws || place_stride == static_cast<std::ptrdiff_t>(span.length);
  const Plan plan = plan_for<Arch>(span, params, unit, operands.streams, joins);
  const How how = how_to(kernel, operands, plan, tuning);
  RowSweep<Arch>(kernel, operands, plan, place_stride, how).run();
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>)
    if (how.streams) arch::lanes<Arch>::fence();
#endif
}

/// A sweep by tiles: square ones where the source is turned, else as wide as they can be. Groups
/// are not cut, but those longer than a tile at its end. Precondition: where the target is packed,
/// its rows have neighbours and begin on bytes, and so do groups in them.
template <class Arch>
class TileSweep {
  // What a tile takes of the stack, twice: of elements of 8 bytes it has half as many as of others.
  static constexpr std::size_t tile_bytes = 4 * tiles<Arch>::capacity;
  static std::size_t capacity_of(const RowLoops<Arch>& kernel) noexcept {
    const RowLoops<Arch>& loose = kernel.loose != nullptr ? *kernel.loose : kernel;
    const int bits = std::max({loose.source_bits, loose.sink_bits, 8});
    return std::min(tiles<Arch>::capacity, tile_bytes / static_cast<std::size_t>(bits / 8));
  }

 public:
  TileSweep(const RowLoops<Arch>& kernel, const StagedOperands& operands, const Span& span,
            const Tuning& tuning) noexcept
      : kernel_(kernel),
        loose_(kernel.loose != nullptr ? *kernel.loose : kernel),
        operands_(operands),
        span_(span),
        tuning_(tuning) {
    const std::size_t unit = kernel.pack != nullptr ? 8 : 1, capacity = capacity_of(kernel);
    if (span.source_step == 1) {
      width_ = std::min(span.length, capacity);
      rows_ = std::min(span.count, capacity / width_);
    } else {
      // Rows of a tile are long enough for two blocks.
      rows_ = std::min({span.count, tiles<Arch>::side, capacity / (2 * block<Arch>)});
      width_ = std::min(span.length, capacity / rows_ / unit * unit);
    }
  }

  /// Whether rows are better swept by tiles, as they have groups that are rows but for their
  /// beginning within a byte.
  static bool is_due(const RowLoops<Arch>& kernel, const StagedOperands& operands, const Span& span,
                     std::size_t group) noexcept {
    const std::size_t read = until_whole_bytes(kernel.source_bits),
                      written = until_whole_bytes(kernel.sink_bits);
    return kernel.loose != nullptr && group < span.length && group % std::max(read, written) != 0 &&
           group * written <= capacity_of(kernel) && are_rows<Arch>(group, operands.streams);
  }

  TQ_NO_INLINE void run(const Parameters& p) noexcept {
    for (std::size_t r = 0; r < span_.count; r += rows_)
      for (std::size_t i = 0; i < span_.length;) {
        std::size_t n = std::min(width_, span_.length - i);
        if (p.group > width_) n = p.group == whole_row ? n : std::min(n, p.group - i % p.group);
        else if (n < span_.length - i) n = n / whole_groups(p.group) * whole_groups(p.group);
        Parameters part = p;
        part.first += r * p.row_step + i / p.group * p.step;
        tile(r, i, std::min(rows_, span_.count - r), n, part);
        i += n;
      }
  }

 private:
  void tile(std::size_t r, std::size_t i, std::size_t rows, std::size_t n,
            const Parameters& p) noexcept {
    const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
    const std::ptrdiff_t from = row * span_.source_stride + column * span_.source_step,
                         at = row * span_.target_stride + column * span_.target_step;
    const bool scatters = span_.target_step != 1, moves = scatters || kernel_.pack != nullptr,
               gathers = !span_.has_neighbours() || kernel_.unpack != nullptr;
    if (gathers) read(from, rows, n);
    unsigned char* to =
        static_cast<unsigned char*>(operands_.target) + bytes_to(at, kernel_.sink_bits);
    const auto pitch = static_cast<std::ptrdiff_t>(width_);
    const Span tile{n, rows, gathers ? pitch : span_.source_stride,
                    moves ? pitch : span_.target_stride};
    StagedOperands own = operands_;
    own.source = gathers ? static_cast<const unsigned char*>(tile_)
                         : static_cast<const unsigned char*>(operands_.source) +
                               bytes_to(operands_.first + from, kernel_.source_bits);
    own.target = moves ? made_ : to;
    own.place += static_cast<std::uint64_t>(at);
    own.streams = false;
    if (scatters && kernel_.draws) one_by_one(own, tile, p);
    else sweep_rows(loose_, own, tile, p, span_.target_stride, tuning_);
    if (scatters)
      tiles<Arch>::with_size(static_cast<std::size_t>(loose_.sink_bits / 8), [&]<class T>(T) {
        tiles<Arch>::scatter(reinterpret_cast<const T*>(made_), width_, rows, n,
                             reinterpret_cast<T*>(to), span_.target_stride, span_.target_step);
      });
    else if (moves)
      for (std::size_t k = 0; k < rows; ++k)
        kernel_.pack(
            made_ + k * width_, n,
            to + bytes_to(static_cast<std::ptrdiff_t>(k) * span_.target_stride, kernel_.sink_bits));
  }

  // The length of as many groups as begin and end on bytes of the target.
  [[nodiscard]] std::size_t whole_groups(std::size_t group) const noexcept {
    const std::size_t unit = until_whole_bytes(kernel_.sink_bits);
    return group % unit == 0 ? group : group * unit;
  }

  // Where the places of neighbours are none.
  void one_by_one(const StagedOperands& tile, const Span& span, const Parameters& p) noexcept {
    for (std::size_t r = 0; r < span.count; ++r)
      for (std::size_t i = 0; i < span.length; ++i) {
        const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
        const std::ptrdiff_t at = row * span.source_stride + column;
        StagedOperands one = tile;
        one.source = tile_ + at * (loose_.source_bits / 8);
        one.target = made_ + at * (loose_.sink_bits / 8);
        one.place +=
            static_cast<std::uint64_t>(row * span_.target_stride + column * span_.target_step);
        Parameters its = p;
        its.first += r * p.row_step + i / p.group * p.step;
        sweep_rows(loose_, one, {.length = 1}, its, 0, tuning_);
      }
  }

  // The tile whose first element is `at` elements from the source.
  void read(std::ptrdiff_t at, std::size_t rows, std::size_t columns) noexcept {
    const std::ptrdiff_t row = span_.source_stride, column = span_.source_step;
    const std::size_t bytes = static_cast<std::size_t>(loose_.source_bits / 8);
    const auto gather = [&](const unsigned char* from, std::ptrdiff_t row_step,
                            std::ptrdiff_t column_step) {
      tiles<Arch>::with_size(bytes, [&]<class T>(T) {
        tiles<Arch>::gather(reinterpret_cast<const T*>(from), row_step, column_step, rows, columns,
                            reinterpret_cast<T*>(tile_), width_);
      });
    };
    const auto* in = static_cast<const unsigned char*>(operands_.source);
    const std::ptrdiff_t first = operands_.first + at;
    if (kernel_.unpack == nullptr)
      return gather(in + first * static_cast<std::ptrdiff_t>(bytes), row, column);
    const auto unpack = [&](std::size_t r, std::size_t i, std::size_t n, unsigned char* to) {
      kernel_.unpack(in,
                     static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(r) * row +
                                              static_cast<std::ptrdiff_t>(i) * column),
                     n, to);
    };
    if (column == 1) {
      for (std::size_t r = 0; r < rows; ++r) unpack(r, 0, columns, tile_ + r * width_ * bytes);
    } else if (row == 1) {
      for (std::size_t i = 0; i < columns; ++i) unpack(0, i, rows, made_ + i * rows_ * bytes);
      gather(made_, 1, static_cast<std::ptrdiff_t>(rows_));
    } else {
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < columns; ++i) unpack(r, i, 1, tile_ + (r * width_ + i) * bytes);
    }
  }

  const RowLoops<Arch>&kernel_, &loose_;
  const StagedOperands& operands_;
  const Span& span_;
  const Tuning& tuning_;
  std::size_t rows_, width_;
  alignas(64) unsigned char tile_[tile_bytes], made_[tile_bytes];
};

/// Whether every row of the source begins on a byte. Of elements that have no bits of their own,
/// none does.
constexpr bool rows_begin_on_bytes(const Span& s, std::ptrdiff_t at, int bits) noexcept {
  if (bits % 8 == 0) return bits != 0;
  const auto is_whole = [&](std::ptrdiff_t n) { return n % 8 * bits % 8 == 0; };
  return is_whole(at) && (s.count == 1 || is_whole(s.source_stride));
}

/// Takes the elements of a span through loops, with the parameters of each.
template <class Arch>
void sweep_by(const RowLoops<Arch>& loops, const StagedOperands& operands, const Span& span,
              const Parameters& params, const Tuning& tuning) noexcept {
  if (span.length == 0 || span.count == 0) return;
  if (!span.has_neighbours() || !rows_begin_on_bytes(span, operands.first, loops.source_bits) ||
      TileSweep<Arch>::is_due(loops, operands, span, params.group))
    return TileSweep<Arch>(loops, operands, span, tuning).run(params);
  StagedOperands own = operands;
  own.source = static_cast<const unsigned char*>(operands.source) +
               bytes_to(operands.first, loops.source_bits);
  sweep_rows(loops, own, span, params, span.target_stride, tuning);
}

}  // namespace detail

}  // namespace tq::driver
