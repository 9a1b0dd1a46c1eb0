// SPDX-License-Identifier: MIT
#pragma once
// Compiler facts every other header relies on.

#include <tq/version.hpp>

#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "tq needs C++20: build with -std=c++20 or later"
#endif

// Without NaN and infinity the numeric contract cannot hold: the compiler deletes the NaN tests.
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ && !defined(TQ_ALLOW_FAST_MATH)
#error "tq needs IEEE arithmetic: build without -ffast-math / -ffinite-math-only"
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define TQ_FORCE_INLINE __forceinline
#define TQ_LAMBDA_INLINE
#define TQ_NO_INLINE __declspec(noinline)
#define TQ_RARE TQ_NO_INLINE
#else
#if defined(__OPTIMIZE__)
#define TQ_FORCE_INLINE inline __attribute__((always_inline))
#define TQ_LAMBDA_INLINE __attribute__((always_inline))
#else  // nothing is gained, and every copy takes time to compile
#define TQ_FORCE_INLINE inline
#define TQ_LAMBDA_INLINE
#endif
#define TQ_NO_INLINE __attribute__((noinline))
#define TQ_RARE __attribute__((noinline, cold))  // a loop that calls it keeps its registers
#endif

// Before a loop over the registers of a block: g++ keeps their arrays in memory below -O3, unless told that the loop goes.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define TQ_UNROLL _Pragma("GCC unroll 16")
#else
#define TQ_UNROLL
#endif

// Before a loop over rows: prefetchers know a load by its place in the code, and every copy of a loop begins anew.
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
