// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to int8 codes equals the contract bit for bit: to nearest", "[quantize]") {
  quantize_cases::run_rounding<std::int8_t, 8>(tq::NearestEven{}, 10);
  quantize_cases::run_pair<std::int8_t, 8>(tq::HalfAway{}, 20);
  quantize_cases::run_pair<std::int8_t, 8>(tq::HalfUp{}, 30);
}

TEST_CASE("quantize to int8 codes finds one value that needs care, wherever it is", "[quantize]") {
  quantize_cases::run_one_rare<std::int8_t, 8>(tq::Numerics<tq::NearestEven>{}, {-128, 127});
}
