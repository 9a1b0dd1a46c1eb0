// SPDX-License-Identifier: MIT
#include <tq/tq.hpp>

float other_round_trip(float x);

float other_round_trip(float x) {
  const std::vector<float> v{-x, x};
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  return tq::dequantize(tq::quantize(v, tq::calibrate<Params>(v)))[1];
}
