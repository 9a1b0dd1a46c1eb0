// SPDX-License-Identifier: MIT
#pragma once
// Table lookup by lane.

#include <tq/arch/batch.hpp>

#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tq::arch {

/// True where tables of up to 16 entries are looked up in registers.
template <class Arch>
inline constexpr bool has_lookup = width<Arch> >= 8;

/// True where lookup() takes an index modulo the table's size.
template <class Arch, std::size_t Size>
inline constexpr bool lookup_wraps =
#if defined(__AVX512F__)
    width<Arch> == 16 ? Size == 16 || Size == 32 :
#endif
#if defined(__AVX2__)
    width<Arch> == 8 ? Size == 8 || Size == 16
                     :
#endif
                     false;

/// table[index[lane]] for a table of `Size` floats, a power of two. Precondition: every index is
/// below Size, unless lookup_wraps.
template <class Arch, std::size_t Size>
TQ_FORCE_INLINE floats<Arch> lookup(const float* table, const ints<Arch>& index) noexcept {
  static_assert((Size & (Size - 1)) == 0);
  [[maybe_unused]] constexpr std::size_t w = width<Arch>;
#if defined(__AVX512F__)
  if constexpr (w == 16) {
    if constexpr (Size <= 16)
      return floats<Arch>(
          _mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps((1u << Size) - 1u, table)));
    else if constexpr (Size == 32)
      return floats<Arch>(
          _mm512_permutex2var_ps(_mm512_loadu_ps(table), index, _mm512_loadu_ps(table + 16)));
    else return floats<Arch>(_mm512_i32gather_ps(index, table, 4));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (w == 8 && Size >= 8) {
    if constexpr (Size <= 16) {
      const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index);
      if constexpr (Size == 8) return floats<Arch>(low);
      const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + Size - 8), index);
      return floats<Arch>(
          _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(index, 28))));
    } else {
      return floats<Arch>(_mm256_i32gather_ps(table, index, 4));
    }
  } else
#endif
  {
    alignas(64) std::int32_t at[w];
    alignas(64) float found[w];
    index.store_aligned(at);
    for (std::size_t i = 0; i < w; ++i) found[i] = table[at[i]];
    return floats<Arch>::load_aligned(found);
  }
}

}  // namespace tq::arch

#endif
