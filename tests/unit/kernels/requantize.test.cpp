// SPDX-License-Identifier: MIT
// Against integers of 128 bits: every product of float32 is one of integers and a power of two.
#include <tq/kernels/requantize.hpp>

#include <tq/driver/planes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"
#include "support/span_layouts.hpp"

namespace {

using Arch = tq::arch::native;
using tq::driver::Column, tq::driver::Columns;
__extension__ using Wide = __int128;
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                       highest = std::numeric_limits<std::int32_t>::max();

// integer * 2^exponent. The exponent has no limits: products that float32 has no exponents for are
// far beyond all codes, or far below a half.
struct Number {
  Wide integer;
  int exponent;
};

// v / 2^by to nearest, the even one of two.
Wide shifted(Wide v, int by) {
  if (by == 0) return v;
  if (by > 120) return 0;
  const Wide magnitude = v < 0 ? -v : v, one = Wide{1} << by, rest = magnitude % one;
  Wide kept = magnitude / one;
  if (2 * rest > one || (2 * rest == one && kept % 2 == 1)) ++kept;
  return v < 0 ? -kept : kept;
}
// To the 24 bits of float32.
Number rounded(Number v) {
  int by = 0;
  for (Wide m = v.integer < 0 ? -v.integer : v.integer; m >> by >= Wide{1} << 24;) ++by;
  return {shifted(v.integer, by), v.exponent + by};
}
Number times(Number a, Number b) {
  return rounded({a.integer * b.integer, a.exponent + b.exponent});
}
Number number(float v) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(v), &exponent);
  return {static_cast<std::int64_t>(std::ldexp(fraction, 24)), exponent - 24};
}

struct Limits {
  std::int32_t zero_point, low, high;
};

std::int32_t wanted_code(std::int32_t sum, float row, float column, std::int32_t bias, Limits l) {
  const auto whole =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(bias));
  const Number product = times(rounded({whole, 0}), times(number(row), number(column)));
  Wide v = 0;
  if (product.integer == 0) v = 0;
  else if (product.exponent > 40) v = product.integer < 0 ? lowest : highest;
  else if (product.exponent >= 0) v = product.integer << product.exponent;
  else v = shifted(product.integer, -product.exponent);
  v = std::clamp<Wide>(v, lowest, 2147483520);
  return static_cast<std::int32_t>(std::clamp<Wide>(v + l.zero_point, l.low, l.high));
}

// Factors that make codes of sums, ones and zeros, those that leave float32, and the ends.
float factor(inputs::Random& r) {
  switch (r.below(12)) {
    case 0: return 0.0f;
    case 1: return 1.0f;
    case 2: return std::numeric_limits<float>::max();
    case 3: return std::numeric_limits<float>::denorm_min();
    case 4: return static_cast<float>(std::ldexp(1.0, r.between(-40, 4)));
    default: return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-16, 0)));
  }
}
// Sums of every size, those that are odd multiples of a half after a factor of a power of two.
std::int32_t sum(inputs::Random& r) {
  const auto any = static_cast<std::int32_t>(r.bits());
  return r.chance(10) ? (r.chance(50) ? lowest : highest) : any >> r.below(31);
}

template <class Code>
Limits limits(inputs::Random& r) {
  const int least = std::numeric_limits<Code>::min(), most = std::numeric_limits<Code>::max();
  const int a = r.between(least, most), b = r.between(least, most);
  Limits l{r.between(least, most), least, most};
  if (r.chance(30)) l.low = std::min(a, b), l.high = std::max(a, b);
  if (r.chance(20))
    l.zero_point = r.chance(50) ? lowest + r.between(0, 300) : highest - r.between(0, 300);
  return l;
}

// A layout of sums with a scale a row, or one for all; a scale and a bias a column, or one scale or
// no bias.
template <class Code>
std::string difference(const layouts::Layout& l, bool tame, inputs::Random& r) {
  const Limits range = limits<Code>(r);
  const std::size_t row = r.below(5), element = r.below(40), rows = row + l.span.count,
                    columns = element + l.span.length;
  std::vector<float> row_scales(rows), column_scales(columns + Column::padding);
  std::vector<std::int32_t> biases(columns + Column::padding), sums(l.source_size);
  const auto ordinary = [&] {
    return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-5, -3)));
  };
  for (float& s : row_scales) s = tame ? ordinary() : factor(r);
  for (float& s : column_scales) s = tame ? ordinary() : factor(r);
  for (std::int32_t& b : biases) b = tame ? r.between(-1000, 1000) : sum(r);
  for (std::int32_t& s : sums) s = tame ? r.between(-30000, 30000) : sum(r);
  const bool by_row = r.chance(70), by_column = r.chance(70), has_bias = r.chance(70),
             ready = r.chance(50);
  std::array<Column, 3> all{
      Column{.numbers = tq::driver::plain<Arch>(row_scales.data()), .row_step = by_row},
      Column{.numbers = tq::driver::plain<Arch>(column_scales.data()), .lie_ready = ready},
      Column{.group = 1, .lie_ready = ready}};
  if (by_column) all[1].group = 1;
  if (has_bias) all[2].numbers = tq::driver::plain<Arch>(biases.data());
  const Columns named{all.data(), row, element};
  constexpr Code guard = 0x5a;
  std::vector<Code> wanted(l.target_size, guard), got = wanted;
  for (std::size_t k = 0; k < l.span.count; ++k)
    for (std::size_t i = 0; i < l.span.length; ++i)
      wanted[static_cast<std::size_t>(l.target(k, i))] = static_cast<Code>(wanted_code(
          sums[static_cast<std::size_t>(l.source(k, i))], row_scales[by_row ? row + k : 0],
          column_scales[by_column ? element + i : 0], has_bias ? biases[element + i] : 0, range));
  const tq::kernels::Requantize<Code> stage(range.zero_point, range.low, range.high);
  tq::driver::sweep(tq::driver::bind(tq::kernels::requantizing<Arch, Code>, stage),
                    {.source = sums.data(),
                     .first = l.source_at,
                     .target = got.data() + l.target_at,
                     .streams = r.chance(30)},
                    l.span, {.columns = &named});
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != wanted[i])
      return l.text() + "at " + std::to_string(i) + " expected " + std::to_string(wanted[i]) +
             ", got " + std::to_string(got[i]) + "\n";
  return {};
}

template <class Code>
void check(std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  for (int round = 0; round < test::rounds(800); ++round)
    failures += difference<Code>(layouts::draw(r), r.chance(50), r);
  INFO(failures.substr(0, 1000));
  CHECK(failures.empty());
}

// The code of one sum with one factor.
std::int32_t code(std::int32_t of, float factor, Limits l) {
  const std::array<Column, 3> all{Column{.numbers = tq::driver::plain<Arch>(&factor)},
                                  Column{.numbers = tq::driver::ones<Arch>()}, Column{}};
  const Columns columns{all.data()};
  const tq::kernels::Requantize<std::int8_t> stage(l.zero_point, l.low, l.high);
  std::array<std::int32_t, 70> sums{};
  sums.fill(of);
  std::array<std::int8_t, 70> out{};
  tq::kernels::requantize<Arch>(stage, sums.data(), out.data(), {.length = sums.size()}, columns);
  CHECK(std::count(out.begin(), out.end(), out[0]) == 70);
  return out[0];
}

}  // namespace

TEST_CASE("requantized sums are exact, in any layout", "[requantize]") {
  check<std::int8_t>(1);
  check<std::uint8_t>(2);
}

TEST_CASE("requantized sums go to the even code at ties", "[requantize]") {
  constexpr Limits all{0, -128, 127};
  for (const int v : {1, 3, 5, -1, -3, -5}) {
    const int even = v % 4 == 1 || v % 4 == -3 ? (v - 1) / 2 : (v + 1) / 2;
    CHECK(code(v, 0.5f, all) == even);
  }
}

TEST_CASE("a factor that is no number makes the zero point of a sum of 0", "[requantize]") {
  CHECK(code(0, std::numeric_limits<float>::infinity(), {5, -128, 127}) == 5);
  CHECK(code(1, std::numeric_limits<float>::infinity(), {5, -128, 127}) == 127);
  CHECK(code(1, std::numeric_limits<float>::quiet_NaN(), {5, -128, 127}) == 5);
}

TEST_CASE("a zero point that no sum brings back among the codes leaves their end", "[requantize]") {
  CHECK(code(highest, 1.0f, {lowest, 0, 127}) == 0);
  CHECK(code(lowest, 1.0f, {highest, -128, -10}) == -10);
}
