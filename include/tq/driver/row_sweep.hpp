// SPDX-License-Identifier: MIT
#pragma once
// RowSweep: rows of a span that have neighbours, each form with a table of its parameters. It knows
// no source, stage or sink.

#include <tq/driver/bits.hpp>
#include <tq/driver/column_sweep.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/streaming_plan.hpp>
#include <tq/driver/table.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::driver::detail {

/// A sweep of rows that have neighbours and begin on bytes.
template <class Arch>
class RowSweep {
 public:
  RowSweep(const RowSpan<Arch>& all, const Plan& plan, Table<Arch>& table,
           typename RowSpan<Arch>::Function loop) noexcept
      : all_(all),
        loop_(loop),
        plan_(plan),
        span_(plan.span),
        params_(plan.params),
        table_(table) {}

  TQ_NO_INLINE void run() noexcept {
    switch (plan_.form) {
      case Form::constant:
        if (params_.group == whole_row) return whole_rows();
        return long_groups();
      case Form::per_grain: return groups();
      case Form::per_lane: return plan_.rows_share ? shared_lanes() : own_lanes();
    }
  }

 private:
  void rows(const Piece& p) noexcept { loop_(all_.rows(p, &table_, nullptr)); }
  [[nodiscard]] std::size_t first(std::size_t row, std::size_t group) const noexcept {
    return params_.first + row * params_.row_step + group * params_.step;
  }

  void whole_rows() noexcept {
    for (std::size_t r = 0; r < span_.count; r += table_.capacity) {
      const std::size_t n = std::min(span_.count - r, table_.capacity);
      table_.take(params_, first(r, 0), n, params_.row_step);
      rows({.row = r, .length = span_.length, .count = n, .rows_apart = 1, .entry_step = 1});
    }
  }

  void long_groups() noexcept {
    const std::size_t whole = span_.length / params_.group, rest = span_.length % params_.group;
    for (std::size_t r = 0; r < span_.count; ++r) {
      for (std::size_t g = 0; g < whole; g += table_.capacity) {
        const std::size_t n = std::min(whole - g, table_.capacity);
        table_.take(params_, first(r, g), n, params_.step);
        rows({.row = r,
              .column = g * params_.group,
              .length = params_.group,
              .count = n,
              .columns_apart = params_.group,
              .entry_step = 1});
      }
      if (rest == 0) continue;
      table_.take(params_, first(r, whole), 1, params_.step);
      rows({.row = r, .column = whole * params_.group, .length = rest});
    }
  }

  // Groups of a few grains. Blocks find theirs by a shift where it is one, the others have an entry
  // each.
  void groups() noexcept {
    const std::size_t grain = plan_.grain, all = (span_.length + params_.group - 1) / params_.group;
    const bool shifts = grain == block<Arch> && std::has_single_bit(params_.group);
    const std::size_t entries = shifts ? 1 : params_.group / grain;
    const auto shift = static_cast<unsigned>(std::countr_zero(shifts ? params_.group : grain));
    // So many groups are whole lines.
    const std::size_t fitting = table_.capacity / entries,
                      at_once = fitting >= 8 ? fitting / 8 * 8 : std::max<std::size_t>(fitting, 1);
    if (span_.count > 1 && 2 * all <= at_once) {  // some rows together
      const std::size_t together = at_once / all;
      for (std::size_t r = 0; r < span_.count; r += together) {
        const std::size_t n = std::min(span_.count - r, together);
        for (std::size_t k = 0; k < n; ++k)
          table_.read(k * all, params_, first(r + k, 0), all, params_.step);
        finish(n * all, entries);
        rows({.row = r,
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
        rows({.row = r,
              .column = at,
              .length = std::min(n * params_.group, span_.length - at),
              .shift = shift});
      }
  }
  void finish(std::size_t n, std::size_t entries) noexcept {
    table_.finish(n);
    if (entries > 1) table_.repeat(n, entries);
  }

  void shared_lanes() noexcept {
    const std::size_t together = std::min(plan_.joined_rows, span_.count),
                      whole = span_.count / together, rest = span_.count % together;
    for (std::size_t i = 0, n = 0; i < span_.length; i += n) {
      n = lanes_at(0, i);
      table_.take_lanes(params_, 0, i, n);
      table_.copy(n, together);
      rows({.column = i, .length = n * together, .count = whole, .rows_apart = together});
      if (rest != 0) rows({.row = whole * together, .column = i, .length = n * rest});
    }
  }

  void own_lanes() noexcept {
    for (std::size_t r = 0; r < span_.count; ++r)
      for (std::size_t i = 0, n = 0; i < span_.length; i += n) {
        n = lanes_at(r, i);
        table_.take_lanes(params_, r, i, n);
        rows({.row = r, .column = i, .length = n});
      }
  }

  // How many elements of row r, from element i on, the table takes: so many that the next ones
  // begin on a line if these are shifted to one.
  [[nodiscard]] std::size_t lanes_at(std::size_t r, std::size_t i) const noexcept {
    const std::size_t past = all_.how.shifted ? all_.elements_past_line(r, i) : 0;
    return std::min(span_.length - i, table_.capacity - past);
  }

  const RowSpan<Arch>& all_;
  typename RowSpan<Arch>::Function loop_;
  const Plan& plan_;
  const Span& span_;
  const Parameters& params_;
  Table<Arch>& table_;
};

// Whether the loop of streamed lanes divides by scales, so that its table needs no reciprocals.
template <class Arch>
bool divides_by_scales(const RowSpan<Arch>& all, const Plan& plan) noexcept {
  return all.kernel.corrects && all.how.streams && plan.form == Form::per_lane;
}

// With a table of so many entries. Not inlined, so that no stack has room for another one.
template <std::size_t Capacity, TableColumns Held = TableColumns::reciprocals, class Arch>
TQ_NO_INLINE void sweep_with(const RowSpan<Arch>& all, const Plan& plan) noexcept {
  const bool has_origins = plan.params.origins.exists();
  const auto loop = all.loop(plan.form, plan.grain, has_origins);
  TableOf<Arch, Capacity, Held> table(all.kernel.divides,
                                      all.kernel.divides && !divides_by_scales(all, plan));
  if (loop.reads_origins && !has_origins) table.take_no_origins();
  RowSweep<Arch>(all, plan, table, loop.run).run();
}

// Streamed rows that share parameters of their lanes. They should stay in one piece, so the table
// is as large as a call may take of a stack, and has only the columns that the loop reads.
template <class Arch>
void sweep_shared_lanes(const RowSpan<Arch>& all, const Plan& plan) noexcept {
  constexpr std::size_t scales = 12288, with_origins = scales / 2, with_reciprocals = 3072;
  const bool has_origins = plan.params.origins.exists();
  if (all.kernel.divides && !divides_by_scales(all, plan)) sweep_with<with_reciprocals>(all, plan);
  else if (has_origins || all.loop(plan.form, plan.grain, has_origins).reads_origins)
    sweep_with<with_origins, TableColumns::origins>(all, plan);
  else sweep_with<scales, TableColumns::scales>(all, plan);
}

/// A parameter of all elements: its table and its loop, for any number of rows. Precondition: the
/// kernel has loops of constants.
template <class Arch>
class OneParameter {
 public:
  OneParameter(const RowSpan<Arch>& all, const Parameters& params) noexcept
      : loop_(all.loop(Form::constant, 0, params.origins.exists())), table_(all.kernel.divides) {
    if (loop_.reads_origins && !params.origins.exists()) table_.take_no_origins();
    table_.take_one(params, params.first);
  }
  void sweep(const RowSpan<Arch>& all) const noexcept {
    loop_.run(all.rows({.length = all.span.length, .count = all.span.count, .rows_apart = 1},
                       &table_, nullptr));
  }

 private:
  typename RowSpan<Arch>::Loop loop_;
  TableOf<Arch, 1> table_;
};

// Not inlined, so that no stack has room for another table.
template <class Arch>
TQ_NO_INLINE void sweep_with_one(const RowSpan<Arch>& all, const Parameters& params) noexcept {
  OneParameter<Arch>(all, params).sweep(all);
}

// In the cache tables should be too.
template <class Arch>
void sweep_planned(const RowSpan<Arch>& all, const Plan& plan) noexcept {
  constexpr std::size_t usual = 1024;
  const bool is_one =
      plan.form == Form::constant && plan.rows_share && plan.params.group == whole_row;
  if (is_one) sweep_with_one(all, plan.params);
  else if (plan.form == Form::per_lane && plan.rows_share && plan.span.count > 1 && all.how.streams)
    sweep_shared_lanes(all, plan);
  else sweep_with<usual>(all, plan);
}

template <class Arch>
void sweep_by_table(BoundLoops<Arch> loops, const Operands& operands, const Span& span,
                    const Parameters& params, std::ptrdiff_t draw_stride,
                    const Tuning& tuning) noexcept {
  const std::size_t unit = std::max(until_whole_bytes(loops.kernel.source_bits),
                                    until_whole_bytes(loops.kernel.sink_bits));
  const bool joins = !loops.kernel.draws || draw_stride == static_cast<std::ptrdiff_t>(span.length);
  Plan plan = plan_for<Arch>(span, params, unit, joins);
  if (!loops.kernel.has(plan.form, plan.grain)) plan.form = Form::per_lane;
  const How how = streaming_plan(loops.kernel, operands, plan, tuning);
  sweep_planned<Arch>({loops, operands, plan.span, draw_stride, how}, plan);
  fence<Arch>(how);
}

/// Takes rows that have neighbours and begin on bytes through loops.
template <class Arch>
void sweep_rows(BoundLoops<Arch> loops, const Operands& operands, const Span& span,
                const Parameters& params, std::ptrdiff_t draw_stride,
                const Tuning& tuning) noexcept {
  if (loops.kernel.columns != 0) [[unlikely]]
    return sweep_by_columns(loops, operands, span, *params.columns, draw_stride, tuning);
  sweep_by_table(loops, operands, span, params, draw_stride, tuning);
}

}  // namespace tq::driver::detail
