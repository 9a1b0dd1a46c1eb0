// SPDX-License-Identifier: MIT
#pragma once
// Writing past the cache: where a kernel may, from which element on, and the stores themselves.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/params.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if TQ_HAS_SIMD

namespace tq::kernels {

/// How a kernel writes: into the cache; past it; past it in registers that are aligned because every stretch begins with a
/// short block.
enum class Writes : std::uint8_t { cached, streamed, shifted };

/// How a kernel that should be `streaming` writes stretches of elements of `Bits` bits to `out`. A line of which one part is
/// stored and the other streamed is read from memory first, and everything waits: of two rows of 1 KiB that meet in one, four
/// times as long as they take. So rows are shifted where they are long, and where it is that or to cache them.
template <class Arch, class Params, int Bits>
TQ_FORCE_INLINE Writes writes(bool streaming, const void* out, const Stretches& at) noexcept {
  if (!streaming) return Writes::cached;
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(out) + static_cast<std::uintptr_t>(byte_of<Bits>(at.target)),
                       apart = static_cast<std::uintptr_t>(at.count == 1 ? 0 : byte_of<Bits>(at.target_stride));
  if ((place | apart) % sizeof(typename arch::lanes<Arch>::bytes) == 0) return Writes::streamed;
  const bool by_sixteen = (place | apart) % 16 == 0;
  if (Params::shifts && at.length >= (by_sixteen ? 65536 : 4096)) return Writes::shifted;
  return by_sixteen ? Writes::streamed : Writes::cached;
}

/// How many elements of `Bits` bits lie between `out` and the next place where a register is aligned.
template <class Arch, int Bits>
TQ_FORCE_INLINE std::size_t elements_to_alignment(const void* out) noexcept {
  constexpr std::size_t size = sizeof(typename arch::lanes<Arch>::bytes);
  return (size - reinterpret_cast<std::uintptr_t>(out) % size) % size * 8 / Bits;
}

/// Stores a register of codes, past the cache where it `Stream`s: then `out` is aligned to 16 bytes.
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

}  // namespace tq::kernels

#endif
