// SPDX-License-Identifier: MIT
#include "quantized.hpp"

#include "common/encoding.hpp"

#include <span>

Compressed quantize_weights(const Network& net, const tq::QuantSpec& spec) {
  Compressed out{net, 0, {}};
  for (Layer& layer : out.net.layers) {
    const tq::EncodedTensor q = examples::encoded(tq::view(layer.weight), spec);
    Matrix back(layer.weight.rows(), layer.weight.cols());
    examples::decode(q, std::span(back.data(), static_cast<std::size_t>(back.size())));
    out.weight_sqnr.push_back(tq::compare(layer.weight, back).sqnr_db);
    const auto bytes = examples::layout_of(spec, q.shape).bytes();
    out.weight_bits += 8 * static_cast<double>(bytes);
    layer.weight = back;
  }
  return out;
}
