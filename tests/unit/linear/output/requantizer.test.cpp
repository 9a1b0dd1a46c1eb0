// SPDX-License-Identifier: MIT
// Against integers of 128 bits, which are exact, and the vectors that peers' own code gave.
#include <tq/linear/output/float_product.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/output/requantize_double.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantize_single.hpp>
#include <tq/linear/output/requantize_torch.hpp>
#include <tq/linear/output/requantize_up.hpp>
#include <tq/linear/output/requantizer.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"

namespace {

using tq::FixedMultiplier;
using tq::RequantizeDouble;
using tq::RequantizeFloat;
using tq::RequantizeSingle;
using tq::RequantizeTorch;
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
// Sums and products in double, rounded to float32 after each: those of 24 bits are rounded there as
// float32 rounds them, as double has more than twice as many.
std::int32_t by_float(std::int32_t sum, float factor, float bias = 0) {
  const auto biased =
      static_cast<float>(static_cast<double>(static_cast<float>(sum)) + static_cast<double>(bias));
  const double exact = static_cast<double>(biased) * static_cast<double>(factor);
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

TEST_CASE("sums that tell the roundings apart") {
  struct Case {
    std::int32_t sum;
    double factor;
    std::int32_t to_even, up, once, twice;
  };
  // The last two are shifted to the left before they are rounded twice, and saturate there;
  // TensorFlow Lite leaves it undefined.
  const Case cases[] = {
      {1, 0x1p-1, 0, 1, 1, 1},
      {-3, 0x1p-1, -2, -1, -1, -1},
      {-2, 0x1p-2, 0, 0, 0, -1},        // a tie up, then one away from 0
      {16777217, 0x1p-25, 0, 1, 1, 1},  // float32 has no 2^24 + 1
      {1 << 30, 4, 2147483520, highest, highest, 1 << 30},
      {-(1 << 24), 128, lowest, lowest, lowest, -(1 << 30)},
  };
  for (const Case& c : cases) {
    INFO(c.sum << " * " << c.factor);
    CHECK(RequantizeFloat::apply(c.sum, RequantizeFloat::make(c.factor)) == c.to_even);
    CHECK(RequantizeTorch::apply(c.sum, RequantizeTorch::make(c.factor)) == c.to_even);
    CHECK(RequantizeUp::apply(c.sum, RequantizeUp::make(c.factor)) == c.up);
    CHECK(RequantizeSingle::apply(c.sum, RequantizeSingle::make(c.factor)) == c.once);
    CHECK(RequantizeDouble::apply(c.sum, RequantizeDouble::make(c.factor)) == c.twice);
  }
  // INT_MIN * INT_MIN of the doubled high product; no multiplier has that mantissa.
  CHECK(RequantizeDouble::apply(lowest, {lowest, 0}) == highest);
  // XNNPACK's AVX-512 code gives 127 here, as its zero point of -1 wraps; the clamp comes last.
  CHECK(tq::OutputStage<>(std::array{128.0}, -1, -128, 127)(-(1 << 24), 0) == -128);
  CHECK(tq::OutputStage<>(std::array{4.0}, 0, 0, 255)(1 << 30, 0) == 255);
}

TEST_CASE("a bias of float32 is added before the factor, one of int32 is rounded first") {
  // 1.5 steps, and a factor of 0.3.
  const float bias = RequantizeTorch::bias(0.75f, 1.0f, 0.5f, false);
  CHECK(bias == 1.5f);
  CHECK(RequantizeTorch::apply(0, 0.3f, bias) == 0);  // 0.45
  CHECK(RequantizeFloat::apply(0 + 2, 0.3f) == 1);    // 0.6
  // 0.1 / 0.3 is rounded once, 0.1 * (1 / 0.3) twice.
  inputs::Random r(7);
  int differ = 0;
  for (int i = 0; i < 1000; ++i) {
    const float b = static_cast<float>(r.normal()), x = inputs::ordinary_scale(r),
                w = inputs::ordinary_scale(r);
    const auto step = static_cast<float>(static_cast<double>(x) * static_cast<double>(w));
    const double reciprocal =
        static_cast<double>(static_cast<float>(1 / static_cast<double>(step)));
    const float quotient = RequantizeTorch::bias(b, x, w, false),
                product = RequantizeTorch::bias(b, x, w, true);
    CHECK(quotient == static_cast<float>(static_cast<double>(b) / static_cast<double>(step)));
    CHECK(product == static_cast<float>(static_cast<double>(b) * reciprocal));
    differ += quotient != product;
  }
  CHECK(differ > 100);
}

TEST_CASE("factors are made of scales in the arithmetic of each peer") {
  inputs::Random r(8);
  int products = 0, multipliers = 0;
  for (int i = 0; i < 1000; ++i) {
    const float x = inputs::ordinary_scale(r), w = inputs::ordinary_scale(r),
                y = inputs::ordinary_scale(r);
    const double product = static_cast<double>(x) * static_cast<double>(w);  // exact
    const auto rounded = static_cast<float>(product);
    const auto in_float = static_cast<float>(static_cast<double>(rounded) / static_cast<double>(y));
    const double in_double = product / static_cast<double>(y),
                 mixed = static_cast<double>(rounded) / static_cast<double>(y);
    CHECK(RequantizeFloat::factor(x, w, y) == static_cast<double>(in_float));
    CHECK(RequantizeTorch::factor(x, w, y) == static_cast<double>(in_float));
    CHECK(RequantizeUp::factor(x, w, y) == static_cast<double>(in_float));
    CHECK(RequantizeDouble::factor(x, w, y) == in_double);
    CHECK(RequantizeSingle::factor(x, w, y) == in_double);
    CHECK(tq::FloatProduct<RequantizeDouble>::factor(x, w, y) == mixed);
    products += static_cast<double>(rounded) != product;
    multipliers += !(FixedMultiplier::of(in_double) == FixedMultiplier::of(mixed));
  }
  CHECK(products > 900);
  CHECK(multipliers > 900);  // TensorFlow Lite has two for one layer
}

TEST_CASE("ten million sums and factors have the code of exact integers") {
  inputs::Random r(1);
  std::string failures;
  for (int i = test::rounds(2'000'000); i > 0 && failures.size() < 1000; --i) {
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
    const auto bias = static_cast<float>(std::ldexp(r.normal(), r.between(-3, 30)));
    const std::int32_t torch = RequantizeTorch::apply(sum, factor, bias);
    if (torch != by_float(sum, factor, bias))
      failures +=
          "torch " + text(sum, static_cast<double>(factor), torch, by_float(sum, factor, bias));
  }
  CHECK(failures == "");
}

#if TQ_HAS_SIMD
static_assert(tq::LaneRequantizer<RequantizeFloat, tq::arch::native> ==
              !std::is_same_v<tq::arch::native, tq::arch::scalar>);
static_assert(!tq::LaneRequantizer<RequantizeFloat, tq::arch::scalar>);

TEST_CASE("lanes of sums have the codes of sums one by one") {
  using Arch = tq::arch::native;
  inputs::Random r(2);
  std::string failures;
  const auto check = [&]<class R>(const char* name, const auto& any_multiplier) {
    if constexpr (tq::LaneRequantizer<R, Arch>) {
      constexpr std::size_t width = tq::arch::width<Arch>;
      std::int32_t sums[width], lanes[width];
      typename R::multiplier m[width];
      float bias[width];
      for (int i = test::rounds(200'000); i > 0 && failures.size() < 1000; --i) {
        for (std::size_t k = 0; k < width; ++k) {
          sums[k] = any_sum(r), m[k] = any_multiplier();
          bias[k] = static_cast<float>(std::ldexp(r.normal(), r.between(-3, 30)));
        }
        const auto v = tq::arch::ints<Arch>::load_unaligned(sums);
        if constexpr (tq::FloatBiasRequantizer<R>)
          R::template lanes<Arch>(v, m, bias).store_unaligned(lanes);
        else R::template lanes<Arch>(v, m).store_unaligned(lanes);
        for (std::size_t k = 0; k < width; ++k) {
          std::int32_t wanted = 0;
          if constexpr (tq::FloatBiasRequantizer<R>) wanted = R::apply(sums[k], m[k], bias[k]);
          else wanted = R::apply(sums[k], m[k]);
          if (lanes[k] != wanted) failures += name + text(sums[k], 0, lanes[k], wanted);
        }
      }
    }
  };
  const auto any_fixed = [&] {
    return FixedMultiplier{r.chance(5)   ? highest
                           : r.chance(5) ? 0
                                         : r.between(1 << 30, highest),
                           r.between(-31, 30)};
  };
  const auto any_up = [&] {
    return RequantizeUp::make(r.chance(5) ? 0 : std::ldexp(0.5 + r.unit() / 2, r.between(-38, 21)));
  };
  const auto any_float = [&] {
    return r.chance(5)   ? std::numeric_limits<float>::max()
           : r.chance(5) ? 0.0f
                         : static_cast<float>(std::ldexp(0.5 + r.unit() / 2, r.between(-149, 40)));
  };
  check.template operator()<RequantizeFloat>("float ", any_float);
  check.template operator()<RequantizeTorch>("torch ", any_float);
  check.template operator()<RequantizeDouble>("twice ", any_fixed);
  check.template operator()<RequantizeSingle>("once ", any_fixed);
  check.template operator()<RequantizeUp>("up ", any_up);
  CHECK(failures == "");
}
#endif

TEST_CASE("a factor of 0, or one that is tiny, gives 0") {
  for (const std::int32_t sum : edges) {
    CHECK(RequantizeFloat::apply(sum, RequantizeFloat::make(0)) == 0);
    CHECK(RequantizeTorch::apply(sum, RequantizeTorch::make(0), 1e30f) == 0);
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
