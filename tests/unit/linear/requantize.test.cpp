// SPDX-License-Identifier: MIT
// Against integers of 128 bits, which are exact, and the vectors that peers' own code gave.
#include <tq/linear/requantize.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

using tq::FixedMultiplier;
using tq::RequantizeDouble;
using tq::RequantizeFloat;
using tq::RequantizeSingle;
using tq::RequantizeUp;
__extension__ using Wide = __int128;

constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                       highest = std::numeric_limits<std::int32_t>::max();

Wide floor_divided(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
Wide power(int exponent) { return Wide{1} << exponent; }
std::int32_t in_range(Wide v) {
  return static_cast<std::int32_t>(std::clamp<Wide>(v, lowest, highest));
}

// To nearest: floor(v / 2^shift + 1/2).
Wide half_up(Wide v, int shift) { return floor_divided(2 * v + power(shift), power(shift + 1)); }
Wide half_away(Wide v, int shift) { return v < 0 ? -half_up(-v, shift) : half_up(v, shift); }

std::int32_t rounded_twice(std::int32_t sum, FixedMultiplier m) {
  const std::int32_t scaled = in_range(Wide{sum} * power(std::max(m.exponent, 0)));
  return in_range(
      half_away(in_range(half_up(Wide{scaled} * m.mantissa, 31)), std::max(-m.exponent, 0)));
}
std::int32_t rounded_once(std::int32_t sum, FixedMultiplier m) {
  return in_range(half_up(Wide{sum} * m.mantissa, 31 - m.exponent));
}
// The factor is a float32: mantissa * 2^exponent.
std::int32_t rounded_up(std::int32_t sum, float factor) {
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(factor, &exponent), 24));
  return in_range(half_up(Wide{sum} * mantissa, 24 - exponent));
}
// Two roundings to float32, which std::lrint of doubles makes in the same way: both factors have 24
// bits.
std::int32_t by_float(std::int32_t sum, float factor) {
  const double exact = static_cast<double>(static_cast<float>(sum)) * static_cast<double>(factor);
  const double rounded = static_cast<double>(static_cast<float>(exact));
  if (rounded >= 2147483520.0) return 2147483520;
  if (rounded <= -2147483648.0) return lowest;
  return static_cast<std::int32_t>(std::llrint(rounded));
}

constexpr std::int32_t edges[] = {lowest,
                                  lowest + 1,
                                  -(1 << 30),
                                  -65536,
                                  -32769,
                                  -32768,
                                  -3,
                                  -2,
                                  -1,
                                  0,
                                  1,
                                  2,
                                  3,
                                  255,
                                  (1 << 24) + 1,
                                  32767,
                                  65535,
                                  1 << 30,
                                  (1 << 30) + 1,
                                  highest - 1,
                                  highest};
std::int32_t any_sum(inputs::Random& r) {
  if (r.chance(10)) return edges[r.below(std::size(edges))];
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(r.bits())) >> r.below(31);
}
std::string text(std::int32_t sum, double factor, std::int32_t got, std::int32_t wanted) {
  return std::to_string(sum) + " * " + std::to_string(factor) + ": " + std::to_string(got) +
         ", not " + std::to_string(wanted) + "\n";
}

}  // namespace

TEST_CASE("roundings give what peers' own code gives") {
  const FixedMultiplier a{1583594044, -9}, b{1 << 30, -1};
  CHECK(RequantizeDouble::apply(7984, a) == 12);
  CHECK(RequantizeSingle::apply(7984, a) == 11);
  CHECK(RequantizeDouble::apply(1, b) == 1);
  CHECK(RequantizeSingle::apply(1, b) == 0);
  // srdhm(-1, 2^30) = 0 and srdhm(-3, 2^30) = -1
  const FixedMultiplier half{1 << 30, 0};
  CHECK(RequantizeDouble::apply(-1, half) == 0);
  CHECK(RequantizeDouble::apply(-3, half) == -1);
  CHECK(RequantizeFloat::apply(5, 0.5f) == 2);
  CHECK(RequantizeFloat::apply(7, 0.5f) == 4);
  CHECK(RequantizeFloat::apply(highest, 1.0f) == 2147483520);
  CHECK(RequantizeFloat::apply(lowest, 1e30f) == lowest);
  CHECK(RequantizeUp::apply(5, RequantizeUp::make(0.5)) == 3);
  CHECK(RequantizeUp::apply(-5, RequantizeUp::make(0.5)) == -2);
}

TEST_CASE("ten million sums and factors have the code of exact integers") {
  inputs::Random r(1);
  std::string failures;
  for (int i = 0; i < 2'500'000 && failures.size() < 1000; ++i) {
    const std::int32_t sum = any_sum(r);
    const FixedMultiplier m{r.chance(5) ? highest : r.between(1 << 30, highest),
                            r.between(-31, 30)};
    const double value = std::ldexp(m.mantissa, m.exponent - 31);
    const std::int32_t twice = RequantizeDouble::apply(sum, m),
                       once = RequantizeSingle::apply(sum, m);
    if (twice != rounded_twice(sum, m))
      failures += "twice " + text(sum, value, twice, rounded_twice(sum, m));
    if (once != rounded_once(sum, m))
      failures += "once " + text(sum, value, once, rounded_once(sum, m));
    const auto factor = static_cast<float>(std::ldexp(0.5 + r.unit() / 2, r.between(-38, 21)));
    const std::int32_t up =
        RequantizeUp::apply(sum, RequantizeUp::make(static_cast<double>(factor)));
    if (up != rounded_up(sum, factor))
      failures += "up " + text(sum, static_cast<double>(factor), up, rounded_up(sum, factor));
    const std::int32_t f = RequantizeFloat::apply(sum, factor);
    if (f != by_float(sum, factor))
      failures += "float " + text(sum, static_cast<double>(factor), f, by_float(sum, factor));
  }
  CHECK(failures == "");
}

TEST_CASE("a factor of 0, or one that is tiny, gives 0") {
  for (const std::int32_t sum : edges) {
    CHECK(RequantizeFloat::apply(sum, RequantizeFloat::make(0)) == 0);
    CHECK(RequantizeDouble::apply(sum, RequantizeDouble::make(0)) == 0);
    CHECK(RequantizeSingle::apply(sum, RequantizeSingle::make(0)) == 0);
    CHECK(RequantizeUp::apply(sum, RequantizeUp::make(0x1p-41)) == 0);
  }
}

TEST_CASE("each policy refuses factors that it has no multiplier for") {
  const double nan = std::nan("");
  for (const double bad : {-0.5, nan, 1e39}) {
    test::raises(tq::errc::bad_scale, {"RequantizeFloat"},
                 [&] { (void)RequantizeFloat::make(bad); });
    test::raises(tq::errc::bad_scale, {"RequantizeUp", "2^22"},
                 [&] { (void)RequantizeUp::make(bad); });
  }
  test::raises(tq::errc::bad_scale, {"RequantizeUp"}, [&] { (void)RequantizeUp::make(0x1p22); });
  for (const double bad : {-0.5, nan}) {
    test::raises(tq::errc::bad_scale, {"at least 0"}, [&] { (void)RequantizeDouble::make(bad); });
    test::raises(tq::errc::bad_scale, {"at least 0"}, [&] { (void)RequantizeSingle::make(bad); });
  }
}
