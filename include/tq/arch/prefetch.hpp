// SPDX-License-Identifier: MIT
#pragma once
// Asking for memory before it is needed.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::arch {

/// Asks for the byte that is `offset` bytes from p, which need not exist, to be brought to the
/// caches: now, not where a compiler would rather have it. What will be read `Once` is kept out of
/// the outer caches where the processor can.
template <bool Once = false>
TQ_FORCE_INLINE void prefetch([[maybe_unused]] const void* p,
                              [[maybe_unused]] std::ptrdiff_t offset) noexcept {
#if defined(__GNUC__)
  const auto* at = reinterpret_cast<const unsigned char*>(reinterpret_cast<std::uintptr_t>(p) +
                                                          static_cast<std::uintptr_t>(offset));
#if defined(__x86_64__)
  if constexpr (Once) asm volatile("prefetchnta %0" : : "m"(*at));
  else asm volatile("prefetcht0 %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 0, Once ? 0 : 3);
#endif
#endif
}

/// The same, but brought to the second cache only.
TQ_FORCE_INLINE void prefetch_outer([[maybe_unused]] const void* p,
                                    [[maybe_unused]] std::ptrdiff_t offset) noexcept {
#if defined(__GNUC__)
  const auto* at = reinterpret_cast<const unsigned char*>(reinterpret_cast<std::uintptr_t>(p) +
                                                          static_cast<std::uintptr_t>(offset));
#if defined(__x86_64__)
  asm volatile("prefetcht1 %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 0, 2);
#endif
#endif
}

}  // namespace tq::arch
