// SPDX-License-Identifier: MIT
#include "unit/kernels/fake_quantize_cases.hpp"

TEST_CASE("fake_quantize equals the contract bit for bit: half up and toward zero",
          "[fake_quantize]") {
  fake_quantize_cases::run_pair(tq::HalfUp{}, 30);
  fake_quantize_cases::run_pair(tq::TowardZero{}, 40);
}
