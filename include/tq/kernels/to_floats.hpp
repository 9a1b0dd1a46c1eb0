// SPDX-License-Identifier: MIT
#pragma once
// A stretch of codes -> floats: whole blocks, and what is left before and after them.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/blocks.hpp>
#include <tq/kernels/early.hpp>
#include <tq/kernels/stream.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

#if TQ_HAS_SIMD

namespace tq::kernels {

namespace detail {
// The n elements from element i on, less than a block: one() on copies.
template <class Arch, int Bits, bool Stream, class One>
TQ_FORCE_INLINE void part_to_floats(const unsigned char* q, float* out, std::size_t i, std::size_t n, One&& one) noexcept {
  constexpr std::size_t block = 4 * arch::width<Arch>;
  alignas(64) unsigned char in[block * Bits / 8] = {};
  alignas(64) float to[block];
  std::memcpy(in, q + byte_of<Bits>(i), (n * Bits + 7) / 8);
  one(in, to, i, std::false_type{});
  put_bytes<Arch, Stream>(out + i, to, n * sizeof(float));
}
}  // namespace detail

/// Calls one(from, to, i, stream) for blocks of four registers of floats that come from codes of `Bits` bits: `from` at the codes
/// of element i, `to` at its place in `out`, or both in copies of part of a block; `stream`, a constant, says whether it is
/// written past the cache. `Shifts`: a stretch that is `shifted` begins with part of a block. `asks`: for pages to be written.
template <class Arch, int Bits, bool Stream, bool Shifts, class One>
TQ_FORCE_INLINE void to_floats(const unsigned char* q, float* out, std::size_t count, [[maybe_unused]] bool asks,
                               [[maybe_unused]] bool shifted, One&& one) noexcept {
  constexpr std::size_t block = 4 * arch::width<Arch>;
  std::size_t i = 0;
  if constexpr (Stream && Shifts) {
    const std::size_t head = shifted ? elements_to_alignment<Arch, 32>(out) : 0;
    if (head != 0) {
      if (head * Bits % 8 != 0)  // would cut a byte
        return to_floats<Arch, Bits, false, Shifts>(q, out, count, false, false, one);
      i = head < count ? head : count;
      detail::part_to_floats<Arch, Bits, false>(q, out, 0, i, one);
    }
  }
  const auto at_block = [&](std::size_t at) TQ_LAMBDA_INLINE {
    if constexpr (Stream)
      if (asks) ask_for_page_of<block * sizeof(float)>(out + at);
    one(q + byte_of<Bits>(at), out + at, at, std::bool_constant<Stream>{});
  };
  i = for_each_block<block>(i, count, at_block);
  if constexpr (!Stream) i = last_block<block, Bits>(i, count, at_block);
  if (i < count) detail::part_to_floats<Arch, Bits, Stream>(q, out, i, count - i, one);
}

}  // namespace tq::kernels

#endif
