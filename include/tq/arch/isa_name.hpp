// SPDX-License-Identifier: MIT
#pragma once
// isa_name: what an instruction set of the closed list is called, in TQ_ISA and by tq_add_kernels.

#include <tq/arch/isa.hpp>

#include <string_view>
#include <type_traits>

namespace tq::arch {

/// One of scalar, sse2, sse4_2, avx2 (with FMA or without), avx512, neon64.
template <class Arch>
[[nodiscard]] constexpr std::string_view isa_name() noexcept {
  if constexpr (std::is_same_v<Arch, scalar>) return "scalar";
#if TQ_HAS_SIMD
  else if constexpr (std::is_same_v<Arch, xsimd::sse2>) return "sse2";
  else if constexpr (std::is_same_v<Arch, xsimd::sse4_2>) return "sse4_2";
  else if constexpr (std::is_base_of_v<xsimd::avx2, Arch> ||
                     std::is_same_v<Arch, xsimd::fma3<xsimd::avx2>>)
    return "avx2";
  else if constexpr (std::is_same_v<Arch, xsimd::avx512bw>) return "avx512";
  else if constexpr (std::is_same_v<Arch, xsimd::neon64>) return "neon64";
#endif
}

}  // namespace tq::arch
