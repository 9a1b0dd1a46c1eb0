// SPDX-License-Identifier: MIT
// The shortest complete program: weights to int8 with a scale per row, back again, and what was
// lost.

#include <tq/tq.hpp>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;

int main() {
  std::vector<float> data(64 * 256);  // stands for your weights
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = 0.1f * std::sin(static_cast<float>(i * i % 9973));
  const tq::ConstTensorView weights(data.data(), {64, 256});  // any pointer and shape

  const W8 params = tq::calibrate<W8>(weights);
  const tq::QuantizedTensor<W8> q = tq::quantize(weights, params);
  const std::vector<float> back = tq::dequantize(q);
  const tq::ErrorMetrics e = tq::compare(weights, back);

  std::cout << "64 x 256 weights, " << W8::type::name << " with a scale per row\n"
            << "bytes     " << data.size() * sizeof(float) << " -> "
            << q.bytes().size() + params.scales().size_bytes() << '\n'
            << "SQNR      " << e.sqnr_db << " dB (signal over quantization noise)\n"
            << "max error " << e.max_abs << '\n'
            << "cosine    " << e.cosine << '\n';
}
