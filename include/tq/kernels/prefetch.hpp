// SPDX-License-Identifier: MIT
#pragma once
// Prefetches of kernels: of lines that they will read or write, and of pages, which the processor
// has to find first.

#include <tq/arch/cpu.hpp>
#include <tq/arch/prefetch.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Asks for `Count` elements, `ahead` elements from p, that are read `Once` or again.
template <std::size_t Count, bool Once = true, class T>
TQ_FORCE_INLINE void ask_for(const T* p, std::ptrdiff_t ahead) noexcept {
  constexpr std::ptrdiff_t line = 64, size = sizeof(T);
  TQ_UNROLL for (std::ptrdiff_t b = 0; b < static_cast<std::ptrdiff_t>(Count) * size; b += line)
      arch::prefetch<Once>(p, ahead * size + b);
}

/// Asks for a line of each page of n floats that comes so many `pages` later; 0: not at all.
TQ_FORCE_INLINE void ask_for_pages(const float* p, std::size_t n, std::ptrdiff_t pages) noexcept {
  constexpr std::size_t step = arch::page_bytes / sizeof(float);
  if (pages != 0)
    for (std::size_t i = 0; i < n; i += step) arch::prefetch<true>(p + i, pages * arch::page_bytes);
}

}  // namespace tq::kernels
