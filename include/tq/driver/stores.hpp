// SPDX-License-Identifier: MIT
#pragma once
// Stores into the cache or past it.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if TQ_HAS_SIMD

namespace tq::driver {

/// How many elements of `Bits` bits lie between `out` and the next line.
template <int Bits>
TQ_FORCE_INLINE std::size_t elements_to_line(const void* out) noexcept {
  constexpr std::size_t line = arch::line_bytes;
  return (line - reinterpret_cast<std::uintptr_t>(out) % line) % line * 8 / Bits;
}

/// Stores a register of bytes, past the cache where it `Stream`s: then `out` is aligned to 16
/// bytes.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put(unsigned char* out, typename arch::lanes<Arch>::bytes bytes) noexcept {
  if constexpr (Stream) arch::lanes<Arch>::stream8(out, bytes);
  else arch::lanes<Arch>::store8(out, bytes);
}
/// The same of floats.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put(float* out, const arch::floats<Arch>& values) noexcept {
  if constexpr (Stream) arch::lanes<Arch>::stream(out, values);
  else arch::in_order<Arch>(values).store_unaligned(out);
}

/// Copies n bytes, without a call. Where that `IsPadded`, it may write zeros up to
/// a register further, for loads of whole registers need not wait for those then.
template <class Arch, bool IsPadded>
TQ_FORCE_INLINE void copy_some(unsigned char* to, const unsigned char* from,
                               std::size_t n) noexcept {
  using L = arch::lanes<Arch>;
  constexpr std::size_t size = sizeof(typename L::bytes);
  // The first and the last of some bytes.
  const auto ends = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
    std::array<unsigned char, Bytes> first, last;
    std::memcpy(first.data(), from, Bytes);
    std::memcpy(last.data(), from + n - Bytes, Bytes);
    std::memcpy(to, first.data(), Bytes);
    std::memcpy(to + n - Bytes, last.data(), Bytes);
  };
  std::size_t i = 0;
  TQ_ONE_COPY for (; i + size <= n; i += size) L::store8(to + i, L::load8(from + i));
  if (i == n) return;
  if constexpr (IsPadded && requires { L::load_some(from, n); })
    L::store8(to + i, L::load_some(from + i, n - i));
  else if (i != 0) L::store8(to + n - size, L::load8(from + n - size));  // some bytes again
  else if (n >= 32) ends(std::integral_constant<std::size_t, 32>{});
  else if (n >= 16) ends(std::integral_constant<std::size_t, 16>{});
  else if (n >= 8) ends(std::integral_constant<std::size_t, 8>{});
  else if (n >= 4) ends(std::integral_constant<std::size_t, 4>{});
  else if (n >= 2) ends(std::integral_constant<std::size_t, 2>{});
  else *to = *from;
}

/// Stores n bytes, which are whole lines, past the cache.
template <class Arch>
TQ_FORCE_INLINE void stream_lines(unsigned char* to, const unsigned char* from,
                                  std::size_t n) noexcept {
  using L = arch::lanes<Arch>;
  for (std::size_t i = 0; i < n; i += sizeof(typename L::bytes))
    L::stream8(to + i, L::load8(from + i));
}

}  // namespace tq::driver

#endif
