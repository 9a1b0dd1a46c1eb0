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

}  // namespace

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
