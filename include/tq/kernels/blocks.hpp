// SPDX-License-Identifier: MIT
#pragma once
// How kernels go through a long stretch: block by block.

#include <tq/arch/cpu.hpp>

#include <cstddef>

namespace tq::kernels {

/// How many of `count` codes of `Bits` bits fill whole bytes.
template <int Bits>
TQ_FORCE_INLINE constexpr std::size_t whole_bytes(std::size_t count) noexcept {
  return Bits < 8 ? count - count % (8 / Bits) : count;
}

/// Calls f(i) for i = first, first + Step, ... wherever a whole step fits below `count`, and returns where the rest begins.
template <std::size_t Step, class F>
TQ_FORCE_INLINE std::size_t for_each_block(std::size_t first, std::size_t count, F&& f) noexcept {
  std::size_t i = first;
  for (; i + Step <= count; i += Step) f(i);
  return i;
}

/// The same by four pages side by side, which some processors read faster from memory, wherever four whole pages fit.
template <std::size_t Step, class F>
TQ_FORCE_INLINE std::size_t for_each_block_side_by_side(std::size_t first, std::size_t count, F&& f) noexcept {
  constexpr std::size_t page = arch::page_bytes / sizeof(float), pages = 4;
  static_assert(page % Step == 0);
  std::size_t i = first;
  for (; i + pages * page <= count; i += pages * page)
    for (std::size_t k = 0; k < page; k += Step)
      for (std::size_t p = 0; p < pages; ++p) f(i + p * page + k);
  return i;
}

/// As for_each_block to the end of a stretch of at least a step, by one loop that ends as last_block() does.
template <std::size_t Step, int Bits, class F>
TQ_FORCE_INLINE std::size_t for_each_block_to_end(std::size_t first, std::size_t count, F&& f) noexcept {
  if (count < Step) return first;
  const std::size_t end = whole_bytes<Bits>(count);
  for (std::size_t i = first; i < end; i += Step) {
    if (i > end - Step) i = end - Step;
    f(i);
  }
  return end;
}

/// After for_each_block: where a stretch of at least a step has some elements left, up to the last whole byte of codes of
/// `Bits`, calls f for the step that ends there, and returns where it ends. It does elements again that were done, which is
/// faster than a copy of the rest that is filled up.
template <std::size_t Step, int Bits, class F>
TQ_FORCE_INLINE std::size_t last_block(std::size_t done, std::size_t count, F&& f) noexcept {
  const std::size_t end = whole_bytes<Bits>(count);
  if (done >= end || end < Step) return done;
  f(end - Step);
  return end;
}

}  // namespace tq::kernels
