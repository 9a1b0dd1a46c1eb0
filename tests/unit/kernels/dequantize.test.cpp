// SPDX-License-Identifier: MIT
#include <tq/kernels/dequantize.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"

namespace {

using Arch = tq::arch::native;
#if TQ_HAS_SIMD
constexpr std::size_t block = 4 * tq::arch::width<Arch>;
#else
constexpr std::size_t block = 32;
#endif

// Unpacked codes; or, of 8-bit codes, `Bits` of each.
template <class Code, int Bits = 8 * sizeof(Code)>
void check_all(std::uint64_t seed) {
  constexpr bool packed = Bits < 8;
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  std::vector<cases::Codes> ranges = cases::ranges<Code>();
  if constexpr (packed) {
    constexpr int least = std::is_signed_v<Code> ? -(1 << (Bits - 1)) : 0;
    ranges = {{least, least + (1 << Bits) - 1}};
  }
  for (int round = 0; round < (packed ? 2 : 4); ++round)
    for (const cases::Form& form : cases::forms(block)) {
      if (packed && !form.unpackable()) continue;
      const cases::Codes codes = ranges[r.below(ranges.size())];
      const cases::Case c(form, codes, r);
      std::vector<Code> q(c.source.size());
      for (Code& v : q) v = static_cast<Code>(r.between(codes.min, codes.max));
      const float guard = std::bit_cast<float>(0xa5a5a5a5u);
      cases::Outputs<float> wanted(c.target_size(), guard), got = wanted;
      c.each([&](std::size_t s, std::size_t t, std::size_t p) {
        wanted[t] = oracle::dequantize(q[s], c.scales[p], c.zero(p));
      });
      float* const out = got.data() + c.target_at;
      using kernel = tq::kernels::dequantize<Arch, Code>;
      if constexpr (packed)
        kernel::template unpack<Bits>(cases::packed(q, c.source_at, Bits).data(), out, c.span(), c.streaming);
      else
        kernel::run(q.data() + c.source_at, out, c.span(), c.streaming);
      std::size_t bad = 0;
      while (bad < got.size() && oracle::same(got[bad], wanted[bad])) ++bad;
      if (bad == got.size() || ++failed > 5) continue;
      std::ostringstream text;
      text << std::hexfloat << form.text() << (c.streaming ? ", streaming" : "") << ": at "
           << static_cast<std::ptrdiff_t>(bad) - static_cast<std::ptrdiff_t>(c.target_at) << " expected "
           << wanted[bad] << ", got " << got[bad] << "\n";
      failures += text.str();
    }
  INFO(failed << " spans differ\n" << failures);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("dequantize equals (code - zero point) * scale bit for bit", "[dequantize]") {
  SECTION("int8") { check_all<std::int8_t>(1); }
  SECTION("uint8") { check_all<std::uint8_t>(2); }
  SECTION("int16") { check_all<std::int16_t>(3); }
  SECTION("uint16") { check_all<std::uint16_t>(4); }
  SECTION("int32") { check_all<std::int32_t>(9); }
}

TEST_CASE("dequantize of packed codes equals that of the codes", "[dequantize]") {
  SECTION("int4") { check_all<std::int8_t, 4>(5); }
  SECTION("uint4") { check_all<std::uint8_t, 4>(6); }
  SECTION("int2") { check_all<std::int8_t, 2>(7); }
  SECTION("uint2") { check_all<std::uint8_t, 2>(8); }
}
