// SPDX-License-Identifier: MIT
#pragma once
// The trained network as a file that tq reads back.

#include "network.hpp"

#include <tq/containers/safetensors_writer.hpp>
#include <tq/json/json_text.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/store/save.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The shape of its weights in files: a convolution is a matrix here, [outputs, channels, 3, 3]
/// there.
inline std::vector<std::size_t> stored_shape(const Layer& layer) {
  const auto rows = static_cast<std::size_t>(layer.weight.rows());
  const auto columns = static_cast<std::size_t>(layer.weight.cols());
  if (layer.side == 0) return {rows, columns};
  return {rows, columns / 9, 3, 3};
}

/// Writes the network with int4 weights to `file`, and to `dequantized` what tq dequantize has to
/// make of it: the weights as training saw them. The parameters of the activations are metadata.
/// Throws: tq::error.
inline void store(TrainedNetwork& net, const std::filesystem::path& file,
                  const std::filesystem::path& dequantized) {
  using Params = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
  std::vector<tq::SavedTensor> quantized;
  std::vector<tq::io::Tensor> plain;
  tq::io::Json inputs;
  for (TrainedLayer& layer : net.layers()) {
    const Layer trained = layer.quantized();
    const std::string weights = trained.name + ".weight", bias = trained.name + ".bias";
    const std::vector<std::size_t> shape = stored_shape(trained);
    const tq::ConstTensorView weight(layer.layer().weight.data(),
                                     tq::Shape(std::span<const std::size_t>(shape)));
    const std::span<const float> scales = layer.weights().scales();
    auto q = tq::quantize(
        weight, Params(tq::PerChannel<0>{}, tq::Scales<float>({scales.begin(), scales.end()})));
    plain.push_back(
        tq::io::from_values<float>(weights, shape, std::span(trained.weight.data(), q.size())));
    quantized.emplace_back(weights, std::move(q));
    const std::span<const float> shift(trained.shift.data(), shape[0]);
    plain.push_back(tq::io::from_values<float>(bias, {shift.size()}, shift));
    quantized.emplace_back(bias, shift);
    inputs[trained.name] = {{"type", layer.inputs().type()}, {"scale", layer.inputs().scales()[0]}};
  }
  const tq::io::Metadata metadata{{"activations", inputs.dump()}};
  tq::io::write_safetensors(dequantized, plain, metadata);
  tq::save(file, quantized, metadata);
}
