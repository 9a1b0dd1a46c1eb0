// SPDX-License-Identifier: MIT
#pragma once
// Sources of integer codes.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/pack.hpp>
#include <tq/kernels/pack_ternary.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

/// Codes that have whole bytes each: 8, 16 or 32 bits.
template <class Code>
struct IntegerCodes {
  static constexpr int bits = 8 * sizeof(Code);
  static constexpr bool is_signed = std::is_signed_v<Code>;

  template <class Arch>
  static TQ_FORCE_INLINE std::int32_t one(const unsigned char* p, std::size_t i) noexcept {
    return static_cast<std::int32_t>(reinterpret_cast<const Code*>(p)[i]);
  }
#if TQ_HAS_SIMD
  template <class Arch>
  using registers = arch::ints<Arch>;
  template <class Arch>
  static TQ_FORCE_INLINE void load(const unsigned char* p, arch::ints<Arch> (&v)[4]) noexcept {
    if constexpr (bits == 8) arch::lanes<Arch>::template widen8<is_signed>(p, v);
    else if constexpr (bits == 16) arch::lanes<Arch>::template widen16<is_signed>(p, v);
    else
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] = arch::ints<Arch>::load_unaligned(
          reinterpret_cast<const std::int32_t*>(p) + k * arch::width<Arch>);
  }
#endif
};

namespace detail {
/// The eight bytes from byte `at` of `size` on, or fewer, the first one lowest, by one load of
/// eight of them.
TQ_FORCE_INLINE std::uint64_t word_at(const unsigned char* in, std::size_t at,
                                      std::size_t size) noexcept {
  if (size < 8) return load_word(in, size) >> 8 * at;
  const std::size_t from = std::min(at, size - 8);
  return load_word(in + from, 8) >> 8 * (at - from);
}

/// Eight codes of `Bits` bits, packed in `size` bytes from byte `at` on, as the bytes of a word in
/// memory order.
template <int Bits, bool LowFirst, bool Signed>
TQ_FORCE_INLINE std::uint64_t eight_codes(const unsigned char* in, std::size_t at,
                                          std::size_t size) noexcept {
  std::uint64_t packed = word_at(in, at, size);
  if constexpr (!LowFirst) packed = reversed(packed) >> (64 - 8 * Bits);
  std::uint64_t codes = spread_fields(packed, Bits);
  if constexpr (!LowFirst) codes = reversed(codes);
  if constexpr (Signed) codes = sign_extended(codes, 1u << (Bits - 1));
  return std::endian::native == std::endian::little ? codes : reversed(codes);
}

/// Codes of `Bits` bits, from element `first` on, to a byte each. Fields are read from where one
/// begins on a byte.
template <class Arch, class Code, int Bits, bool LowFirst>
TQ_NO_INLINE void unpack_from(const unsigned char* in, std::size_t first, std::size_t n,
                              unsigned char* out) noexcept {
  const std::size_t lead = first % 8;
  in += first / 8 * Bits;
  std::size_t done = 0;
  if (lead != 0) {
    const std::size_t m = std::min(n, 8 - lead);
    const std::uint64_t codes =
        eight_codes<Bits, LowFirst, std::is_signed_v<Code>>(in, 0, ((lead + m) * Bits + 7) / 8);
    std::memcpy(out, reinterpret_cast<const unsigned char*>(&codes) + lead, m);
    done = m;
  }
  if (done < n)
    bit_pack<Arch, Code>::unpack(in + (lead != 0 ? Bits : 0), reinterpret_cast<Code*>(out + done),
                                 n - done, Bits, LowFirst);
}
}  // namespace detail

/// Codes of fewer bits, side by side.
template <class Code, int Bits, bool LowFirst = true>
struct PackedCodes {
  static_assert(Bits < 8 && sizeof(Code) == 1);
  static constexpr int bits = Bits;
  static constexpr bool is_signed = std::is_signed_v<Code>;
  static constexpr bool low_first = LowFirst;
  using loose = IntegerCodes<Code>;

  template <class Arch>
  static void unpack(const unsigned char* in, std::size_t first, std::size_t n,
                     unsigned char* out) noexcept {
    detail::unpack_from<Arch, Code, Bits, LowFirst>(in, first, n, out);
  }
  template <class Arch>
  static TQ_FORCE_INLINE std::int32_t one(const unsigned char* p, std::size_t i) noexcept {
    if constexpr (LowFirst && 8 % Bits == 0) return detail::packed_code<Code, Bits>(p, i);
    Code code;
    unpack<Arch>(p, i, 1, reinterpret_cast<unsigned char*>(&code));
    return code;
  }
#if TQ_HAS_SIMD
  template <class Arch>
  using registers = arch::ints<Arch>;
  template <class Arch>
  static TQ_FORCE_INLINE void load(const unsigned char* p, arch::ints<Arch> (&v)[4]) noexcept {
    if constexpr (LowFirst && (Bits == 4 || Bits == 2)) {
      detail::widen_block<Arch, Bits, is_signed>(p, v);
    } else {
      constexpr std::size_t words = arch::width<Arch> / 2;  // of eight codes
      alignas(64) std::uint64_t codes[words];
      TQ_UNROLL for (std::size_t i = 0; i < words; ++i) codes[i] =
          detail::eight_codes<Bits, LowFirst, is_signed>(p, i * Bits, words * Bits);
      arch::lanes<Arch>::template widen8<is_signed>(codes, v);
    }
  }
#endif
};

/// Ternary codes, five in a byte, which have no bits of their own.
struct FiveInByte : IntegerCodes<std::int8_t> {
  static constexpr int bits = 0;
  using loose = IntegerCodes<std::int8_t>;
  template <class Arch>
  static void unpack(const unsigned char* in, std::size_t first, std::size_t n,
                     unsigned char* out) noexcept {
    five_in_byte<Arch>::unpack_from(in, first, n, reinterpret_cast<std::int8_t*>(out));
  }
};

}  // namespace tq::kernels
