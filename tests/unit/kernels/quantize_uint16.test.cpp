// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to uint16 codes equals the contract bit for bit", "[quantize]") {
  quantize_cases::run_pair<std::uint16_t, 16>(tq::NearestEven{}, 210);
  quantize_cases::run_pair<std::uint16_t, 16>(tq::HalfAway{}, 220);
  quantize_cases::run_pair<std::uint16_t, 16>(tq::HalfUp{}, 230);
  quantize_cases::run_pair<std::uint16_t, 16>(tq::TowardZero{}, 240);
  quantize_cases::run_pair<std::uint16_t, 16>(tq::Floor{}, 250);
  quantize_cases::run_pair<std::uint16_t, 16>(tq::Stochastic{0xffffffff00000001u}, 260);
}
