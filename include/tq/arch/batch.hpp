// SPDX-License-Identifier: MIT
#pragma once
// The seam to xsimd: the batch types kernels use, and the operations that differ between its
// versions.

#include <tq/arch/isa.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::arch {

#if TQ_HAS_SIMD

static_assert(XSIMD_VERSION_MAJOR >= 8, "tq needs xsimd 8.1 or later");

template <class Arch>
using floats = xsimd::batch<float, Arch>;
template <class Arch>
using ints = xsimd::batch<std::int32_t, Arch>;
template <class Arch>
using doubles = xsimd::batch<double, Arch>;

/// Lanes of a batch of 32-bit values.
template <class Arch>
inline constexpr std::size_t width = floats<Arch>::size;

/// Batches that fit into the registers of a core.
template <class Arch>
inline constexpr std::size_t registers =
    width<Arch> == 16 || std::is_same_v<Arch, xsimd::neon64> ? 32 : 16;

/// The same bits as batches of another type of 32 bits.
template <class U, class T, class Arch>
TQ_FORCE_INLINE xsimd::batch<U, Arch> bit_cast(const xsimd::batch<T, Arch>& v) noexcept {
#if XSIMD_VERSION_MAJOR < 11
  return xsimd::bitwise_cast<xsimd::batch<U, Arch>>(v);
#else
  return xsimd::bitwise_cast<U>(v);
#endif
}

/// Whether p is a multiple of `size`, a power of two.
TQ_FORCE_INLINE bool is_aligned(const void* p, std::size_t size) noexcept {
  return (reinterpret_cast<std::uintptr_t>(p) & (size - 1)) == 0;
}

/// The batch at p, loaded once however often it is used: g++ for x86 otherwise loads it for every
/// use, up to what the first cache can give.
template <class Arch, class T>
TQ_FORCE_INLINE xsimd::batch<T, Arch> load_once(const T* p) noexcept {
  auto v = xsimd::batch<T, Arch>::load_unaligned(p);
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  asm("" : "+v"(v.data));
#endif
  return v;
}

/// The same value, made after what was made so before, for g++ mixes loads and stores: in ascending
/// order the processor sees what comes next, and stores that cross lines take half as long.
template <class Arch>
TQ_FORCE_INLINE floats<Arch> in_order(floats<Arch> v) noexcept {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  asm volatile("" : "+v"(v.data));
#endif
  return v;
}
/// The batch at p, loaded once and in order.
template <class Arch>
TQ_FORCE_INLINE floats<Arch> load_in_order(const float* p) noexcept {
  return in_order<Arch>(floats<Arch>::load_unaligned(p));
}

/// A register whose value g++ for x86 takes for unknown: constants it otherwise makes anew in every
/// step of a loop, out of general registers.
template <class Register>
TQ_FORCE_INLINE Register kept(Register v) noexcept {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  asm("" : "+v"(v));
#endif
  return v;
}

/// NaN lanes become `replacement`. min, max and clip of xsimd treat NaN differently in every
/// version, so it must be gone before they see it.
template <class Arch>
TQ_FORCE_INLINE floats<Arch> replace_nan(const floats<Arch>& v,
                                         const floats<Arch>& replacement) noexcept {
  return xsimd::select(v == v, v, replacement);
}

/// The correctly rounded quotient. On AArch64 some versions of xsimd (8.1) divide by an approximate
/// reciprocal.
template <class Arch>
TQ_FORCE_INLINE floats<Arch> divide(const floats<Arch>& x, const floats<Arch>& y) noexcept {
#if defined(__aarch64__)
  return floats<Arch>(vdivq_f32(x, y));
#else
  return x / y;
#endif
}

/// min(max(v, lo), hi). Precondition: no lane is NaN.
template <class Arch>
TQ_FORCE_INLINE floats<Arch> clamp(const floats<Arch>& v, const floats<Arch>& lo,
                                   const floats<Arch>& hi) noexcept {
  return xsimd::min(xsimd::max(v, lo), hi);
}

/// `value` where `mask` holds, 0 elsewhere.
template <class Arch>
TQ_FORCE_INLINE ints<Arch> int_where(const xsimd::batch_bool<float, Arch>& mask,
                                     std::int32_t value) noexcept {
  return bit_cast<std::int32_t>(
      xsimd::select(mask, bit_cast<float>(ints<Arch>(value)), floats<Arch>(0.0f)));
}

/// The lanes of a mask of integers, as a mask of floats.
template <class Arch>
TQ_FORCE_INLINE xsimd::batch_bool<float, Arch> float_mask(
    const xsimd::batch_bool<std::int32_t, Arch>& mask) noexcept {
#if defined(__aarch64__)
  return xsimd::batch_bool<float, Arch>(mask.data);
#else
  if constexpr (width<Arch> == 16) return xsimd::batch_bool<float, Arch>(mask.data);
  else return xsimd::batch_bool<float, Arch>(bit_cast<float>(ints<Arch>(mask.data)).data);
#endif
}

/// `yes` where `mask` holds, `no` elsewhere. Selected as floats: xsimd selects integers by the
/// signs of bytes, which g++ 12 takes to have none under -funsigned-char, and with registers of 512
/// bits by what xsimd 8 has only in optimized builds.
template <class Arch>
TQ_FORCE_INLINE ints<Arch> select(const xsimd::batch_bool<std::int32_t, Arch>& mask,
                                  const ints<Arch>& yes, const ints<Arch>& no) noexcept {
  return bit_cast<std::int32_t>(
      xsimd::select(float_mask<Arch>(mask), bit_cast<float>(yes), bit_cast<float>(no)));
}

/// The 32 bits at p.
template <class Instructions>
TQ_FORCE_INLINE std::int32_t bits_at(const void* p) noexcept {
  std::int32_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return bits;
}

/// Opaque to the optimiser, so that a product is never fused with a following sum.
template <class Arch, class T>
TQ_FORCE_INLINE xsimd::batch<T, Arch> uncontracted(const xsimd::batch<T, Arch>& v) noexcept {
  auto r = static_cast<typename xsimd::batch<T, Arch>::register_type>(v);
#if defined(__AVX512F__)
  __asm__("" : "+v"(r));
#elif defined(__SSE2__)
  __asm__("" : "+x"(r));
#elif defined(__aarch64__)
  __asm__("" : "+w"(r));
#endif
  return xsimd::batch<T, Arch>(r);
}

/// Nearest even. Outside int32 and for NaN: INT_MIN on x86; saturated, and 0, on NEON.
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_to_int(const floats<Arch>& v) noexcept {
  return xsimd::nearbyint_as_int(v);
}

/// Nearest even, as floats.
template <class Arch>
TQ_FORCE_INLINE floats<Arch> round_even(const floats<Arch>& v) noexcept {
#if defined(__aarch64__)
  return floats<Arch>(vrndnq_f32(v));
#else
  return xsimd::nearbyint(v);
#endif
}

/// Toward zero. Precondition: inside int32.
template <class Arch>
TQ_FORCE_INLINE ints<Arch> truncate_to_int(const floats<Arch>& v) noexcept {
  return xsimd::to_int(v);
}

#endif

/// Operations that xsimd lacks, per instruction set: see lanes.hpp.
template <class Arch>
struct lanes;

}  // namespace tq::arch
