// SPDX-License-Identifier: MIT
#pragma once
// Asking for memory before it is needed.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::arch {

/// Asks for the byte that is `offset` bytes from p, which need not exist, to be brought to the first cache: now, not where a
/// compiler would rather have it.
TQ_FORCE_INLINE void prefetch([[maybe_unused]] const void* p, [[maybe_unused]] std::ptrdiff_t offset) noexcept {
#if defined(__GNUC__)
  const auto* at = reinterpret_cast<const unsigned char*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(offset));
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*at));
#else
  __builtin_prefetch(at);
#endif
#endif
}

}  // namespace tq::arch
