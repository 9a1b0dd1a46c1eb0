// SPDX-License-Identifier: MIT
#include "integers.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/linear/quantized_conv1d.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <memory>
#include <span>
#include <utility>

namespace {

using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using Activations = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

std::size_t extent(Index n) { return static_cast<std::size_t>(n); }

template <class In>
struct Conv {
  ConvShape shape;
  Index outputs;
  tq::QuantizedConv1d<In> layer;
};

template <class In>
Matrix rectified(const Conv<In>& conv, const Matrix& x) {
  Matrix y(conv.outputs, conv.shape.outputs(x.cols()));
  conv.layer.forward({x.data(), {1, extent(x.rows()), extent(x.cols())}},
                     {y.data(), {1, extent(y.rows()), extent(y.cols())}});
  return y;
}

template <class In>
struct Linear {
  tq::QuantizedLinear<In> layer;
};

template <class In>
Vector product(const Linear<In>& linear, const Vector& x) {
  Vector y(static_cast<Index>(linear.layer.weights().outputs()));
  linear.layer.forward({x.data(), {1, extent(x.size())}}, {y.data(), {1, extent(y.size())}});
  return y;
}

// `in`: of the inputs that the network's `watch` numbers.
template <class In>
Listener listener(std::string activations, float tolerance, const FloatDetector& d,
                  const std::vector<In>& in) {
  std::size_t bytes = 0;
  const auto codes = [&](const Matrix& w, const tq::Shape& shape) {
    auto q = tq::quantize_dynamic<Weights>(tq::ConstTensorView(w.data(), shape));
    bytes += q.bytes().size() + q.params().scales().size() * sizeof(float);
    return q;
  };
  const auto bias = [](const Vector& b) { return std::span(b.data(), extent(b.size())); };
  const auto conv = [&](std::size_t i) {
    const auto& [shape, w, b] = d.convolutions[i];
    const tq::Conv1dOptions options{.stride = extent(shape.stride),
                                    .pad_before = extent(shape.pad),
                                    .pad_after = extent(shape.pad)};
    return Conv<In>{shape, w.rows(),
                    tq::QuantizedConv1d(
                        codes(w, {extent(w.rows()), extent(shape.channels), extent(shape.length)}),
                        bias(b), options, in[i], tq::FloatOutput{tq::Clamp::relu()})};
  };
  const auto linear = [&](const FloatLinear& l, std::size_t i) {
    const tq::Shape shape{extent(l.weights.rows()), extent(l.weights.cols())};
    return Linear<In>{tq::QuantizedLinear(codes(l.weights, shape), bias(l.bias), in[i])};
  };
  const auto made = std::make_shared<const Detector<Conv<In>, Linear<In>>>(
      Detector<Conv<In>, Linear<In>>{d.spectrum,
                                     {conv(0), conv(1), conv(2), conv(3)},
                                     linear(d.input, 4),
                                     linear(d.hidden, 5),
                                     d.last});
  return {"int8", std::move(activations), bytes, tolerance,
          [made](const Matrix& chunks) { return speech_probabilities(*made, chunks); }};
}

// The inputs of the float detector's layers, with a range for each layer.
std::vector<tq::StaticActivation<Activations>> observed(const FloatDetector& detector,
                                                        const Matrix& chunks) {
  std::vector<tq::Observer<tq::MinMax>> seen(6);
  speech_probabilities(detector, chunks, [&](std::size_t i, const auto& x) {
    seen[i].observe(std::span(x.data(), extent(x.size())));
  });
  std::vector<tq::StaticActivation<Activations>> in;
  for (const auto& observer : seen) in.emplace_back(tq::calibrate<Activations>(observer));
  return in;
}

}  // namespace

std::vector<Listener> listeners(const FloatDetector& detector, const Matrix& calibration) {
  Index weights = detector.input.weights.size() + detector.hidden.weights.size();
  for (const FloatConv& conv : detector.convolutions) weights += conv.weights.size();
  using Asymmetric = tq::DynamicActivation<tq::uint8, tq::Asymmetric>;
  return {{"float32", "float32", extent(weights) * sizeof(float), 0.0f,
           [detector](const Matrix& chunks) { return speech_probabilities(detector, chunks); }},
          listener("int8 dynamic", 0.25f, detector, std::vector<tq::DynamicActivation<>>(6)),
          listener("uint8 dynamic", 0.1f, detector, std::vector<Asymmetric>(6)),
          listener("uint8 static", 0.5f, detector, observed(detector, calibration))};
}
