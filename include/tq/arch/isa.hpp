// SPDX-License-Identifier: MIT
#pragma once
// The closed list of instruction sets that kernels are instantiated for, and the one this build
// targets.

#include <tq/arch/scalar.hpp>
#include <tq/config.hpp>

// No processor has one without the other, and xsimd has no registers for it; -mavx512bw alone says
// so.
#if !defined(TQ_FORCE_SCALAR) && defined(__AVX512BW__) && !defined(__AVX512DQ__)
#error "tq needs AVX-512DQ where there is AVX-512BW: build with -mavx512dq, or -mno-avx512bw"
#endif

#if !defined(TQ_FORCE_SCALAR)
// g++ 12 takes the registers that its own intrinsics leave undefined for mistakes of whoever calls
// them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#include <type_traits>

#if !defined(TQ_FORCE_SCALAR) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE) && \
    (defined(__SSE2__) || defined(_M_X64) || defined(__aarch64__))
#define TQ_HAS_SIMD 1
#else
#define TQ_HAS_SIMD 0
#endif

namespace tq::arch {

namespace detail {
// xsimd knows more architectures than have integer registers worth using, and its names differ
// between versions. avx without avx2 folds to sse4_2, avx512f without bw to avx2 (g++ -mavx512f
// alone does not switch FMA on).
constexpr auto canonical() noexcept {
#if TQ_HAS_SIMD
  using best = xsimd::default_arch;
  using namespace xsimd;
  if constexpr (std::is_base_of_v<avx512bw, best>) return avx512bw{};
  else if constexpr (std::is_base_of_v<avx512f, best> || std::is_base_of_v<avx2, best>)
    return std::conditional_t<fma3<avx2>::supported(), fma3<avx2>, avx2>{};
  else if constexpr (std::is_base_of_v<avx, best> || std::is_base_of_v<sse4_2, best>)
    return sse4_2{};
  else if constexpr (std::is_base_of_v<sse2, best>) return sse2{};
  else if constexpr (std::is_base_of_v<neon64, best>) return neon64{};
  else return scalar{};
#else
  return scalar{};
#endif
}
}  // namespace detail

/// The best instruction set of the closed list (sse2, sse4_2, avx2, fma3<avx2>, avx512bw, neon64,
/// scalar) that the compiler flags allow.
using native = decltype(detail::canonical());

}  // namespace tq::arch
