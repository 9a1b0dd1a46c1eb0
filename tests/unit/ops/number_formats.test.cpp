// SPDX-License-Identifier: MIT
// Every cell of the tables of docs/number-formats.md against the library.
#include <tq/core/codebook.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/directories.hpp"

namespace {

using Scalar = tq::backend::native<tq::arch::scalar>;
constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();

using Row = std::vector<std::string>;
using Table = std::vector<Row>;  // the first row is the head

Row split(const std::string& line) {
  Row cells;
  std::size_t at = line.find('|');
  while (at != std::string::npos) {
    const std::size_t end = line.find('|', at + 1);
    if (end == std::string::npos) break;
    std::string cell = line.substr(at + 1, end - at - 1);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
    at = end;
  }
  return cells;
}

// The tables of the document, by the heading they stand under.
std::map<std::string, Table> tables() {
  std::ifstream in(std::string(test::golden_dir) + "/../../docs/number-formats.md");
  REQUIRE(in.good());
  std::map<std::string, Table> found;
  std::string line, heading;
  while (std::getline(in, line)) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (!line.starts_with("|") || line.starts_with("| ---") || line.starts_with("|---")) continue;
    found[heading].push_back(split(line));
  }
  return found;
}

// Shortest decimals; powers of two as such where those would be long.
std::string text(float v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  if (v == 0) return std::signbit(v) ? "-0" : "0";
  const int e = std::ilogb(v);
  if (v == std::ldexp(1.0f, e) && (e < -3 || e > 20)) return "2^" + std::to_string(e);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return {buffer, end};
}

// The value that x becomes, and the value under `NonSaturate` if it differs.
template <class F>
std::string becomes(float x) {
  const std::string a = text(F::decode(F::template encode<tq::Saturate>(x, tq::NearestEven{}, 0)));
  const std::string b =
      text(F::decode(F::template encode<tq::NonSaturate>(x, tq::NearestEven{}, 0)));
  return a == b ? a : a + ", or " + b;
}

template <class T>
Row values() {
  using F = typename T::format;
  float least = 0, lowest = 0;  // the smallest positive value, the lowest one
  int nans = 0, infinities = 0;
  bool negative_zero = false;
  for (std::uint32_t c = 0; c < (1u << F::bits); ++c) {
    const float v = F::decode(c);
    nans += std::isnan(v);
    infinities += std::isinf(v);
    negative_zero = negative_zero || (v == 0 && std::signbit(v));
    if (v > 0 && (least == 0 || v < least)) least = v;
    if (std::isfinite(v)) lowest = std::min(lowest, v);
  }
  lowest = lowest == 0 ? least : lowest;
  std::string normal = "-";
  if constexpr (requires { F::smallest_normal; }) {
    normal = text(F::smallest_normal);
    CHECK(F::smallest_subnormal == least);
  }
  return {"`" + std::string(T::name) + "`",
          std::to_string(F::bits),
          text(F::max_finite),
          text(lowest),
          normal,
          text(least),
          std::to_string(nans),
          std::to_string(infinities),
          negative_zero ? "yes" : "no"};
}

template <class T>
Row behaviour() {
  using F = typename T::format;
  float least = inf;
  for (std::uint32_t c = 0; c < (1u << F::bits); ++c)
    if (F::decode(c) > 0) least = std::min(least, F::decode(c));
  const float tiny = least * 0.25f;
  return {"`" + std::string(T::name) + "`",
          becomes<F>(nan_value),
          becomes<F>(-nan_value),
          becomes<F>(inf),
          becomes<F>(-inf),
          becomes<F>(std::numeric_limits<float>::max()),
          becomes<F>(0.0f),
          becomes<F>(-0.0f),
          becomes<F>(tiny),
          becomes<F>(-tiny)};
}

// The scale that a block of zeros gets, and the values that come back.
template <class Params>
Row zero_block(const std::string& name) {
  const std::vector<tq::Range> ranges{{0.0f, 0.0f}};
  const auto params = tq::fit_params<Params>({}, ranges);
  const std::vector<float> zeros(static_cast<std::size_t>(params.granularity().size()), 0.0f);
  const auto back = tq::dequantize(tq::quantize(zeros, params, tq::on<Scalar>), tq::on<Scalar>);
  for (const float v : back) CHECK(text(v) == text(back[0]));
  return {"`" + name + "`", text(params.scales()[0]), text(back[0])};
}

void compare(const std::map<std::string, Table>& document, const std::string& heading,
             const Table& wanted) {
  const auto found = document.find(heading);
  INFO("table \"" << heading << "\"");
  REQUIRE(found != document.end());
  const Table& table = found->second;
  REQUIRE(table.size() == wanted.size() + 1);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    REQUIRE(table[i + 1].size() == wanted[i].size());
    REQUIRE(table[0].size() == wanted[i].size());
    for (std::size_t k = 0; k < wanted[i].size(); ++k) {
      INFO(wanted[i][0] << ", column \"" << table[0][k] << "\"");
      CHECK(table[i + 1][k] == wanted[i][k]);
    }
  }
}

template <class... T>
struct List {};
template <class... T>
Table value_rows(List<T...>) {
  return {values<T>()...};
}
template <class... T>
Table behaviour_rows(List<T...>) {
  return {behaviour<T>()...};
}
using All =
    List<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e5m2, tq::float8_e4m3fnuz,
         tq::float8_e5m2fnuz, tq::float8_e8m0fnu, tq::float6_e2m3fn, tq::float6_e3m2fn,
         tq::float4_e2m1fn, tq::fixed8, tq::nf4, tq::bnb_fp4, tq::iq4_nl, tq::dynamic8, tq::binary>;

}  // namespace

TEST_CASE("the tables of docs/number-formats.md say what the library does", "[number_formats]") {
  const auto document = tables();
  compare(document, "Values", value_rows(All{}));
  compare(document, "What values become", behaviour_rows(All{}));
  using G = tq::PerGroup<32>;
  compare(document, "Blocks of zeros",
          {zero_block<tq::mxfp8_e4m3>("mxfp8_e4m3"), zero_block<tq::mxfp8_e5m2>("mxfp8_e5m2"),
           zero_block<tq::mxfp6_e2m3>("mxfp6_e2m3"), zero_block<tq::mxfp6_e3m2>("mxfp6_e3m2"),
           zero_block<tq::mxfp4>("mxfp4"), zero_block<tq::mxint8>("mxint8"),
           zero_block<tq::nvfp4>("nvfp4"), zero_block<tq::nvfp4_normal>("nvfp4_normal"),
           zero_block<tq::nf4_64>("nf4_64"), zero_block<tq::nf4_64_double>("nf4_64_double"),
           zero_block<tq::QuantParams<tq::float8_e4m3fn, G, tq::Symmetric>>("float8_e4m3fn"),
           zero_block<tq::QuantParams<tq::float8_e4m3fn, G, tq::Symmetric, tq::float16>>(
               "float8_e4m3fn by float16"),
           zero_block<tq::QuantParams<tq::iq4_nl, G, tq::Symmetric>>("iq4_nl"),
           zero_block<tq::QuantParams<tq::binary, G, tq::Symmetric>>("binary")});
  CHECK(document.size() == 3);
}
