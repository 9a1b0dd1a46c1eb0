// SPDX-License-Identifier: MIT
#pragma once
// How kernels go through a long stretch: block by block, asking early for what comes next.

#include <tq/arch/cpu.hpp>
#include <tq/arch/prefetch.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Of the pages of memory, as most systems have them.
inline constexpr std::ptrdiff_t page_bytes = 4096;

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
  constexpr std::size_t page = page_bytes / sizeof(float), pages = 4;
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

/// How many floats ahead a kernel asks for what it reads from memory; 0: not at all. A page and a half, and a line: multiples
/// of 2 KiB were 3 to 8 % slower.
inline std::ptrdiff_t asks_ahead_in_memory() noexcept { return arch::looks_ahead_late() ? 1552 : 0; }

/// Asks for `Count` elements, `ahead` elements from p, that are read `Once` or again.
template <std::size_t Count, bool Once = true, class T>
TQ_FORCE_INLINE void ask_for(const T* p, std::ptrdiff_t ahead) noexcept {
  constexpr std::ptrdiff_t line = 64, size = sizeof(T);
  TQ_UNROLL for (std::ptrdiff_t b = 0; b < static_cast<std::ptrdiff_t>(Count) * size; b += line)
    arch::prefetch<Once>(p, ahead * size + b);
}

/// Asks for a line of the page that comes 16 pages after p's: see finds_pages_late().
TQ_FORCE_INLINE void ask_for_page(const void* p) noexcept { arch::prefetch<true>(p, 16 * page_bytes); }

/// The same for each page of n elements, where that helps.
template <class T>
TQ_FORCE_INLINE void ask_for_pages(const T* p, std::size_t n) noexcept {
  if (arch::finds_pages_late())
    for (std::size_t i = 0; i < n; i += page_bytes / sizeof(T)) ask_for_page(p + i);
}

/// The same where a page begins in the `Count` elements at p.
template <std::size_t Count, class T>
TQ_FORCE_INLINE void ask_for_page_of(const T* p) noexcept {
  if (reinterpret_cast<std::uintptr_t>(p) % page_bytes < Count * sizeof(T)) ask_for_page(p);
}

/// Asks for `Count` elements that are read once, `ahead` elements from p, and for pages.
template <std::size_t Count, class T>
TQ_FORCE_INLINE void ask_memory_for(const T* p, std::ptrdiff_t ahead) noexcept {
  ask_for<Count>(p, ahead);
  ask_for_page_of<Count>(p);
}

}  // namespace tq::kernels
