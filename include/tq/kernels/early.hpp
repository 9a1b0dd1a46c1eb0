// SPDX-License-Identifier: MIT
#pragma once
// What kernels ask for before they read or write it: lines of memory, and pages, which the processor has to find first.

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

/// Asks for a line of the page that comes 16 pages after p's.
TQ_FORCE_INLINE void ask_for_page(const void* p) noexcept { arch::prefetch<true>(p, 16 * arch::page_bytes); }

/// The same for each page of n floats, where that helps.
TQ_FORCE_INLINE void ask_for_pages(const float* p, std::size_t n) noexcept {
  if (arch::finds_pages_late())
    for (std::size_t i = 0; i < n; i += arch::page_bytes / sizeof(float)) ask_for_page(p + i);
}

/// The same where a page begins in the `Bytes` at p.
template <std::size_t Bytes>
TQ_FORCE_INLINE void ask_for_page_of(const void* p) noexcept {
  if (reinterpret_cast<std::uintptr_t>(p) % arch::page_bytes < Bytes) ask_for_page(p);
}

/// What a loop asks for that reads floats from memory and writes past the cache.
struct Early {
  /// How many floats ahead lines are asked for; 0: not at all. A page and a half, and a line: multiples of 2 KiB were 3 to 8 %
  /// slower.
  std::ptrdiff_t floats = 0;
  bool pages = false;          ///< that are read
  bool written_pages = false;  ///< that are written

  /// What helps this processor where a loop `Stream`s, and nothing where it does not. `dense`: floats are read side by side.
  /// `pages_alone`: pages that are read are asked for even where lines are not.
  template <bool Stream>
  static Early where(bool dense, bool pages_alone = true) noexcept {
    if constexpr (!Stream) return {};
    const std::ptrdiff_t floats = dense && arch::looks_ahead_late() ? 1552 : 0;
    return {floats, dense && arch::finds_pages_late() && (pages_alone || floats != 0), arch::finds_written_pages_late()};
  }

  /// With `Count` floats at x, to be written to `Bytes` at out.
  template <std::size_t Count, std::size_t Bytes>
  TQ_FORCE_INLINE void ask(const float* x, const void* out) const noexcept {
    if (floats != 0) ask_for<Count>(x, floats);
    if (pages) ask_for_page_of<Count * sizeof(float)>(x);
    if (written_pages) ask_for_page_of<Bytes>(out);
  }
};

}  // namespace tq::kernels
