// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to int16 codes equals the contract bit for bit", "[quantize]") {
  using namespace tq;
  quantize_cases::run_pair<std::int16_t, 16>(NearestEven{}, 210);
  quantize_cases::run_all<std::int16_t, 16>(Numerics<HalfAway, Divide, NanToMin>{}, 220);
  quantize_cases::run_all<std::int16_t, 16>(Numerics<TowardZero, Reciprocal>{}, 240);
}
