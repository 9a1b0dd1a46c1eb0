// SPDX-License-Identifier: MIT
#pragma once
// Quantizing a network: its weight matrices as stored codes, its activations as they pass through.

#include "network.hpp"

#include <tq/interop/eigen.hpp>
#include <tq/tq.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

/// "int4 per_group 32 symmetric": a scheme by the names that tq uses everywhere.
template <class Params>
std::string scheme_name() {
  std::string text =
      std::string(Params::type::name) + " " + std::string(Params::granularity_type::name);
  if constexpr (requires(typename Params::granularity_type g) { g.size(); })
    text += " " + std::to_string(typename Params::granularity_type{}.size());
  return text + " " + std::string(Params::symmetry_type::name);
}

/// A network whose weights went through a scheme, and what that took.
struct Compressed {
  Network net;
  double weight_bits = 0;           // codes, a float32 per scale, a code per zero point
  std::vector<double> weight_sqnr;  // in dB, layer by layer
};

/// Replaces every weight by what its stored code stands for. Biases and batch norms stay as they
/// are.
template <class Params>
Compressed quantize_weights(const Network& net) {
  Compressed out{net, 0, {}};
  for (Layer& layer : out.net.layers) {
    const Params params = tq::calibrate<Params>(layer.weight);
    const tq::QuantizedTensor<Params> q = tq::quantize(layer.weight, params);
    const Matrix back = tq::to_eigen(q);
    out.weight_sqnr.push_back(tq::compare(layer.weight, back).sqnr_db);
    const std::size_t per_block =
        32 + (Params::has_zero_point ? std::size_t{Params::type::bits} : 0);
    out.weight_bits +=
        static_cast<double>(8 * q.bytes().size() + per_block * params.scales().size());
    layer.weight = back;
  }
  return out;
}

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
