// SPDX-License-Identifier: MIT
#include <tq/arch/lookup.hpp>

#include <cstddef>
#include <cstdint>

#include "support/catch.hpp"
#include "support/inputs.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;
using I = tq::arch::ints<Arch>;
constexpr std::size_t width = tq::arch::width<Arch>;

// Every entry in every lane, from a table that ends where its last entry does.
template <std::size_t Size>
int mismatches() {
  alignas(64) float table[Size];
  inputs::Random r(Size);
  for (std::size_t i = 0; i < Size; ++i) table[i] = static_cast<float>(i) + 0.25f;
  int failed = 0;
  for (std::size_t round = 0; round < 4 * Size + 8; ++round) {
    std::int32_t index[width];
    float found[width];
    for (std::size_t k = 0; k < width; ++k)
      index[k] = static_cast<std::int32_t>(round < Size ? (round + k) % Size : r.below(Size));
    tq::arch::lookup<Arch, Size>(table, I::load_unaligned(index)).store_unaligned(found);
    for (std::size_t k = 0; k < width; ++k) failed += found[k] != table[index[k]];
  }
  return failed;
}

}  // namespace

TEST_CASE("lookup finds the entry of every lane", "[lookup]") {
  CHECK(mismatches<2>() == 0);
  CHECK(mismatches<4>() == 0);
  CHECK(mismatches<8>() == 0);
  CHECK(mismatches<16>() == 0);
}

// Tables of more than 16 entries are gathered on AVX2, and qemu 7.2 forgets the index where it is
// in ymm4: not emulated.
TEST_CASE("lookup finds the entry of every lane in large tables", "[lookup][slow]") {
  CHECK(mismatches<32>() == 0);
  CHECK(mismatches<64>() == 0);
  CHECK(mismatches<128>() == 0);
  CHECK(mismatches<256>() == 0);
}

#else
TEST_CASE("there is no lookup without SIMD", "[lookup]") { SUCCEED(); }
#endif
