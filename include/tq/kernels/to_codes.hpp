// SPDX-License-Identifier: MIT
#pragma once
// Sinks of codes. What they take is in registers as narrowing leaves it: see `arch::lanes`.

#include <tq/arch/lanes.hpp>
#include <tq/driver/stores.hpp>
#include <tq/kernels/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::kernels {

#if TQ_HAS_SIMD
/// A block of codes of `Size` bytes.
template <class Arch, std::size_t Size>
struct code_block;
template <class Arch>
struct code_block<Arch, 1> {
  using type = typename arch::lanes<Arch>::bytes;
};
template <class Arch>
struct code_block<Arch, 2> {
  using type = typename arch::lanes<Arch>::bytes[2];
};
template <class Arch>
struct code_block<Arch, 4> {
  using type = arch::ints<Arch>[4];
};
#endif

/// Codes of 8 bits. A block is a register in the order of `narrow8`.
struct ToBytes {
  static constexpr int bits = 8;

  template <class Arch>
  static TQ_FORCE_INLINE void put_one(unsigned char* p, std::size_t i, std::int32_t code) noexcept {
    p[i] = static_cast<unsigned char>(code);
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put(unsigned char* p, typename arch::lanes<Arch>::bytes b) noexcept {
    driver::put<Arch, Stream>(p, arch::lanes<Arch>::order8(b));
  }
#endif
};

/// Codes of 16 bits. A block is the two registers that `narrow16` leaves.
struct ToWords {
  static constexpr int bits = 16;

  template <class Arch>
  static TQ_FORCE_INLINE void put_one(unsigned char* p, std::size_t i, std::int32_t code) noexcept {
    reinterpret_cast<std::uint16_t*>(p)[i] = static_cast<std::uint16_t>(code);
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put(unsigned char* p,
                                  const typename arch::lanes<Arch>::bytes (&w)[2]) noexcept {
    driver::put<Arch, Stream>(p, w[0]);
    driver::put<Arch, Stream>(p + sizeof(w[0]), w[1]);
  }
#endif
};

/// Codes of 32 bits.
struct ToInts {
  static constexpr int bits = 32;

  template <class Arch>
  static TQ_FORCE_INLINE void put_one(unsigned char* p, std::size_t i, std::int32_t code) noexcept {
    reinterpret_cast<std::int32_t*>(p)[i] = code;
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put(unsigned char* p, const arch::ints<Arch> (&v)[4]) noexcept {
    for (std::size_t k = 0; k < 4; ++k)
      v[k].store_unaligned(reinterpret_cast<std::int32_t*>(p) + k * arch::width<Arch>);
  }
#endif
};

/// Codes of fewer than 8 bits, side by side. Blocks are those of ToBytes.
template <int Bits, bool LowFirst = true>
struct ToPacked {
  static_assert(Bits < 8);
  static constexpr int bits = Bits;
  using loose = ToBytes;

  template <class Arch>
  static void pack(const unsigned char* codes, std::size_t n, unsigned char* out) noexcept {
    bit_pack<Arch, std::uint8_t>::pack(codes, out, n, Bits, LowFirst);
  }
  template <class Arch>
  static TQ_FORCE_INLINE void put_one(unsigned char* p, std::size_t i, std::int32_t code) noexcept {
    for (std::size_t b = 0; b < Bits; ++b) {
      const std::size_t at = i * Bits + b, place = LowFirst ? at % 8 : 7 - at % 8;
      const unsigned bit = static_cast<unsigned>(code) >> (LowFirst ? b : Bits - 1 - b) & 1u;
      p[at / 8] = static_cast<unsigned char>(p[at / 8] | bit << place);
    }
  }
  /// Zeros for the bits of elements from number n on, as far as the byte goes.
  static void clear_from(unsigned char* p, std::size_t n) noexcept {
    const std::size_t used = n * Bits % 8;
    if (used == 0) return;
    const unsigned mask = LowFirst ? (1u << used) - 1u : 0xffu << (8 - used);
    p[n * Bits / 8] = static_cast<unsigned char>(p[n * Bits / 8] & mask);
  }
#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr bool pairs = Bits == 4 && LowFirst;

  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put(unsigned char* p, typename arch::lanes<Arch>::bytes a,
                                  typename arch::lanes<Arch>::bytes b) noexcept {
    driver::put<Arch, Stream>(p, arch::lanes<Arch>::pack4x2(a, b));
  }
  template <class Arch, bool>
  static TQ_FORCE_INLINE void put(unsigned char* p, typename arch::lanes<Arch>::bytes b) noexcept {
    using L = arch::lanes<Arch>;
    if constexpr (Bits == 2 && LowFirst) {
      L::store2(p, L::order8(b));
    } else {
      alignas(64) unsigned char codes[sizeof(b)];
      L::store8(codes, L::order8(b));
      bit_pack<Arch, std::uint8_t>::pack(codes, p, sizeof(b), Bits, LowFirst);
    }
  }
#endif
};

/// The sink of codes that have `Bits` bits in memory.
template <int Bits, bool LowFirst = true>
struct to_codes {
  using type = ToPacked<Bits, LowFirst>;
};
template <bool LowFirst>
struct to_codes<8, LowFirst> {
  using type = ToBytes;
};
template <bool LowFirst>
struct to_codes<16, LowFirst> {
  using type = ToWords;
};
template <bool LowFirst>
struct to_codes<32, LowFirst> {
  using type = ToInts;
};

}  // namespace tq::kernels
