// SPDX-License-Identifier: MIT
#include "unit/kernels/fake_quantize_cases.hpp"

TEST_CASE("fake_quantize equals the contract bit for bit: floor and stochastic",
          "[fake_quantize]") {
  fake_quantize_cases::run_pair(tq::Floor{}, 50);
  fake_quantize_cases::run_pair(tq::Stochastic{0x0123456789abcdefu}, 60);
}
