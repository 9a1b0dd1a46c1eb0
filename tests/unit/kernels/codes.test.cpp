// SPDX-License-Identifier: MIT
#include <tq/kernels/codes.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using Arch = tq::arch::native;

// Bit by bit.
template <class Code>
Code code_at(const std::vector<unsigned char>& bytes, std::size_t i, int bits, bool low_first) {
  std::int32_t code = 0;
  for (int b = 0; b < bits; ++b) {
    const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
    const int bit = bytes[at / 8] >> (low_first ? at % 8 : 7 - at % 8) & 1;
    code |= bit << (low_first ? b : bits - 1 - b);
  }
  if (std::is_signed_v<Code> && code >> (bits - 1) != 0) code -= 1 << bits;
  return static_cast<Code>(code);
}

// From any code on, any number of them; nothing follows the last byte, and what is around the
// target stays.
template <class Code, int Bits, bool LowFirst>
void check() {
  using source = tq::kernels::PackedCodes<Code, Bits, LowFirst>;
  inputs::Random r(Bits);
  std::size_t failed = 0;
  for (int round = 0; round < 500; ++round) {
    const std::size_t first = r.below(40), n = r.chance(50) ? 1 + r.below(12) : 1 + r.below(300);
    std::vector<unsigned char> bytes(((first + n) * std::size_t{Bits} + 7) / 8);
    for (unsigned char& b : bytes) b = static_cast<unsigned char>(r.bits());
    std::vector<Code> got(n + 2, Code{55});
    source::template unpack<Arch>(bytes.data(), first, n,
                                  reinterpret_cast<unsigned char*>(got.data() + 1));
    for (std::size_t i = 0; i < n; ++i) {
      const Code wanted = code_at<Code>(bytes, first + i, Bits, LowFirst);
      failed +=
          got[1 + i] != wanted || source::template one<Arch>(bytes.data(), first + i) != wanted;
    }
    failed += got[0] != Code{55} || got[n + 1] != Code{55};
  }
  CHECK(failed == 0);
}

template <int... Bits>
void check_all() {
  (check<std::int8_t, Bits, true>(), ...);
  (check<std::uint8_t, Bits, true>(), ...);
  (check<std::uint8_t, Bits, false>(), ...);
  check<std::int8_t, 5, false>();
}

}  // namespace

TEST_CASE("packed codes are found wherever they begin", "[codes]") {
  check_all<2, 3, 4, 5, 6, 7>();
}
TEST_CASE("bits are found wherever they begin", "[codes]") {
  check<std::uint8_t, 1, true>();
  check<std::uint8_t, 1, false>();
}
