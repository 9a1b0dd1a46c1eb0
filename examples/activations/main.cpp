// SPDX-License-Identifier: MIT
// Activations: watch some batches, fix scale and zero point once, then quantize whatever comes.

#include <tq/tq.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

// Outputs like those of a layer with a leaky ReLU: 32 rows of 128 values.
std::vector<float> next_batch(std::mt19937& random) {
  std::normal_distribution<float> normal(0.4f, 1.0f);
  std::vector<float> batch(32 * 128);
  for (float& x : batch) {
    x = normal(random);
    x = std::max(x, 0.1f * x);
  }
  return batch;
}

int main() {
  std::mt19937 random(1);

  tq::Observer<tq::MinMax> observer;
  for (int batch = 0; batch < 20; ++batch) observer.observe(next_batch(random));
  const tq::Range range = observer.accumulators()[0].range();
  const A8 params = tq::calibrate<A8>(observer);
  std::cout << "seen in 20 batches: " << range.min << " to " << range.max << '\n'
            << "parameters: scale " << params.scales()[0] << ", zero point "
            << params.zero_points()[0] << '\n';

  // While the model runs: no allocation, the codes go into a buffer made once.
  std::vector<std::uint8_t> codes(32 * 128);
  const std::vector<float> x = next_batch(random);
  tq::quantize(x, params, codes);

  std::vector<float> back(codes.size());
  tq::dequantize(codes, params, back);
  const tq::ErrorMetrics e = tq::compare(x, back);
  std::cout << "a new batch: SQNR " << e.sqnr_db << " dB, largest error " << e.max_abs
            << " (half a step is " << params.scales()[0] / 2
            << ", values outside the range seen are clipped)\n";
}
