// SPDX-License-Identifier: MIT
#pragma once
// group_dot<Arch>: sums of products of unsigned and signed bytes, four by four, in lanes of 32
// bits; and the floats that such sums become. Exact for all bytes.
//
// Members (W = width, lanes of 32 bits):
//   levels, quads, sums, floats   registers: 4W bytes, 4 bytes in all lanes, W integers, W floats
//   parts                     sums on their way
//   load(p), store(p, v)      4W bytes from and to memory
//   field<Shift, Mask>(v)     bits of every byte: byte >> Shift & Mask
//   join<Shift>(a, b)         a | b << Shift in every byte. Precondition: nothing is shifted out
//   table(p), lookup(t, v)    16 bytes, and those of them that every byte of v (below 16) names
//   splat(p)                  the 4 bytes at p in all lanes
//   begin(s)                  parts that stand for s
//   add<Wide>(p, a, x)        p + a[0] * x[0] + ... + a[3] * x[3] in each lane. Between begin()
//                             and end(), levels of one place sum to at most `reach`, or, where
//                             `Wide`, there are at most 8 steps
//   end<Wide>(s, p)           the sums, of the s that parts began with
//   numbers(p)                W bytes from memory, as integers
//   lanes(v), byte<J>(i)      lanes of 4 bytes as integers, and byte J of every one
//   based<Shift, Place, Width>(i)   the float 2^(23 - Place) + level, where the level is the
//   `Width`
//                             bits at Place of i >> Shift. Place + Width <= 23
//   all(i), multiply(a, b), subtract(a, b)   an integer in all lanes, results modulo 2^32
//   value(s)                  integers as floats, to nearest even
//   read(p), write(p, v), splat(f), times(a, b), plus(a, b), minus(a, b)
//   fma(a, b, c)              a * b + c rounded once, on every instruction set
//   add_product(a, b, c)      a * b + c, rounded once where `fuses`, else twice
//   entry(t, i)               the floats at t that integers in [0, 16) name
// and `registers` that a tile has across, by `rows` and, of floats in two sums, `float_rows`, down.

#include <tq/arch/group_dot_avx.hpp>
#include <tq/arch/group_dot_base.hpp>
#include <tq/arch/group_dot_neon.hpp>
#include <tq/arch/group_dot_sse.hpp>
#include <tq/arch/isa.hpp>

#include <type_traits>

namespace tq::arch {

/// The instructions with which an instruction set, and the flags of the compiler beside it, sum
/// products of bytes fastest: an argument of `group_dot`. Floats need only the instruction set.
template <class Arch>
#if TQ_HAS_SIMD && defined(__AVX512BW__) && defined(__AVX512VNNI__)
using best_group = std::conditional_t<std::is_same_v<Arch, xsimd::avx512bw>, avx512_vnni, Arch>;
#else
using best_group = Arch;
#endif

}  // namespace tq::arch
