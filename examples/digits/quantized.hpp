// SPDX-License-Identifier: MIT
#pragma once
// Quantizing a network: its weight matrices as stored codes, its activations as they pass through.

#include "network.hpp"

#include <tq/interop/eigen.hpp>
#include <tq/model/quant_spec.hpp>
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

/// Runs `images` through the network in batches and gives the parameters of every layer's input.
inline std::vector<Activations> calibrate_activations(const Network& net, const Matrix& images) {
  constexpr Index batch = 128;
  std::vector<tq::Observer<tq::MinMax>> observers(net.layers.size());
  for (Index first = 0; first < images.rows(); first += batch) {
    const Matrix x = images.middleRows(first, std::min(batch, images.rows() - first));
    forward(net, x,
            [&](std::size_t i, const Matrix& input) { observers[i].observe(tq::view(input)); });
  }
  std::vector<Activations> params;
  for (const auto& observer : observers) params.push_back(tq::calibrate<Activations>(observer));
  return params;
}

/// The outputs with every layer's input quantized and dequantized; without `params`, in float.
inline Matrix forward_quantized(const Network& net, const Matrix& images,
                                const std::vector<Activations>& params) {
  return forward(net, images, [&](std::size_t i, Matrix& input) {
    if (!params.empty()) tq::fake_quantize(input, params[i], input);
  });
}
