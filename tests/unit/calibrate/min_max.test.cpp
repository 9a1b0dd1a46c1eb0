// SPDX-License-Identifier: MIT
#include <tq/calibrate/min_max.hpp>
#include <tq/observe/min_max.hpp>

#include <vector>

#include "support/catch.hpp"

TEST_CASE("the min-max calibrator takes the observed range as it is", "[calibrate]") {
  tq::MinMax seen;
  seen.add(std::vector<float>{-3, 8, 2});
  CHECK(tq::MinMaxCalibrator{}.range<tq::int8, tq::Symmetric>(seen) == tq::Range{-3, 8});
}
