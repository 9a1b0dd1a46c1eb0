// SPDX-License-Identifier: MIT
#pragma once
// Codes <-> dense bits, for any width from 1 to 8 and either bit order.

#include <tq/arch/lanes.hpp>
#include <tq/driver/bits.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

namespace detail {
// Eight codes as the bytes of a word, the first one lowest, whatever the byte order of the machine.

TQ_FORCE_INLINE constexpr std::uint64_t reversed(std::uint64_t w) noexcept {
  w = (w & 0x00ff00ff00ff00ffu) << 8 | (w >> 8 & 0x00ff00ff00ff00ffu);
  w = (w & 0x0000ffff0000ffffu) << 16 | (w >> 16 & 0x0000ffff0000ffffu);
  return w << 32 | w >> 32;
}
// Up to eight of the `left` bytes at p.
TQ_FORCE_INLINE std::uint64_t load_word(const void* p, std::size_t left) noexcept {
  std::uint64_t w = 0;
  if (left >= sizeof(w)) std::memcpy(&w, p, sizeof(w));
  else std::memcpy(&w, p, left);
  return std::endian::native == std::endian::little ? w : reversed(w);
}
TQ_FORCE_INLINE void store_word(void* p, std::uint64_t w, std::size_t left) noexcept {
  if (std::endian::native != std::endian::little) w = reversed(w);
  if (left >= sizeof(w)) std::memcpy(p, &w, sizeof(w));
  else std::memcpy(p, &w, left);
}

// Brings the low `width` bits of each byte together: pairs, then pairs of pairs, then both halves.
TQ_FORCE_INLINE constexpr std::uint64_t gather_fields(std::uint64_t w, unsigned width) noexcept {
  w &= 0x0101010101010101u * ((1u << width) - 1u);
  w = (w & 0x00ff00ff00ff00ffu) | (w >> 8 & 0x00ff00ff00ff00ffu) << width;
  w = (w & 0x0000ffff0000ffffu) | (w >> 16 & 0x0000ffff0000ffffu) << 2 * width;
  return (w & 0xffffffffu) | w >> 32 << 4 * width;
}
// The inverse; bits above 8 * width are ignored.
TQ_FORCE_INLINE constexpr std::uint64_t spread_fields(std::uint64_t w, unsigned width) noexcept {
  const std::uint64_t one = (1u << width) - 1u, two = (1u << 2 * width) - 1u,
                      four = (std::uint64_t{1} << 4 * width) - 1u;
  w = (w & four) | (w >> 4 * width & four) << 32;
  w = (w & 0x0000000100000001u * two) | (w >> 2 * width & 0x0000000100000001u * two) << 16;
  return (w & 0x0001000100010001u * one) | (w >> width & 0x0001000100010001u * one) << 8;
}
// (v ^ sign) - sign in every byte below 128; the high bit takes the borrow and is put right
// afterwards.
TQ_FORCE_INLINE constexpr std::uint64_t sign_extended(std::uint64_t w,
                                                      std::uint32_t sign) noexcept {
  constexpr std::uint64_t every = 0x0101010101010101u;
  return (((w ^ every * sign) | every * 0x80u) - every * sign) ^ every * 0x80u;
}

// Code i of those of `Bits` bits (1, 2 or 4), low bits first.
template <class Code, int Bits>
TQ_FORCE_INLINE constexpr Code packed_code(const unsigned char* bytes, std::size_t i) noexcept {
  constexpr std::int32_t sign = std::is_signed_v<Code> ? 1 << (Bits - 1) : 0;
  const int code = bytes[driver::byte_at<Bits>(i)] >> (i * Bits % 8) & ((1 << Bits) - 1);
  return static_cast<Code>((code ^ sign) - sign);
}

#if TQ_HAS_SIMD
// A block of such codes (4 or 2 bits).
template <class Arch, int Bits, class Code>
TQ_FORCE_INLINE void unpack_block(const unsigned char* bytes, Code* codes) noexcept {
  static_assert((Bits == 4 || Bits == 2) && sizeof(Code) == 1);
  using L = arch::lanes<Arch>;
  if constexpr (Bits == 4) L::store8(codes, L::load4(bytes));
  else L::store8(codes, L::load2(bytes));
  if constexpr (std::is_signed_v<Code>) {  // two's complement: (v ^ sign) - sign
    using B = xsimd::batch<std::int8_t, Arch>;
    const B sign(static_cast<std::int8_t>(1 << (Bits - 1))),
        v = B::load_unaligned(reinterpret_cast<std::int8_t*>(codes));
    ((v ^ sign) - sign).store_unaligned(reinterpret_cast<std::int8_t*>(codes));
  }
}
// The same with 32 bits for each, whose upper ones count only if `Clean`.
template <class Arch, int Bits, bool Signed, bool Clean = true>
TQ_FORCE_INLINE void widen_block(const unsigned char* bytes,
                                 arch::ints<Arch> (&codes)[4]) noexcept {
  using L = arch::lanes<Arch>;
  if constexpr (L::has_widen_packed) {
    L::template widen_packed<Bits, Signed, Clean>(bytes, codes);
  } else {
    alignas(64) std::conditional_t<Signed, std::int8_t, std::uint8_t>
        unpacked[4 * arch::width<Arch>];
    unpack_block<Arch, Bits>(bytes, unpacked);
    L::template widen8<Signed>(unpacked, codes);
  }
}
#endif
}  // namespace detail

/// Widths 2 and 4, low bits first, are vectorised; the others take eight codes at a time. n codes
/// take ceil(n * bits / 8) bytes, the unused bits of the last one are written as zero and ignored
/// when read.
template <class Arch, class Code>
struct bit_pack {
  static_assert(sizeof(Code) == 1);

  static void pack(const Code* codes, unsigned char* out, std::size_t n, int bits,
                   bool low_first) noexcept {
    std::size_t i = 0;
    if constexpr (simd)
      if (low_first && (bits == 4 || bits == 2)) i = pack_blocks(codes, out, n, bits);
    const auto width = static_cast<unsigned>(bits);
    const std::size_t size = (n * width + 7) / 8;
    for (; i < n; i += 8) {  // eight codes fill `bits` bytes
      const std::size_t at = i / 8 * width;
      const std::uint64_t word = detail::load_word(codes + i, n - i);
      const std::uint64_t packed =
          low_first ? detail::gather_fields(word, width)
                    : detail::reversed(detail::gather_fields(detail::reversed(word), width)
                                       << (64 - 8 * width));
      detail::store_word(out + at, packed, size - at);  // what is written too far comes next
    }
  }

  static void unpack(const unsigned char* bytes, Code* codes, std::size_t n, int bits,
                     bool low_first) noexcept {
    std::size_t i = 0;
    const auto width = static_cast<unsigned>(bits);
    const std::uint32_t sign = std::is_signed_v<Code> ? 1u << (width - 1) : 0u;
    if constexpr (simd)
      if (low_first && (bits == 4 || bits == 2)) i = unpack_blocks(bytes, codes, n, bits);
    const std::size_t size = (n * width + 7) / 8;
    for (; i < n; i += 8) {
      const std::size_t at = i / 8 * width;
      const std::uint64_t packed = detail::load_word(bytes + at, size - at);
      const std::uint64_t word = low_first
                                     ? detail::spread_fields(packed, width)
                                     : detail::reversed(detail::spread_fields(
                                           detail::reversed(packed) >> (64 - 8 * width), width));
      detail::store_word(codes + i, width < 8 ? detail::sign_extended(word, sign) : word, n - i);
    }
  }

 private:
  static constexpr bool simd = !std::is_same_v<Arch, arch::scalar>;

#if TQ_HAS_SIMD
  static std::size_t pack_blocks(const Code* codes, unsigned char* out, std::size_t n,
                                 int bits) noexcept
    requires simd
  {
    using L = arch::lanes<Arch>;
    constexpr std::size_t block = 4 * arch::width<Arch>;
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
      if (bits == 4) L::store4(out + i / 2, L::load8(codes + i));
      else L::store2(out + i / 4, L::load8(codes + i));
    }
    return i;
  }

  static std::size_t unpack_blocks(const unsigned char* bytes, Code* codes, std::size_t n,
                                   int bits) noexcept
    requires simd
  {
    constexpr std::size_t block = 4 * arch::width<Arch>;
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
      if (bits == 4) detail::unpack_block<Arch, 4>(bytes + i / 2, codes + i);
      else detail::unpack_block<Arch, 2>(bytes + i / 4, codes + i);
    }
    return i;
  }
#endif
};

}  // namespace tq::kernels
