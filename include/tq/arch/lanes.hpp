// SPDX-License-Identifier: MIT
#pragma once
// lanes<Arch>: what xsimd lacks, in native instructions: saturating narrow, widen, bit packing, streaming
// stores. A block is four batches of 32-bit values, that is 4 * width elements.
//
// Every family offers, as static members (W = width):
//   words, bytes              registers of 16-bit and 8-bit lanes
//   fma, fnma                 a * b + c and c - a * b, rounded once (where has_fma)
//   multiply_by, fma_by       x * *y and x * *y + z, *y in all lanes (where instructions take it from memory so: AVX-512 only)
//   pack16(a, b)              2 x int32 -> int16, saturating, in an order private to the family
//   add16, splat16            saturating sum and broadcast of words
//   min16(p, q)               smaller lanes of words
//   min8(p, q)                smaller lanes of signed bytes (AVX-512 only)
//   lowest16(p, q, low)       is any lane -32768, as all of `low` are? (never, where conversion saturates instead of wrapping)
//   lowest8(b, c, low)        is any byte -128, as all of `low` are? (never, where conversion saturates)
//   narrow8<Signed>(p, q)     2 x words -> int8 or uint8, saturating, in an order private to the family
//   order8(b)                 that order -> memory order
//   pack8<Signed>(p, q)       both
//   clamp8<Signed>(b, lo, hi) per byte
//   load8, store8, stream8    4W bytes; stream8 bypasses the cache, to where 16 bytes are aligned, faster where the register is
//   load_some(p, n)           the first n bytes, 1 to 4W, and zeros behind them (AVX-512 only)
//   any8(b, mask, value)      is any byte, ANDed with `mask`, `value`? (where has_half)
//   store4, store2            4W codes -> 2W or W bytes, first code in the lowest bits
//   pack4x2(b, c)             what store4 stores, of two blocks that follow one another, as narrow8 leaves them
//   load4, load2              the inverse, without sign extension
//   widen8<Signed>(p, out)    4W codes -> 4 x int32
//   widen_packed<Bits, Signed, Clean>(p, out)   4W codes of 4 or 2 bits -> 4 x int32 (where has_widen_packed); unless `Clean`,
//                             the bits above a code are those of others
//   narrow16<Signed>(v, out)  4 x int32, already in range -> two registers of 16-bit codes
//   widen16<Signed>(p, out)   the inverse, from memory
//   store_half<Stream>(p, v)  4 float batches -> 4W binary16, nearest even (where has_half); `Stream`: as stream8
//   load_half(p, v)           the inverse
//   widen_half<Shift, Mask>(p, v)      4W bytes, sign-extended, shifted left and masked, taken as binary16 -> 4 float
//                             batches (where has_half)
//   to_bfloat16(v, out)       4 float batches -> two registers of bfloat16, nearest even (where has_bfloat16); false where
//                             one of them is NaN, infinite or subnormal, or becomes infinite
//   stream(p, v)              float batch, as stream8
//   lowest(v), highest(v)     smallest and largest lane of a float batch without NaN
//   lowest4(p, a, b, c, d), highest4      lowest and highest of each of four batches
//   magnitude(v, limit)       smaller of |v| and `limit`, of no NaN
//   merge(mask, p, q)         bits of int32 lanes: those of p where `mask` has ones, else those of q
//   any_nan(a, b, c, d)       does any lane of four float batches hold a NaN?

#include <tq/arch/lanes_avx2.hpp>
#include <tq/arch/lanes_avx512.hpp>
#include <tq/arch/lanes_neon.hpp>
#include <tq/arch/lanes_sse.hpp>
