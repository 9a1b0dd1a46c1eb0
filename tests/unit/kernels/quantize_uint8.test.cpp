// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to uint8 codes equals the contract bit for bit", "[quantize]") {
  using namespace tq;
  quantize_cases::run_pair<std::uint8_t, 8>(NearestEven{}, 110);
  quantize_cases::run_all<std::uint8_t, 8>(Numerics<HalfAway, Reciprocal>{}, 120);
  quantize_cases::run_all<std::uint8_t, 8>(Numerics<HalfUp, Divide, NanToMin>{}, 130);
  quantize_cases::run_all<std::uint8_t, 8>(Numerics<Stochastic, Divide, NanToMin>{Stochastic{77}},
                                           160);
}
