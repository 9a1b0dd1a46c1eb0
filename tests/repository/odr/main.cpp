// SPDX-License-Identifier: MIT
#include <tq/tq.hpp>

float other_round_trip(float x);

int main() {
  const std::vector<float> x{-1.0F, 0.25F, 1.0F};
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  const std::vector<float> back = tq::dequantize(tq::quantize(x, tq::calibrate<Params>(x)));
  return back[2] == other_round_trip(x[2]) ? 0 : 1;
}
