// SPDX-License-Identifier: MIT
#pragma once
// The trained network as a file that tq reads back.

#include "network.hpp"

#include <tq/containers/safetensors_writer.hpp>
#include <tq/ops/quantize.hpp>

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

/// The shape of its weights in files: a convolution is a matrix here, [outputs, channels, 3, 3]
/// there.
inline std::vector<std::size_t> stored_shape(const Layer& layer) {
  const auto rows = static_cast<std::size_t>(layer.weight.rows());
  const auto columns = static_cast<std::size_t>(layer.weight.cols());
  if (layer.side == 0) return {rows, columns};
  return {rows, columns / 9, 3, 3};
}

/// The shortest text that is read back as this number.
inline std::string shortest(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// Writes the network with int4 weights to `file`, in the layout of tq quantize, and to
/// `dequantized` what tq dequantize has to make of it: the weights as training saw them. The
/// parameters of the activations are metadata. Throws: tq::error.
inline void store(TrainedNetwork& net, const std::filesystem::path& file,
                  const std::filesystem::path& dequantized) {
  using Params = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
  std::vector<tq::io::Tensor> quantized, plain;
  std::string described, inputs;  // JSON
  for (TrainedLayer& layer : net.layers()) {
    const Layer trained = layer.quantized();
    const std::string name = trained.name + ".weight";
    const std::vector<std::size_t> shape = stored_shape(trained);
    const tq::ConstTensorView weight(layer.layer().weight.data(),
                                     tq::Shape(std::span<const std::size_t>(shape)));
    const std::span<const float> scales = layer.weights().scales();
    const auto q = tq::quantize(
        weight, Params(tq::PerChannel<0>{}, tq::Scales<float>({scales.begin(), scales.end()})));
    std::vector<std::size_t> grid(shape.size(), 1);
    grid[0] = shape[0];
    quantized.push_back({name + ".codes",
                         tq::io::DType::u8,
                         {q.bytes().size()},
                         {q.bytes().begin(), q.bytes().end()}});
    quantized.push_back(tq::io::from_values<float>(name + ".scales", grid, scales));
    plain.push_back(
        tq::io::from_values<float>(name, shape, std::span(trained.weight.data(), q.size())));
    const std::span<const float> shift(trained.shift.data(), shape[0]);
    const auto bias = tq::io::from_values<float>(trained.name + ".bias", {shift.size()}, shift);
    quantized.push_back(bias);
    plain.push_back(bias);
    const auto member = [](std::string& members, const std::string& key, const std::string& value) {
      members += (members.empty() ? "\"" : ", \"") + key + "\": " + value;
    };
    std::string extents;
    for (const std::size_t extent : shape)
      extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    member(described, name,
           R"({"dtype": "F32", "shape": [)" + extents +
               R"(], "spec": {"type": "int4", "granularity": "per_channel", "axis": 0, )"
               R"("symmetry": "symmetric", "scale_type": "float32", "numerics": "onnx"}})");
    member(inputs, trained.name,
           R"({"type": ")" + layer.inputs().type() + R"(", "scale": )" +
               shortest(layer.inputs().scales()[0]) + "}");
  }
  tq::io::Metadata metadata{{"activations", "{" + inputs + "}"}};
  tq::io::write_safetensors(dequantized, plain, metadata);
  metadata["tq"] = R"({"version": 1, "tensors": {)" + described + "}}";
  tq::io::write_safetensors(file, quantized, metadata);
}
