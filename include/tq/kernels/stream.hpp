// SPDX-License-Identifier: MIT
#pragma once
// Writing past the cache: where a kernel may, from which element on, and the stores themselves.

#include <tq/arch/lanes.hpp>
#include <tq/driver/stores.hpp>
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

using driver::elements_to_alignment, driver::put, driver::put_bytes;

/// Stores two registers of codes.
template <class Arch, bool Stream>
TQ_FORCE_INLINE void put(unsigned char* out, const typename arch::lanes<Arch>::bytes (&codes)[2]) noexcept {
  driver::put<Arch, Stream>(out, codes[0]);
  driver::put<Arch, Stream>(out + sizeof(codes[0]), codes[1]);
}

}  // namespace tq::kernels

#endif
