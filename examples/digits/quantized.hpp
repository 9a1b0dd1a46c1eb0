// SPDX-License-Identifier: MIT
#pragma once
// Quantizing a network: its weight matrices as stored codes, its activations as they pass through.

#include "calibration.hpp"
#include "network.hpp"

#include <tq/interop/eigen.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/tq.hpp>

#include <cstddef>
#include <vector>

/// A network whose weights went through a scheme, and what that took.
struct Compressed {
  Network net;
  double weight_bits = 0;           // codes, scales and zero points as they are stored
  std::vector<double> weight_sqnr;  // in dB, layer by layer
};

/// Replaces every weight by what its stored code stands for. Biases and batch norms stay as they
/// are. Throws: tq::error.
Compressed quantize_weights(const Network& net, const tq::QuantSpec& spec);

/// 8-bit activations: one scale and zero point for everything that enters a layer.
using Activations = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;

/// The parameters of every layer's input that cover all that was seen of it.
inline std::vector<Activations> calibrate_activations(const LayerInputs& seen) {
  std::vector<Activations> params;
  for (const auto& observer : seen.histograms)
    params.push_back(tq::calibrate<Activations>(observer));
  return params;
}

/// The outputs with every layer's input quantized and dequantized; without `params`, in float.
inline Matrix forward_quantized(const Network& net, const Matrix& images,
                                const std::vector<Activations>& params) {
  return forward(net, images, [&](std::size_t i, Matrix& input) {
    if (!params.empty()) tq::fake_quantize(input, params[i], input);
  });
}
