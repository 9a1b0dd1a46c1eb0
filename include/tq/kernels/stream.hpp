// SPDX-License-Identifier: MIT
#pragma once
// Writing past the cache: where a kernel may, from which element on, and the stores themselves.

#include <tq/arch/lanes.hpp>

#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD

namespace tq::kernels {

/// Whether a kernel should stream to `out`: groups must stay on their lanes, so the target must be aligned as it is.
template <class Arch, class Params>
TQ_FORCE_INLINE bool can_stream(bool streaming, const void* out) noexcept {
  return streaming &&
         (Params::shifts || reinterpret_cast<std::uintptr_t>(out) % sizeof(typename arch::lanes<Arch>::bytes) == 0);
}

/// How many elements of `Bits` bits lie between `out` and the next place where a register is aligned.
template <class Arch, int Bits>
TQ_FORCE_INLINE std::size_t elements_to_alignment(const void* out) noexcept {
  constexpr std::size_t size = sizeof(typename arch::lanes<Arch>::bytes);
  return (size - reinterpret_cast<std::uintptr_t>(out) % size) % size * 8 / Bits;
}

/// Stores a register of codes, past the cache where it `Stream`s: then `out` is aligned to the register.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put(unsigned char* out, typename arch::lanes<Arch>::bytes codes) noexcept {
  if constexpr (Stream) arch::lanes<Arch>::stream8(out, codes);
  else arch::lanes<Arch>::store8(out, codes);
}
/// Two of them.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put(unsigned char* out, const typename arch::lanes<Arch>::bytes (&codes)[2]) noexcept {
  put<Arch, Stream>(out, codes[0]);
  put<Arch, Stream>(out + sizeof(codes[0]), codes[1]);
}
/// The same of values.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put(float* out, const arch::floats<Arch>& values) noexcept {
  if constexpr (Stream) arch::lanes<Arch>::stream(out, values);
  else values.store_unaligned(out);
}

}  // namespace tq::kernels

#endif
