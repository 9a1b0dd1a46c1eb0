// SPDX-License-Identifier: MIT
#pragma once
// The driver of one instruction set: from a span and its parameters to rows with a table, or tiles.

#include <tq/driver/bits.hpp>
#include <tq/driver/row_sweep.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/tile_sweep.hpp>
#include <tq/driver/tuning.hpp>

#include <cstddef>

namespace tq::driver::detail {

/// Whether every row of the source begins on a byte. Of elements that have no bits of their own,
/// none does.
constexpr bool rows_begin_on_bytes(const Span& s, std::ptrdiff_t at, int bits) noexcept {
  if (bits % 8 == 0) return bits != 0;
  const auto is_whole = [&](std::ptrdiff_t n) { return n % 8 * bits % 8 == 0; };
  return is_whole(at) && (s.count == 1 || is_whole(s.source_stride));
}

// Not inlined, so that a stack has room for tiles only where there are some.
template <class Arch>
TQ_NO_INLINE void sweep_by_tiles(BoundLoops<Arch> loops, const Operands& operands, const Span& span,
                                 const Parameters& params, const Tuning& tuning) noexcept {
  TileSweep<Arch>(loops, operands, span, params, tuning).run(params);
}

/// Whether a span is a row in the cache with one parameter: then there is nothing to plan.
template <class Arch>
constexpr bool is_plain_row(const RowLoops<Arch>& kernel, const Operands& operands,
                            const Span& span, const Parameters& params) noexcept {
  return span.count == 1 && params.group >= span.length && !operands.streams &&
         span.has_neighbours() && kernel.columns == 0 && kernel.loose == nullptr &&
         kernel.has(Form::constant, 0);
}

/// Takes the elements of a span through loops, with the parameters of each.
template <class Arch>
void sweep_by(BoundLoops<Arch> loops, const Operands& operands, const Span& span,
              const Parameters& params, const Tuning& tuning) noexcept {
  static constexpr How stored{};
  if (span.length == 0 || span.count == 0) return;
  if (is_plain_row(loops.kernel, operands, span, params))
    return sweep_with_one<Arch>({loops, operands, span, 0, stored}, params);
  if (!span.has_neighbours() ||
      (!loops.kernel.finds &&
       !rows_begin_on_bytes(span, operands.first, loops.kernel.source_bits)) ||
      TileSweep<Arch>::is_due(loops.kernel, span, params.group))
    return sweep_by_tiles(loops, operands, span, params, tuning);
  sweep_rows(loops, operands, span, params, span.target_stride, tuning);
}

}  // namespace tq::driver::detail
