// SPDX-License-Identifier: MIT
#pragma once
// Properties of the machine.

#include <tq/config.hpp>

#include <cstddef>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace tq::arch {

/// Size of a cache line, as on most processors.
inline constexpr std::size_t line_bytes = 64;
/// Size of a page of memory, as on most systems.
inline constexpr std::ptrdiff_t page_bytes = 4096;

/// Bytes of the last-level cache a program may count on, or 32 MiB where the system does not say.
/// Caches beyond 64 MiB belong to many cores, in a virtual machine also to other guests: data does
/// not stay in more of them. Above this size streaming stores save reading the target.
inline std::size_t last_level_cache() noexcept {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  constexpr long most = 64L << 20;
  static const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return static_cast<std::size_t>(bytes < most ? bytes : most);
#endif
  return std::size_t{32} << 20;
}

namespace detail {
// 0x19 of Zen 3 and 4, 0x1a of Zen 5; 0 of other makers.
inline unsigned amd_family() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  static const unsigned family = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_is("amd")) return 0u;
    unsigned a = 1, b = 0, c = 0, d = 0;
    asm("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));  // <cpuid.h> is large
    return (a >> 8 & 0xfu) + (a >> 20 & 0xffu);
  }();
  return family;
#else
  return 0;
#endif
}
inline bool is_intel() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool found = (__builtin_cpu_init(), __builtin_cpu_is("intel") != 0);
  return found;
#else
  return false;
#endif
}
inline bool has_avx512() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool found = (__builtin_cpu_init(), __builtin_cpu_supports("avx512f") != 0);
  return found;
#else
  return false;
#endif
}
}  // namespace detail

/// Processors that loops are tuned for. Of Intel's: those with AVX-512.
enum class Processor : unsigned char { other, zen3, zen4, zen5, intel };

/// The one that runs this.
inline Processor processor() noexcept {
  if (detail::is_intel()) return detail::has_avx512() ? Processor::intel : Processor::other;
  const unsigned family = detail::amd_family();
  if (family >= 0x1a) return Processor::zen5;
  if (family != 0x19) return Processor::other;
  return detail::has_avx512() ? Processor::zen4 : Processor::zen3;
}

}  // namespace tq::arch
