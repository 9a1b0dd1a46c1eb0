// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

// Quotients of 32 bits have an arithmetic of their own.
TEST_CASE("quantize to int32 codes equals the contract bit for bit", "[quantize]") {
  using namespace tq;
  quantize_cases::run_pair<std::int32_t, 32>(NearestEven{}, 410);
  quantize_cases::run_all<std::int32_t, 32>(Numerics<HalfAway>{}, 420);
  quantize_cases::run_all<std::int32_t, 32>(Numerics<HalfUp, Reciprocal, NanToMin>{}, 430);
  quantize_cases::run_all<std::int32_t, 32>(Numerics<TowardZero, Divide, NanToMin>{}, 440);
  quantize_cases::run_all<std::int32_t, 32>(Numerics<Floor, Reciprocal>{}, 450);
  quantize_cases::run_all<std::int32_t, 32>(Numerics<Stochastic>{Stochastic{0xffffffff00000001u}},
                                            460);
}
