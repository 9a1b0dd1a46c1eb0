// SPDX-License-Identifier: MIT
#include "unit/kernels/fake_quantize_cases.hpp"

TEST_CASE("fake_quantize equals the contract bit for bit: nearest even", "[fake_quantize]") {
  fake_quantize_cases::run_rounding(tq::NearestEven{}, 10);
  fake_quantize_cases::run_pair(tq::HalfAway{}, 20);
}
