// SPDX-License-Identifier: MIT
// What a consumer of tq writes first.
#include <tq/tq.hpp>

#include <cstdio>
#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;

int main() {
  const std::vector<float> weights{-1.0F, -0.5F, 0.0F, 0.25F, 1.0F};
  const W8 params = tq::calibrate<W8>(weights);
  const tq::QuantizedTensor<W8> q = tq::quantize(weights, params);
  const std::vector<float> back = tq::dequantize(q);
  const tq::ErrorMetrics e = tq::compare(weights, back);
  std::printf("mse %g\n", static_cast<double>(e.mse));
  return e.mse < 1e-4 ? 0 : 1;
}
