// SPDX-License-Identifier: MIT
#include <tq/kernels/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using Arch = tq::arch::native;

// Bit by bit: bit b of code i is bit (i * bits + b) of the bytes, counted from the low end of each
// byte; for high_first, from the high end, the highest bit of a code first.
std::vector<unsigned char> packed(const std::vector<int>& codes, int bits, bool low_first) {
  std::vector<unsigned char> out((codes.size() * static_cast<std::size_t>(bits) + 7) / 8);
  std::size_t at = 0;
  for (const int code : codes)
    for (int b = 0; b < bits; ++b, ++at) {
      const int source = low_first ? b : bits - 1 - b;
      const unsigned bit = (static_cast<unsigned>(code) >> source) & 1u;
      const std::size_t place = low_first ? at % 8 : 7 - at % 8;
      out[at / 8] = static_cast<unsigned char>(out[at / 8] | bit << place);
    }
  return out;
}

template <class Code>
void check_all(std::uint64_t seed) {
  using kernel = tq::kernels::bit_pack<Arch, Code>;
  constexpr bool is_signed = Code(-1) < 0;
  constexpr unsigned char guard = 0xa5;
  inputs::Random r(seed);
  std::string failures;
  for (int bits = is_signed ? 2 : 1; bits <= 8; ++bits)
    for (const bool low_first : {true, false})
      for (std::size_t n = 0; n <= 150; n += n < 140 ? 1 : 7) {
        const int lo = is_signed ? -(1 << (bits - 1)) : 0,
                  hi = (1 << (is_signed ? bits - 1 : bits)) - 1;
        std::vector<int> codes(n);
        for (int& c : codes) c = r.between(lo, hi);
        const std::size_t lead = r.below(70), bytes = (n * static_cast<std::size_t>(bits) + 7) / 8;
        std::vector<Code> in(lead + n);
        // Bits above the width must not matter.
        for (std::size_t i = 0; i < n; ++i)
          in[lead + i] = static_cast<Code>(r.chance(20) ? (codes[i] & ((1 << bits) - 1)) |
                                                              (r.between(0, 255) << bits)
                                                        : codes[i]);
        std::vector<unsigned char> wanted(lead + bytes + 64, guard), got = wanted;
        const std::vector<unsigned char> dense = packed(codes, bits, low_first);
        std::copy(dense.begin(), dense.end(), wanted.begin() + static_cast<std::ptrdiff_t>(lead));
        kernel::pack(in.data() + lead, got.data() + lead, n, bits, low_first);
        const std::string what = std::to_string(bits) + " bits, " + (low_first ? "low" : "high") +
                                 " first, " + std::to_string(n) + " codes\n";
        if (got != wanted) failures += "pack " + what;
        // The unused bits of the last byte are ignored.
        std::vector<unsigned char> from = dense;
        const std::size_t unused = 8 * bytes - n * static_cast<std::size_t>(bits);
        if (unused != 0) {
          const unsigned noise = (1u << unused) - 1u;
          from.back() =
              static_cast<unsigned char>(from.back() | (low_first ? noise << (8 - unused) : noise));
        }
        std::vector<Code> back(lead + n + 64, static_cast<Code>(guard)), same = back;
        for (std::size_t i = 0; i < n; ++i) same[lead + i] = static_cast<Code>(codes[i]);
        kernel::unpack(from.data(), back.data() + lead, n, bits, low_first);
        if (back != same) failures += "unpack " + what;
      }
  CAPTURE(failures);
  CHECK(failures.empty());
}

}  // namespace

TEST_CASE("codes are packed and unpacked bit by bit", "[pack]") {
  SECTION("signed") { check_all<std::int8_t>(1); }
  SECTION("unsigned") { check_all<std::uint8_t>(2); }
}

TEST_CASE("the bytes of packed codes", "[pack]") {
  const std::uint8_t codes[] = {1, 2, 3};
  unsigned char out[3] = {};
  using kernel = tq::kernels::bit_pack<Arch, std::uint8_t>;
  kernel::pack(codes, out, 3, 4, true);
  CHECK(out[0] == 0x21);
  CHECK(out[1] == 0x03);
  kernel::pack(codes, out, 3, 4, false);
  CHECK(out[0] == 0x12);
  CHECK(out[1] == 0x30);
  kernel::pack(codes, out, 3, 2, true);
  CHECK(out[0] == 0b00111001);
  kernel::pack(codes, out, 3, 2, false);
  CHECK(out[0] == 0b01101100);
  kernel::pack(codes, out, 3, 3, true);  // 011 010 001
  CHECK(out[0] == 0b11010001);
  CHECK(out[1] == 0b00000000);
}
