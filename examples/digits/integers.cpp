// SPDX-License-Identifier: MIT
#include "integers.hpp"

#include <tq/linear/conv2d.hpp>
#include <tq/linear/matmul.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace {

std::vector<std::int8_t> quantized(const Matrix& x, const Activations& params) {
  std::vector<std::int8_t> codes(static_cast<std::size_t>(x.size()));
  tq::quantize(tq::ConstTensorView(x.data(), {codes.size()}), params, codes);
  return codes;
}

// The largest of each 2x2 square of planes of `side`.
template <class T>
std::vector<T> pooled(const std::vector<T>& planes, std::size_t side) {
  std::vector<T> out;
  out.reserve(planes.size() / 4);
  for (std::size_t plane = 0; plane < planes.size(); plane += side * side)
    for (std::size_t y = 0; y < side; y += 2)
      for (std::size_t x = 0; x < side; x += 2) {
        const T* p = &planes[plane + y * side + x];
        out.push_back(std::max({p[0], p[1], p[side], p[side + 1]}));
      }
  return out;
}

}  // namespace

double IntegerNetwork::IntegerLayer::step(std::size_t output) const {
  return static_cast<double>(input.scales()[0]) * static_cast<double>(scales[output]);
}

IntegerNetwork::IntegerNetwork(const Network& net, const std::vector<Activations>& inputs) {
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& from = net.layers[i];
    Matrix w = from.weight;
    if (from.scale.size() != 0) w.array().colwise() *= from.scale.array();
    const auto outputs = static_cast<std::size_t>(w.rows()),
               width = static_cast<std::size_t>(w.cols());
    const auto q = tq::quantize_dynamic<Weights, tq::Unpacked>(
        tq::ConstTensorView(w.data(), {outputs, width}));

    IntegerLayer layer{from.side, w.rows(), from.relu, inputs[i], {}, {}, {}, {}, {}, {}};
    layer.codes.assign(q.codes().begin(), q.codes().end());
    std::vector<double> factors;
    for (std::size_t n = 0; n < outputs; ++n) {
      layer.scales.push_back(q.params().scales()[n]);
      layer.bias.push_back(static_cast<std::int32_t>(
          std::nearbyint(static_cast<double>(from.shift[static_cast<Index>(n)]) / layer.step(n))));
      if (i + 1 < net.layers.size())
        factors.push_back(layer.step(n) / static_cast<double>(inputs[i + 1].scales()[0]));
    }
    if (layer.side == 0) {
      layer.weights.emplace(q);
    } else {
      layer.filters.emplace(
          tq::TensorView<const std::int8_t>(layer.codes.data(), {outputs, width / 9, 3, 3}));
    }
    if (!factors.empty()) {
      const std::int32_t zero = inputs[i + 1].zero_points()[0];
      layer.stage.emplace(factors, zero, layer.relu ? zero : -128, 127, layer.bias);
    }
    layers_.push_back(std::move(layer));
  }
}

void IntegerNetwork::multiply(const IntegerLayer& layer, const std::vector<std::int8_t>& x,
                              std::size_t images, std::vector<std::int8_t>& out) const {
  using In = tq::TensorView<const std::int8_t>;
  using Out = tq::TensorView<std::int8_t>;
  const auto outputs = static_cast<std::size_t>(layer.outputs);
  const std::int32_t zero = layer.input.zero_points()[0];
  if (layer.side == 0) {
    out.resize(images * outputs);
    return tq::matmul_requantized(In(x.data(), {images, layer.inputs()}), std::array{zero},
                                  *layer.weights, *layer.stage, Out(out.data(), {images, outputs}));
  }
  const auto side = static_cast<std::size_t>(layer.side);
  std::vector<std::int8_t> planes(images * outputs * side * side);
  tq::conv2d_requantized(In(x.data(), {images, layer.inputs() / 9, side, side}), zero,
                         *layer.filters, {.pads_before = {1, 1}, .pads_after = {1, 1}},
                         std::span(&*layer.stage, 1),
                         Out(planes.data(), {images, outputs, side, side}));
  out = pooled(planes, side);
}

Run IntegerNetwork::forward(const Matrix& images) const {
  Run run;
  const auto count = static_cast<std::size_t>(images.rows());
  run.codes.push_back(quantized(images, layers_[0].input));
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    std::vector<std::int8_t> out;
    multiply(layers_[i], run.codes[i], count, out);
    run.codes.push_back(std::move(out));
  }
  const IntegerLayer& last = layers_.back();
  const auto outputs = static_cast<std::size_t>(last.outputs);
  std::vector<std::int32_t> sums(count * outputs);
  tq::matmul_integer(
      tq::TensorView<const std::int8_t>(run.codes.back().data(), {count, last.inputs()}),
      std::array{last.input.zero_points()[0]}, *last.weights,
      tq::TensorView<std::int32_t>(sums.data(), {count, outputs}));
  run.logits.resize(images.rows(), last.outputs);
  for (std::size_t k = 0; k < sums.size(); ++k)
    run.logits.data()[k] =
        static_cast<float>((sums[k] + last.bias[k % outputs]) * last.step(k % outputs));
  return run;
}

Run IntegerNetwork::fake_quantized(const Matrix& images) const {
  Run run;
  Matrix x = images;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const IntegerLayer& layer = layers_[i];
    run.codes.push_back(quantized(x, layer.input));
    tq::fake_quantize(x, layer.input, x);
    Layer floats{"",         Matrix(layer.outputs, static_cast<Index>(layer.inputs())),
                 {},         Eigen::VectorXf(layer.outputs),
                 layer.side, layer.relu};
    for (Index n = 0; n < layer.outputs; ++n) {
      const auto output = static_cast<std::size_t>(n);
      for (Index k = 0; k < floats.weight.cols(); ++k)
        floats.weight(n, k) =
            static_cast<float>(layer.codes[output * layer.inputs() + static_cast<std::size_t>(k)]) *
            layer.scales[output];
      floats.shift[n] = static_cast<float>(layer.bias[output] * layer.step(output));
    }
    x = apply(floats, x);
  }
  run.logits = x;
  return run;
}
