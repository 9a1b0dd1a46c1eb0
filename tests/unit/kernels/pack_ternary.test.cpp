// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/pack_ternary.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {
using kernel = tq::kernels::five_in_byte<tq::arch::native>;
constexpr int power[5] = {1, 3, 9, 27, 81};
}  // namespace

TEST_CASE("a byte is five digits of base 3, the first code the lowest", "[pack_ternary]") {
  for (int byte = 0; byte < 243; ++byte) {
    std::int8_t codes[5], back[5];
    for (int i = 0; i < 5; ++i) codes[i] = static_cast<std::int8_t>(byte / power[i] % 3 - 1);
    unsigned char out = 0xee;
    kernel::pack(codes, &out, 5);
    REQUIRE(int{out} == byte);
    kernel::unpack(&out, back, 5);
    for (int i = 0; i < 5; ++i) REQUIRE(back[i] == codes[i]);
  }
}

TEST_CASE("any length packs, and nothing beyond is written", "[pack_ternary]") {
  inputs::Random r(1);
  for (std::size_t n = 0; n < 60; ++n) {
    std::vector<std::int8_t> codes(n);
    std::vector<unsigned char> expected((n + 4) / 5, 0), bytes(expected.size() + 1, 0xee);
    for (std::size_t i = 0; i < n; ++i) {
      codes[i] = static_cast<std::int8_t>(r.between(-1, 1));
      expected[i / 5] = static_cast<unsigned char>(expected[i / 5] + (codes[i] + 1) * power[i % 5]);
    }
    kernel::pack(codes.data(), bytes.data(), n);
    INFO(n);
    CHECK(bytes.back() == 0xee);
    bytes.pop_back();
    CHECK(bytes == expected);
    std::vector<std::int8_t> back(n + 1, 99);
    kernel::unpack(bytes.data(), back.data(), n);
    CHECK(back.back() == 99);
    back.pop_back();
    CHECK(back == codes);
  }
}

TEST_CASE("what is no ternary code stays within its digit", "[pack_ternary]") {
  const std::int8_t codes[5] = {-128, 0, 127, -2, 2};
  unsigned char byte = 0;
  kernel::pack(codes, &byte, 5);
  CHECK(int{byte} == 0 + 3 + 2 * 9 + 0 + 2 * 81);
  for (int b = 243; b < 256; ++b) {
    byte = static_cast<unsigned char>(b);
    std::int8_t back[5];
    kernel::unpack(&byte, back, 5);
    for (int i = 0; i < 5; ++i) CHECK(back[i] == (b - 243) / power[i] % 3 - 1);
  }
}
