// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to int32 codes equals the contract bit for bit", "[quantize]") {
  quantize_cases::run_pair<std::int32_t, 32>(tq::NearestEven{}, 410);
  quantize_cases::run_pair<std::int32_t, 32>(tq::HalfAway{}, 420);
  quantize_cases::run_pair<std::int32_t, 32>(tq::HalfUp{}, 430);
  quantize_cases::run_pair<std::int32_t, 32>(tq::TowardZero{}, 440);
  quantize_cases::run_pair<std::int32_t, 32>(tq::Floor{}, 450);
  quantize_cases::run_pair<std::int32_t, 32>(tq::Stochastic{0xffffffff00000001u}, 460);
}
