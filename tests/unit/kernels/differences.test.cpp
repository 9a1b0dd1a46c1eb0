// SPDX-License-Identifier: MIT
// Sums of whole numbers, which double holds exactly in any order.
#include <tq/arch/isa.hpp>
#include <tq/kernels/differences.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using kernel = tq::kernels::differences<tq::arch::native>;
using tq::kernels::Differences;

Differences exactly(const float* x, const float* y, std::size_t n) {
  Differences s;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = x[i], b = y[i], e = a - b;
    s.error2 += e * e;
    s.error1 += std::fabs(e);
    s.largest = std::max(s.largest, std::fabs(e));
    s.x2 += a * a;
    s.y2 += b * b;
    s.xy += a * b;
  }
  return s;
}

bool equal(const Differences& a, const Differences& b) {
  return a.error2 == b.error2 && a.error1 == b.error1 && a.largest == b.largest && a.x2 == b.x2 &&
         a.y2 == b.y2 && a.xy == b.xy;
}

}  // namespace

TEST_CASE("differences of every length") {
  inputs::Random r(4);
  std::vector<float> x(203), y(203);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(r.between(-1000, 1000));
    y[i] = static_cast<float>(r.between(-1000, 1000));
  }
  for (std::size_t n = 0; n <= 200; ++n) {
    const std::size_t from = n % 3;
    Differences once, twice, rest;
    kernel::add(x.data() + from, y.data() + from, n, once);
    CHECK(equal(once, exactly(x.data() + from, y.data() + from, n)));
    kernel::add(x.data() + from, y.data() + from, n / 3, twice);
    kernel::add(x.data() + from + n / 3, y.data() + from + n / 3, n - n / 3, rest);
    kernel::merge(rest, twice);
    CHECK(equal(once, twice));
  }
}

TEST_CASE("a NaN anywhere makes the largest difference NaN") {
  for (const std::size_t n : {1u, 7u, 8u, 40u, 41u})
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<float> x(n, 1.0f), y(n, 2.0f);
      y[at] = std::numeric_limits<float>::quiet_NaN();
      Differences s, all;
      kernel::add(x.data(), y.data(), n, s);
      CHECK(std::isnan(s.largest));
      kernel::add(x.data(), x.data(), n, all);
      kernel::merge(s, all);
      CHECK(std::isnan(all.largest));
    }
}
