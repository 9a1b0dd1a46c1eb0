// SPDX-License-Identifier: MIT
#include "integers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
const tq::Conv2dOptions same{.geometry = {.pads_before = {1, 1}, .pads_after = {1, 1}}};

// The layer with its batch norm in its weights.
Layer folded(Layer layer) {
  if (layer.scale.size() != 0) layer.weight.array().colwise() *= layer.scale.array();
  layer.scale.resize(0);
  return layer;
}

// The weights of a folded layer, which become what their codes stand for.
tq::QuantizedTensor<Weights> quantized(Layer& layer) {
  const auto outputs = static_cast<std::size_t>(layer.weight.rows()),
             width = static_cast<std::size_t>(layer.weight.cols());
  const tq::Shape shape =
      layer.side == 0 ? tq::Shape{outputs, width} : tq::Shape{outputs, width / 9, 3, 3};
  auto q = tq::quantize_dynamic<Weights>(tq::ConstTensorView(layer.weight.data(), shape));
  tq::dequantize(q, tq::TensorView<float>(layer.weight.data(), shape));
  return q;
}

std::span<const float> bias_of(const Layer& layer) {
  return {layer.shift.data(), static_cast<std::size_t>(layer.shift.size())};
}
// The biases of a layer as integers, in steps of its sums; they become what these stand for.
std::vector<std::int32_t> quantized_bias(Layer& layer, float x_scale, const Weights& params) {
  const auto bias = tq::quantize_bias(bias_of(layer), x_scale, params.scales());
  for (std::size_t n = 0; n < bias.size(); ++n)
    layer.shift[static_cast<Index>(n)] = static_cast<float>(
        bias[n] * (static_cast<double>(x_scale) * static_cast<double>(params.scales()[n])));
  return bias;
}
tq::Clamp clamp_of(const Layer& layer) { return layer.relu ? tq::Clamp::relu() : tq::Clamp{}; }

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

// The outputs of a layer for `images` rows of x, pooled after a convolution.
template <class T, class In, class Out>
auto outputs(const tq::QuantizedLinear<In, Out>& layer, const std::vector<T>& x,
             std::size_t images) {
  using Y = typename Out::value_type;
  const std::size_t inputs = layer.weights().inputs(), count = layer.weights().outputs();
  std::vector<Y> y(images * count);
  layer.forward(tq::TensorView<const T>(x.data(), {images, inputs}),
                tq::TensorView<Y>(y.data(), {images, count}));
  return y;
}
template <class T, class In, class Out>
auto outputs(const tq::QuantizedConv2d<In, Out>& layer, const std::vector<T>& x,
             std::size_t images) {
  using Y = typename Out::value_type;
  const std::size_t channels = layer.filters().channels_of_group(),
                    side = static_cast<std::size_t>(
                        std::lround(std::sqrt(static_cast<double>(x.size() / images / channels)))),
                    count = layer.filters().outputs();
  std::vector<Y> y(images * count * side * side);
  layer.forward(tq::TensorView<const T>(x.data(), {images, channels, side, side}),
                tq::TensorView<Y>(y.data(), {images, count, side, side}));
  return pooled(y, side);
}

std::vector<float> values(const Matrix& x) { return {x.data(), x.data() + x.size()}; }
Matrix matrix(const std::vector<float>& x, Index rows) {
  return Eigen::Map<const Matrix>(x.data(), rows, static_cast<Index>(x.size()) / rows);
}

}  // namespace

StaticIntegers::StaticIntegers(const Network& net, const std::vector<Activations>& inputs)
    : inputs_(inputs) {
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    Layer layer = folded(net.layers[i]);
    const auto w = quantized(layer);
    const In in(inputs[i]);
    const auto bias = quantized_bias(layer, in.scale(), w.params());
    if (i + 1 == net.layers.size()) last_.emplace_back(w, bias, in);
    else if (const Out out(inputs[i + 1], clamp_of(layer)); layer.side == 0)
      hidden_.emplace_back(tq::QuantizedLinear(w, bias, in, out));
    else hidden_.emplace_back(tq::QuantizedConv2d(w, bias, same, in, out));
    fake_.layers.push_back(layer);
  }
}

Run StaticIntegers::forward(const Matrix& images) const {
  Run run;
  const auto count = static_cast<std::size_t>(images.rows());
  std::vector<std::int8_t> x(static_cast<std::size_t>(images.size()));
  tq::quantize(values(images), inputs_[0], x);
  for (const IntegerLayer& layer : hidden_) {
    run.codes.push_back(x);
    x = std::visit([&](const auto& l) { return outputs(l, x, count); }, layer);
  }
  run.codes.push_back(x);
  run.logits = matrix(outputs(last_[0], x, count), images.rows());
  return run;
}

Run StaticIntegers::fake_quantized(const Matrix& images) const {
  Run run;
  run.logits = ::forward<double>(fake_, images, [&](std::size_t i, Matrix& x) {
    run.codes.emplace_back(static_cast<std::size_t>(x.size()));
    tq::quantize(values(x), inputs_[i], run.codes.back());
    tq::fake_quantize(x, inputs_[i], x);
  });
  return run;
}

DynamicIntegers::DynamicIntegers(const Network& net) {
  for (const Layer& from : net.layers) {
    Layer layer = folded(from);
    const auto w = quantized(layer);
    const tq::FloatOutput out{clamp_of(layer)};
    if (layer.side == 0) layers_.emplace_back(tq::QuantizedLinear<>(w, bias_of(layer), {}, out));
    else layers_.emplace_back(tq::QuantizedConv2d<>(w, bias_of(layer), same, {}, out));
    fake_.layers.push_back(layer);
  }
}

Run DynamicIntegers::forward(const Matrix& images) const {
  Run run;
  const auto count = static_cast<std::size_t>(images.rows());
  std::vector<float> x = values(images);
  for (const IntegerLayer& layer : layers_)
    x = std::visit(
        [&](const auto& l) {
          const auto entering = l.activation().codes({x.data(), {count, x.size() / count}});
          const auto codes = entering.codes.span();
          run.codes.emplace_back(codes.begin(), codes.end());
          return outputs(l, x, count);
        },
        layer);
  run.logits = matrix(x, images.rows());
  return run;
}

Run DynamicIntegers::fake_quantized(const Matrix& images) const {
  Run run;
  run.logits = ::forward<double>(fake_, images, [&](std::size_t, Matrix& x) {
    const auto q = tq::quantize_dynamic<Weights, tq::Unpacked>(tq::view(x));
    run.codes.emplace_back(q.codes().begin(), q.codes().end());
    tq::dequantize(q, tq::view(x));
  });
  return run;
}
