// SPDX-License-Identifier: MIT
#pragma once
// Compiler facts every other header relies on.

#include <tq/version.hpp>

#include <cstddef>  // libstdc++ takes away macros min and max that it finds

#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "tq needs C++20: build with -std=c++20 or later"
#endif

// Macros that C++ headers cannot live with. Each is taken away after the message, which is then the
// only one.
#ifdef I
#error \
    "tq: a macro I is defined (by <complex.h>?), which is a name in C++ headers: #undef I before tq is included"
#undef I
#endif
#if defined(min) || defined(max)
#error \
    "tq: a macro min or max is defined (by <windows.h>?): define NOMINMAX, or #undef both before tq is included"
#undef min
#undef max
#endif
#if defined(likely) || defined(unlikely)
#error \
    "tq: a macro likely or unlikely is defined, which are attributes of C++20: #undef both before tq is included"
#undef likely
#undef unlikely
#endif
#if defined(lines) || defined(columns)
#error "tq: a macro lines or columns is defined (by <term.h>?): #undef both before tq is included"
#undef lines
#undef columns
#endif

// The numeric contract is that of IEEE 754: NaN, signed zeros, every operation rounded once and in
// its place. g++ says by
// __GCC_IEC_559 whether flags leave it that (-ffast-math and each of its parts,
// -fsingle-precision-constant). clang says so of -ffast-math and -ffinite-math-only only; for the
// others see tq::ieee_arithmetic (core/arithmetic.hpp).
#if !defined(TQ_ALLOW_FAST_MATH)
#if (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__FAST_MATH__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||                     \
    defined(__NO_SIGNED_ZEROS__) || (defined(__GCC_IEC_559) && __GCC_IEC_559 == 0)
#error \
    "tq needs IEEE arithmetic: build without -ffast-math, -funsafe-math-optimizations, -ffinite-math-only and their parts"
#endif
// Results kept in more bits than their type has are rounded twice.
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "tq needs IEEE arithmetic: build without -mfpmath=387 (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#endif

// Whether the compiler adds checks to memory accesses. g++ has no macro for -fsanitize=undefined.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TQ_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define TQ_SANITIZED 1
#endif
#endif
#if !defined(TQ_SANITIZED)
#define TQ_SANITIZED 0
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define TQ_FORCE_INLINE __forceinline
#define TQ_LAMBDA_INLINE
#define TQ_NO_INLINE __declspec(noinline)
#define TQ_RARE TQ_NO_INLINE
#else
#if defined(__OPTIMIZE__) && !TQ_SANITIZED
#define TQ_FORCE_INLINE inline __attribute__((always_inline))
#define TQ_LAMBDA_INLINE __attribute__((always_inline))
#else  // nothing is gained, and every copy, with its checks, takes time to compile
#define TQ_FORCE_INLINE inline
#define TQ_LAMBDA_INLINE
#endif
#define TQ_NO_INLINE __attribute__((noinline))
#define TQ_RARE __attribute__((noinline, cold))  // a loop that calls it keeps its registers
#endif

// Before a loop over the registers of a block: g++ keeps their arrays in memory below -O3, unless
// told that the loop goes.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !TQ_SANITIZED
#define TQ_UNROLL _Pragma("GCC unroll 16")
#else
#define TQ_UNROLL
#endif

// Before a loop over rows: prefetchers know a load by its place in the code, and every copy of a
// loop begins anew.
#if defined(__clang__)
#define TQ_ONE_COPY _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define TQ_ONE_COPY _Pragma("GCC unroll 1")
#else
#define TQ_ONE_COPY
#endif

#if defined(__cpp_exceptions) || (defined(_MSC_VER) && defined(_CPPUNWIND))
#define TQ_HAS_EXCEPTIONS 1
#else
#define TQ_HAS_EXCEPTIONS 0
#endif

// On a function that returns a view: the view must not outlive the object that the function is
// called on. The compilers that know the attribute warn then.
#if defined(__clang__)
#define TQ_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define TQ_LIFETIMEBOUND
#endif
