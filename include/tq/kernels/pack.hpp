// SPDX-License-Identifier: MIT
#pragma once
// Codes <-> dense bits, for any width from 1 to 8 and either bit order.

#include <tq/arch/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

/// Widths 2 and 4, low bits first, are vectorised; every width is exact. n codes take ceil(n * bits / 8)
/// bytes, the unused bits of the last one are written as zero and ignored when read.
template <class Arch, class Code>
struct bit_pack {
  static_assert(sizeof(Code) == 1);

  static void pack(const Code* codes, unsigned char* out, std::size_t n, int bits, bool low_first) noexcept {
    std::size_t i = 0;
    if constexpr (simd)
      if (low_first && (bits == 4 || bits == 2)) i = pack_blocks(codes, out, n, bits);
    const auto width = static_cast<unsigned>(bits);
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    for (; i < n; i += 8) {  // eight codes fill `bits` bytes
      const std::size_t count = n - i < 8 ? n - i : 8;
      std::uint64_t word = 0;
      for (unsigned k = 0; k < count; ++k) {
        const std::uint64_t code = static_cast<std::uint8_t>(codes[i + k]) & mask;
        word |= code << (low_first ? k * width : (7 - k) * width);
      }
      unsigned char* to = out + i / 8 * width;
      for (unsigned b = 0; b < (count * width + 7) / 8; ++b)
        to[b] = static_cast<unsigned char>(word >> (low_first ? 8 * b : 8 * (width - 1 - b)));
    }
  }

  static void unpack(const unsigned char* bytes, Code* codes, std::size_t n, int bits, bool low_first) noexcept {
    std::size_t i = 0;
    const auto width = static_cast<unsigned>(bits);
    const std::uint32_t sign = std::is_signed_v<Code> ? 1u << (width - 1) : 0u;
    if constexpr (simd)
      if (low_first && (bits == 4 || bits == 2)) i = unpack_blocks(bytes, codes, n, bits, sign);
    const std::uint32_t mask = (1u << width) - 1u;
    for (; i < n; i += 8) {
      const std::size_t count = n - i < 8 ? n - i : 8;
      const unsigned char* from = bytes + i / 8 * width;
      std::uint64_t word = 0;
      for (unsigned b = 0; b < (count * width + 7) / 8; ++b)
        word |= std::uint64_t{from[b]} << (low_first ? 8 * b : 8 * (width - 1 - b));
      for (unsigned k = 0; k < count; ++k) {
        const auto v = static_cast<std::uint32_t>(word >> (low_first ? k * width : (7 - k) * width)) & mask;
        codes[i + k] = static_cast<Code>((v ^ sign) - sign);
      }
    }
  }

 private:
  static constexpr bool simd = !std::is_same_v<Arch, arch::scalar>;

#if TQ_HAS_SIMD
  static std::size_t pack_blocks(const Code* codes, unsigned char* out, std::size_t n, int bits) noexcept
    requires simd
  {
    using L = arch::lanes<Arch>;
    constexpr std::size_t block = 4 * arch::width<Arch>;
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
      if (bits == 4)
        L::store4(out + i / 2, L::load8(codes + i));
      else
        L::store2(out + i / 4, L::load8(codes + i));
    }
    return i;
  }

  // Two's complement of `bits` bits: (v ^ sign) - sign.
  static std::size_t unpack_blocks(const unsigned char* bytes, Code* codes, std::size_t n, int bits,
                                   std::uint32_t sign) noexcept
    requires simd
  {
    using L = arch::lanes<Arch>;
    using B = xsimd::batch<std::int8_t, Arch>;
    constexpr std::size_t block = 4 * arch::width<Arch>;
    const B flip(static_cast<std::int8_t>(sign));
    auto* out = reinterpret_cast<std::int8_t*>(codes);
    std::size_t i = 0;
    for (; i + block <= n; i += block) {
      L::store8(out + i, bits == 4 ? L::load4(bytes + i / 2) : L::load2(bytes + i / 4));
      const B v = B::load_unaligned(out + i);
      ((v ^ flip) - flip).store_unaligned(out + i);
    }
    return i;
  }
#endif
};

}  // namespace tq::kernels
