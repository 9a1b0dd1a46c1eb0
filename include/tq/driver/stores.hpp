// SPDX-License-Identifier: MIT
#pragma once
// Stores into the cache or past it.

#include <tq/arch/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

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
  else values.store_unaligned(out);
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
