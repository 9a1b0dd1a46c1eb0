// SPDX-License-Identifier: MIT
#include <tq/kernels/stream.hpp>

#include <cstddef>
#include <cstdint>

#include "support/catch.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;
constexpr std::size_t size = sizeof(tq::arch::lanes<Arch>::bytes);

template <int Bits>
void check_alignment() {
  alignas(64) const unsigned char bytes[128] = {};
  for (std::size_t at = 0; at < 64; ++at) {
    std::size_t n = tq::kernels::elements_to_alignment<Arch, Bits>(bytes + at);
    CHECK(n < size * 8 / Bits);
    if (at % (Bits < 8 ? 1 : Bits / 8) != 0) continue;  // not the place of an element
    CHECK((at + n * Bits / 8) % size == 0);
  }
}

template <bool Stream>
void check_put() {
  alignas(64) unsigned char from[2 * size], to[4 * size] = {};
  for (std::size_t i = 0; i < 2 * size; ++i) from[i] = static_cast<unsigned char>(3 * i + 1);
  using L = tq::arch::lanes<Arch>;
  const L::bytes pair[2] = {L::load8(from), L::load8(from + size)};
  tq::kernels::put<Arch, Stream>(to + size, pair);
  tq::kernels::put<Arch, Stream>(to, pair[1]);
  L::fence();
  std::size_t failed = 0;
  for (std::size_t i = 0; i < size; ++i)
    failed += (to[i] != from[size + i]) + (to[size + i] != from[i]) + (to[2 * size + i] != from[size + i]) + (to[3 * size + i] != 0);
  CHECK(failed == 0);

  alignas(64) float values[2 * size / sizeof(float)] = {};
  tq::kernels::put<Arch, Stream>(values, tq::arch::floats<Arch>(2.5f));
  L::fence();
  for (std::size_t i = 0; i < size / sizeof(float); ++i)
    failed += (values[i] != 2.5f) + (values[size / sizeof(float) + i] != 0.0f);
  CHECK(failed == 0);
}

template <bool Stream>
void check_put_bytes() {
  unsigned char from[200];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<unsigned char>(i % 250 + 1);
  std::size_t failed = 0;
  for (std::size_t at = 0; at <= 48; at += Stream ? 16 : 7)
    for (std::size_t n = 0; n <= 130; ++n) {
      alignas(64) unsigned char to[256] = {};
      tq::kernels::put_bytes<Arch, Stream>(to + at, from + 3, n);
      tq::arch::lanes<Arch>::fence();
      for (std::size_t i = 0; i < sizeof to; ++i) failed += to[i] != (i >= at && i < at + n ? from[3 + i - at] : 0);
    }
  CHECK(failed == 0);
}

using tq::kernels::Stretches;
using tq::kernels::Writes;
template <class Params, int Bits>
Writes how(std::size_t at, const Stretches& stretches) {
  alignas(64) static const unsigned char bytes[64] = {};
  CHECK(tq::kernels::writes<Arch, Params, Bits>(false, bytes + at, stretches) == Writes::cached);
  return tq::kernels::writes<Arch, Params, Bits>(true, bytes + at, stretches);
}

}  // namespace

TEST_CASE("bytes are stored, and nothing else, past the cache or not", "[stream]") {
  check_put_bytes<false>();
  check_put_bytes<true>();
}

TEST_CASE("what is aligned is streamed, what is long is shifted, and the rest is cached", "[stream]") {
  using Row = tq::kernels::PerStretch<Arch, true, false>;
  using Groups = tq::kernels::PerGroupOfLanes<Arch, 2, false>;
  // Aligned to registers, to 16 bytes, and to elements.
  CHECK(how<Row, 8>(0, {0, 0, 100, 1, 0, 0}) == Writes::streamed);
  CHECK(how<Row, 8>(16, {0, 0, 100, 1, 0, 0}) == Writes::streamed);
  CHECK(how<Row, 8>(4, {0, 0, 100, 1, 0, 0}) == Writes::cached);
  CHECK(how<Row, 8>(4, {0, 0, 4096, 1, 0, 0}) == Writes::shifted);
  CHECK(how<Row, 8>(16, {0, 0, 65535, 1, 0, 0}) == Writes::streamed);
  CHECK(how<Row, 8>(16, {0, 0, 65536, 1, 0, 0}) == (size == 16 ? Writes::streamed : Writes::shifted));
  CHECK(how<Groups, 8>(16, {0, 0, 65536, 1, 0, 0}) == Writes::streamed);
  CHECK(how<Groups, 8>(4, {0, 0, 65536, 1, 0, 0}) == Writes::cached);
  // The rows of several, and where the first one begins.
  CHECK(how<Row, 32>(0, {0, 0, 100, 3, 100, 100}) == Writes::streamed);
  CHECK(how<Row, 32>(0, {0, 0, 101, 3, 101, 101}) == Writes::cached);
  CHECK(how<Row, 32>(0, {0, 1, 64, 3, 64, 64}) == Writes::cached);
  CHECK(how<Row, 32>(4, {0, 3, 64, 3, 64, 64}) == Writes::streamed);
  CHECK(how<Row, 8>(0, {0, 0, 100, 3, 100, -112}) == Writes::streamed);
  CHECK(how<Row, 4>(0, {0, 0, 32, 3, 32, 32}) == Writes::streamed);
  CHECK(how<Row, 4>(0, {0, 0, 24, 3, 24, 24}) == Writes::cached);
}

TEST_CASE("as many elements as reach the next aligned place", "[stream]") {
  check_alignment<4>();
  check_alignment<8>();
  check_alignment<16>();
  check_alignment<32>();
}

TEST_CASE("registers are stored whole, and nothing else, past the cache or not", "[stream]") {
  check_put<false>();
  check_put<true>();
}

#endif
