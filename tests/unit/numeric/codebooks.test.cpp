// SPDX-License-Identifier: MIT
// The published tables, from how they were made.
#include <tq/numeric/codebooks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace {

// The inverse of the normal distribution, by bisection.
double quantile(double p) {
  double lo = -10, hi = 10;
  for (int i = 0; i < 200; ++i) {
    const double mid = (lo + hi) / 2;
    (0.5 * std::erfc(-mid / std::sqrt(2.0)) < p ? lo : hi) = mid;
  }
  return lo;
}

}  // namespace

TEST_CASE("nf4 has the quantiles of the normal distribution", "[codebooks]") {
  // Eight positive and seven negative ones, evenly spaced between 1/2 and 1 - (1/30 + 1/32) / 2.
  const double end = 0.9677083;
  const auto& values = tq::codebooks::nf4::values;
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(std::fabs(quantile(0.5 + (end - 0.5) * static_cast<double>(i) / 8) / quantile(end) -
                    static_cast<double>(values[7 + i])) < 2e-7);
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(std::fabs(-quantile(0.5 + (end - 0.5) * static_cast<double>(7 - i) / 7) / quantile(end) -
                    static_cast<double>(values[i])) < 2e-7);
  CHECK(std::is_sorted(values.begin(), values.end()));
}

TEST_CASE("bnb_fp4 is a small float of its own", "[codebooks]") {
  const double twelfths[] = {0, 0.0625, 8, 12, 4, 6, 2, 3};
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(tq::codebooks::fp4::values[i] == static_cast<float>(twelfths[i] / 12));
    CHECK(tq::codebooks::fp4::values[8 + i] == -static_cast<float>(twelfths[i] / 12));
  }
}

TEST_CASE("iq4_nl is ggml's table", "[codebooks]") {
  constexpr std::array<int, 16> table{-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
  for (std::size_t i = 0; i < 16; ++i)
    CHECK(tq::codebooks::iq4_nl::values[i] == static_cast<float>(table[i]));
}

TEST_CASE("dynamic8 follows its formula but for the last digits", "[codebooks]") {
  std::vector<double> wanted{0, 1};
  for (int i = 0; i < 7; ++i) {
    const int n = 1 << i;
    for (int k = 0; k < n; ++k) {
      const double low = 0.1 + 0.9 * k / n, high = 0.1 + 0.9 * (k + 1) / n;
      for (const double sign : {-1.0, 1.0})
        wanted.push_back(sign * (low + high) / 2 * std::pow(10.0, i - 6));
    }
  }
  std::sort(wanted.begin(), wanted.end());
  const auto& values = tq::codebooks::dynamic8::values;
  REQUIRE(wanted.size() == values.size());
  CHECK(std::is_sorted(values.begin(), values.end()));
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(std::fabs(static_cast<double>(values[i]) - wanted[i]) <= 3e-7 * std::fabs(wanted[i]));
}
