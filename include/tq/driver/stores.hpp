// SPDX-License-Identifier: MIT
#pragma once
// Stores into the cache or past it.

#include <tq/arch/lanes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if TQ_HAS_SIMD

namespace tq::driver {

/// How many elements of `Bits` bits lie between `out` and the next place where a register is
/// aligned.
template <class Arch, int Bits>
TQ_FORCE_INLINE std::size_t elements_to_alignment(const void* out) noexcept {
  constexpr std::size_t size = sizeof(typename arch::lanes<Arch>::bytes);
  return (size - reinterpret_cast<std::uintptr_t>(out) % size) % size * 8 / Bits;
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

/// Copies n bytes, of which one is, without a call. Where that `IsPadded`, it may write zeros up to
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

/// Stores n bytes, the same way.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put_bytes(void* out, const void* from, std::size_t n) noexcept {
  auto* to = static_cast<unsigned char*>(out);
  const auto* bytes = static_cast<const unsigned char*>(from);
  std::size_t i = 0;
  if constexpr (Stream)
    for (; i + 16 <= n; i += 16) arch::lanes<Arch>::stream16(to + i, bytes + i);
  std::memcpy(to + i, bytes + i, n - i);
}

}  // namespace tq::driver

#endif
