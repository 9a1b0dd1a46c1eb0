// SPDX-License-Identifier: MIT
// Against integers of 64 bits, which hold every sum of a number and a zero point.
#include <tq/linear/output/detail/code_limits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"

namespace {

using tq::detail::CodeLimits;
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                       highest = std::numeric_limits<std::int32_t>::max();

std::int32_t any_number(inputs::Random& r) {
  constexpr std::int32_t edges[] = {lowest, lowest + 1, -129, -1, 0, 1, 255, highest - 1, highest};
  if (r.chance(20)) return edges[r.below(std::size(edges))];
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(r.bits())) >> r.below(31);
}

struct Limits {
  std::int32_t zero_point, low, high;

  explicit Limits(inputs::Random& r)
      : zero_point(r.chance(40) ? any_number(r) : r.between(-128, 255)),
        low(r.between(-128, 255)),
        high(r.between(-128, 255)) {
    if (low > high) std::swap(low, high);
  }
  [[nodiscard]] std::int32_t wanted(std::int32_t v) const {
    const std::int64_t code = std::int64_t{v} + zero_point;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, low, high));
  }
};

std::string text(const Limits& l, std::int32_t v, std::int32_t got) {
  return std::to_string(v) + " + " + std::to_string(l.zero_point) + " within " +
         std::to_string(l.low) + " to " + std::to_string(l.high) + ": " + std::to_string(got) +
         "\n";
}

}  // namespace

TEST_CASE("codes of any number, zero point and limits are those of 64 bits", "[code_limits]") {
  inputs::Random r(11);
  std::string failures;
  for (int i = test::rounds(200'000); i > 0 && failures.size() < 1000; --i) {
    const Limits l(r);
    const std::int32_t v = any_number(r), got = CodeLimits(l.zero_point, l.low, l.high).code(v);
    if (got != l.wanted(v)) failures += text(l, v, got);
  }
  CHECK(failures == "");
}

TEST_CASE("a zero point that no sum brings back among the codes leaves their end",
          "[code_limits]") {
  CHECK(CodeLimits(lowest, 0, 127).code(highest) == 0);
  CHECK(CodeLimits(highest, -128, -10).code(lowest) == -10);
}

#if TQ_HAS_SIMD
TEST_CASE("lanes of numbers become the codes of 64 bits", "[code_limits]") {
  using Arch = tq::arch::native;
  constexpr std::size_t width = tq::arch::width<Arch>;
  inputs::Random r(12);
  std::string failures;
  for (int i = test::rounds(50'000); i > 0 && failures.size() < 1000; --i) {
    const Limits l(r);
    std::int32_t v[width], codes[width];
    for (std::int32_t& n : v) n = any_number(r);
    CodeLimits(l.zero_point, l.low, l.high)
        .codes<Arch>(tq::arch::ints<Arch>::load_unaligned(v))
        .store_unaligned(codes);
    for (std::size_t k = 0; k < width; ++k)
      if (codes[k] != l.wanted(v[k])) failures += text(l, v[k], codes[k]);
  }
  CHECK(failures == "");
}
#endif
