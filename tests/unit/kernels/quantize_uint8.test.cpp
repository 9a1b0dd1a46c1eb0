// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to uint8 codes equals the contract bit for bit", "[quantize]") {
  quantize_cases::run_rounding<std::uint8_t, 8>(tq::NearestEven{}, 110);
  quantize_cases::run_pair<std::uint8_t, 8>(tq::HalfAway{}, 120);
  quantize_cases::run_all<std::uint8_t, 8>(tq::Numerics<tq::HalfUp, tq::Divide, tq::NanToMin>{}, 130);
  quantize_cases::run_all<std::uint8_t, 8>(tq::Numerics<tq::TowardZero, tq::Reciprocal>{}, 140);
  quantize_cases::run_all<std::uint8_t, 8>(tq::Numerics<tq::Floor>{}, 150);
  quantize_cases::run_pair<std::uint8_t, 8>(tq::Stochastic{77}, 160);
}
