// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to 2 packed bits equals the contract bit for bit", "[quantize]") {
  using namespace tq;
  quantize_cases::run_all<std::int8_t, 2>(Numerics<NearestEven>{}, 310);
  quantize_cases::run_all<std::uint8_t, 2>(Numerics<HalfUp, Reciprocal, NanToMin>{}, 330);
  quantize_cases::run_all<std::int8_t, 2>(Numerics<Stochastic>{Stochastic{5}}, 360);
}
