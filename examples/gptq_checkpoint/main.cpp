// SPDX-License-Identifier: MIT
// A GPTQ checkpoint with act-order straight into layers: no weight becomes a float on the way.

#include "common/data_folder.hpp"

#include <tq/checkpoints/checkpoint_layers.hpp>
#include <tq/checkpoints/load_checkpoint.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/ops/compare.hpp>

#include <iostream>

int main() {
  const auto data = examples::data_folder();
  const tq::io::SafetensorsReader file(tq::io::ByteSource::open(data / "gptq/model.safetensors"));
  const tq::io::ReadTensor read = [&](const std::string& name) { return file.read(name); };
  const auto hints = tq::io::read_checkpoint_hints(data / "gptq");
  std::vector<float> x = tq::io::to_float32(tq::io::read_npy(data / "digits/images_u8.npy"));

  for (const auto& found : tq::io::find_quantized(file.tensors(), read, hints).weights) {
    const tq::CheckpointTensor w = tq::io::load_checkpoint(found, read);
    const tq::GroupedLinear<tq::FloatActivations> layer(tq::grouped_weights_of(w));
    const std::size_t outputs = found.shape[0], inputs = found.shape[1], rows = x.size() / inputs;
    const std::vector<float> ordered = tq::activations_of(w, {x.data(), {rows, inputs}});
    std::vector<float> y(rows * outputs), expected(y.size());
    layer.forward({ordered.data(), {rows, inputs}}, {y.data(), {rows, outputs}});

    const std::vector<float> values = decode(w);  // only to compare
    tq::FloatLinear({values.data(), {outputs, inputs}})
        .forward({x.data(), {rows, inputs}}, {expected.data(), {rows, outputs}});
    std::cout << found.name << ": " << found.scheme << ", " << layer.weights().bytes() << " bytes, "
              << tq::compare(expected, y).sqnr_db << " dB to the product of decoded floats\n";
    x = std::move(y);
  }
}
