// SPDX-License-Identifier: MIT
#include <tq/calibrate/detail/logarithm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/catch.hpp"

TEST_CASE("logarithms to twelve digits", "[calibrate]") {
  const tq::detail::Logarithm log;
  double worst = 0;
  for (double x = 1e-300; x < 1e300; x *= 1.00731)
    worst = std::max(worst, std::fabs(log(x) - std::log(x)) / (1 + std::fabs(std::log(x))));
  for (double x = 0.5; x < 2; x += 1e-4) worst = std::max(worst, std::fabs(log(x) - std::log(x)));
  CHECK(worst < 1e-12);
  CHECK(std::fabs(log(1.0)) < 1e-12);
  CHECK(std::fabs(log(std::numeric_limits<double>::min()) -
                  std::log(std::numeric_limits<double>::min())) < 1e-9);
}
