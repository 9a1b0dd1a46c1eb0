// SPDX-License-Identifier: MIT
#include "unit/kernels/quantize_cases.hpp"

TEST_CASE("quantize to 4 packed bits equals the contract bit for bit", "[quantize]") {
  using namespace tq;
  quantize_cases::run_pair<std::int8_t, 4>(NearestEven{}, 310);
  quantize_cases::run_all<std::uint8_t, 4>(Numerics<NearestEven, Divide, NanToMin>{}, 315);
  quantize_cases::run_all<std::uint8_t, 4>(Numerics<Floor>{}, 350);
  quantize_cases::run_all<std::int8_t, 4>(Numerics<Stochastic, Reciprocal>{Stochastic{5}}, 360);
}

TEST_CASE("quantize to 4 packed bits finds one value that needs care, wherever it is",
          "[quantize]") {
  using namespace tq;
  quantize_cases::run_one_rare<std::int8_t, 4>(Numerics<NearestEven>{}, {-8, 7});
  quantize_cases::run_one_rare<std::uint8_t, 4>(Numerics<NearestEven>{}, {0, 15});
}
