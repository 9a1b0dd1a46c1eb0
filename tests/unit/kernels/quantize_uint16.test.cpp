// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to uint16 codes equals the contract bit for bit", "[quantize]") {
  using namespace tq;
  quantize_cases::run_all<std::uint16_t, 16>(Numerics<NearestEven>{}, 210);
  quantize_cases::run_all<std::uint16_t, 16>(Numerics<Floor, Reciprocal, NanToMin>{}, 250);
  quantize_cases::run_all<std::uint16_t, 16>(Numerics<Stochastic>{Stochastic{0xffffffff00000001u}},
                                             260);
}
