// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to int8 codes equals the contract bit for bit: directed and stochastic",
          "[quantize]") {
  quantize_cases::run_pair<std::int8_t, 8>(tq::TowardZero{}, 40);
  quantize_cases::run_pair<std::int8_t, 8>(tq::Floor{}, 50);
  quantize_cases::run_pair<std::int8_t, 8>(tq::Stochastic{0x0123456789abcdefu}, 60);
}
