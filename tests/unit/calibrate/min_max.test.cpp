// SPDX-License-Identifier: MIT
#include <tq/calibrate/min_max.hpp>
#include <tq/observe/min_max.hpp>

#include <vector>

#include "support/catch.hpp"

TEST_CASE("the min-max calibrator takes the observed range as it is", "[calibrate]") {
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  tq::MinMax seen;
  seen.add(std::vector<float>{-3, 8, 2});
  CHECK(tq::MinMaxCalibrator{}.range<Params, tq::numerics::onnx>(seen) == tq::Range{-3, 8});
}
