// SPDX-License-Identifier: MIT
#pragma once
// streaming_plan: how the rows of a sweep are read and written.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::driver::detail {

// The stretches that loops write one by one: rows, or their long groups.
template <class Arch>
struct Pieces {
  std::size_t bytes;  // of one
  std::size_t place;  // of any, as far as bits go that are 0 in the places of all

  Pieces(const Plan& plan, const void* target, int bits) noexcept {
    const bool are_groups = plan.form == Form::constant && plan.params.group != whole_row;
    const auto bytes_of = [&](std::ptrdiff_t n) {
      return static_cast<std::size_t>(bytes_to(n, bits));
    };
    bytes =
        bytes_of(static_cast<std::ptrdiff_t>(are_groups ? plan.params.group : plan.span.length));
    place = reinterpret_cast<std::uintptr_t>(target);
    if (are_groups) place |= bytes;
    if (plan.span.count != 1) place |= bytes_of(plan.span.target_stride);
  }
  [[nodiscard]] bool begin_on(std::size_t power_of_two) const noexcept {
    return place % power_of_two == 0;
  }
};

// Shorter ones are stored where they do not begin on lines.
inline constexpr std::size_t least_shifted = 960;

// A line of which one part is stored and the other streamed, or which is streamed in parts between
// which something else is stored, is read from memory first, and everything waits. So pieces are
// shifted: what they have of the lines at their ends is stored, the rest is streamed.
template <class Arch>
How streaming_plan([[maybe_unused]] const RowLoops<Arch>& kernel,
                   [[maybe_unused]] const Operands& operands, [[maybe_unused]] const Plan& plan,
                   [[maybe_unused]] const Tuning& tuning) noexcept {
  How how;
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    const Span& s = plan.span;
    if (!operands.streams || plan.joined_rows != 1 || !kernel.streams) return how;
    const Pieces<Arch> pieces(plan, operands.target, kernel.sink_bits);
    const bool on_lines = pieces.begin_on(arch::line_bytes),
               is_long = pieces.bytes >= least_shifted,
               can_shift =
                   plan.form != Form::per_grain && !kernel.finds &&
                   pieces.begin_on(static_cast<std::size_t>(std::max(kernel.sink_bits, 8) / 8));
    how.shifted = !on_lines && is_long && can_shift;
    how.streams = on_lines || (is_long && (can_shift || pieces.begin_on(16)));
    if (!how.streams) return how;
    // A kernel that writes more than it reads has time enough to find the pages of its source.
    const bool dense =
        !kernel.finds && (s.count == 1 || s.source_stride == static_cast<std::ptrdiff_t>(s.length));
    if (dense) how.lines = tuning.lines_ahead;
    if (dense && kernel.source_bits >= kernel.sink_bits)
      how.pages = tuning.pages_ahead * arch::page_bytes;
    how.written_pages = tuning.written_pages_ahead * arch::page_bytes;
  }
  return how;
}

// After a sweep: what was streamed is there before what is written next.
template <class Arch>
void fence([[maybe_unused]] const How& how) noexcept {
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>)
    if (how.streams) arch::lanes<Arch>::fence();
#endif
}

}  // namespace tq::driver::detail
