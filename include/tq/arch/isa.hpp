// SPDX-License-Identifier: MIT
#pragma once
// The closed list of instruction sets that kernels are instantiated for, and the one this build targets.

#include <tq/config.hpp>

#if !defined(TQ_FORCE_SCALAR)
#include <xsimd/xsimd.hpp>
#endif

#include <type_traits>

#if !defined(TQ_FORCE_SCALAR) && !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE) && \
    (defined(__SSE2__) || defined(_M_X64) || defined(__aarch64__))
#define TQ_HAS_SIMD 1
#else
#define TQ_HAS_SIMD 0
#endif

namespace tq::arch {

/// No SIMD: kernels are the scalar reference.
struct scalar {
  static constexpr const char* name() noexcept { return "scalar"; }
};

namespace detail {
#if TQ_HAS_SIMD
// g++ -mavx512f alone does not switch FMA on.
using best_of_256_bits =
    std::conditional_t<xsimd::fma3<xsimd::avx2>::supported(), xsimd::fma3<xsimd::avx2>, xsimd::avx2>;
#endif

// xsimd knows more architectures than have integer registers worth using, and its names differ between
// versions. avx without avx2 folds to sse4_2, avx512f without bw to avx2.
constexpr auto canonical() noexcept {
#if TQ_HAS_SIMD
  using best = xsimd::default_arch;
  using namespace xsimd;
  if constexpr (std::is_base_of_v<avx512bw, best>)
    return avx512bw{};
  else if constexpr (std::is_base_of_v<avx512f, best> || std::is_base_of_v<avx2, best>)
    return best_of_256_bits{};
  else if constexpr (std::is_base_of_v<avx, best> || std::is_base_of_v<sse4_2, best>)
    return sse4_2{};
  else if constexpr (std::is_base_of_v<sse2, best>)
    return sse2{};
  else if constexpr (std::is_base_of_v<neon64, best>)
    return neon64{};
  else
    return scalar{};
#else
  return scalar{};
#endif
}
}  // namespace detail

/// The best instruction set of the closed list (sse2, sse4_2, avx2, fma3<avx2>, avx512bw, neon64, scalar)
/// that the compiler flags allow.
using native = decltype(detail::canonical());

namespace detail {
template <class Arch>
constexpr auto half_of() noexcept {
#if TQ_HAS_SIMD
  if constexpr (std::is_same_v<Arch, xsimd::avx512bw>)
    return best_of_256_bits{};
  else
#endif
    return Arch{};
}
}  // namespace detail

/// The instruction set with registers half as wide, where that is 256 bits; else the same one.
template <class Arch>
using half = decltype(detail::half_of<Arch>());

}  // namespace tq::arch
