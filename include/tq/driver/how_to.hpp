// SPDX-License-Identifier: MIT
#pragma once
// how_to: how the rows of a sweep are read and written.

#include <tq/driver/bits.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/tuning.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::driver::detail {

// A line of which one part is stored and the other streamed is read from memory first, and
// everything waits: so rows are shifted where they are long, and where it is that or to cache them.
template <class Arch>
How how_to(const RowLoops<Arch>& kernel, [[maybe_unused]] const Operands& operands,
           const Plan& plan, [[maybe_unused]] const Tuning& tuning) noexcept {
  How how;
  how.origins = kernel.takes_origins && plan.params.origins.exists();
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
    how.shifted = (place | apart) % size != 0 && shifts && !kernel.finds &&
                  s.length >= (by_sixteen ? 65536 : 4096);
    how.streams = how.shifted || by_sixteen;
    if (!how.streams) return how;
    // What reads less than it writes has time enough to find pages.
    const bool dense =
        !kernel.finds && (s.count == 1 || s.source_stride == static_cast<std::ptrdiff_t>(s.length));
    if (dense) how.lines = tuning.lines_ahead;
    if (dense && kernel.source_bits >= kernel.sink_bits)
      how.pages = tuning.pages_ahead * arch::page_bytes;
    how.written_pages = tuning.written_pages_ahead * arch::page_bytes;
  }
#endif
  return how;
}

}  // namespace tq::driver::detail
