// SPDX-License-Identifier: MIT
#pragma once
// Networks in training: the layers of the digits example, seen through quantizers, with gradients.

#include "../digits/network.hpp"
#include "schemes.hpp"

#include <memory>
#include <utility>
#include <vector>

/// A layer whose weights and inputs are quantized. The float weights stay, and are what is trained;
/// the bias is not quantized.
class TrainedLayer {
 public:
  TrainedLayer(Layer layer, const Scheme& scheme)
      : layer_(std::move(layer)), weights_(scheme.weights()), inputs_(scheme.activations()) {}

  /// The outputs for a batch; keeps what backward needs.
  Matrix forward(const Matrix& x);
  /// The gradient of the inputs, given that of the outputs; keeps those of weights and bias.
  Matrix backward(const Matrix& gy);
  /// A step against the gradients.
  void update(float rate);

  const Layer& layer() const { return layer_; }
  const Quantizer& weights() const { return *weights_; }
  const Quantizer& inputs() const { return *inputs_; }
  /// The layer with the weights that quantization leaves of the float ones.
  Layer quantized();

 private:
  Layer layer_;
  std::unique_ptr<Quantizer> weights_, inputs_;
  Matrix x_, weight_, columns_, y_;  // of the last batch: one column per image or pixel
  std::vector<Index> largest_;       // where in y each output of the pooling comes from
  Matrix weight_gradient_;
  Eigen::VectorXf shift_gradient_;
  std::vector<float> weight_velocity_, shift_velocity_;
};

/// The outputs of the float network.
Matrix infer(const Network& net, const Matrix& images);

/// Layers that learn together.
class TrainedNetwork {
 public:
  TrainedNetwork(const Network& net, const Scheme& scheme) {
    for (const Layer& layer : net.layers) layers_.emplace_back(layer, scheme);
  }

  Matrix forward(Matrix x) {
    for (TrainedLayer& layer : layers_) x = layer.forward(x);
    return x;
  }
  void backward(Matrix gy) {
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) gy = layer->backward(gy);
  }
  void update(float rate) {
    for (TrainedLayer& layer : layers_) layer.update(rate);
  }
  /// Inference as deployed: the outputs with quantized weights and activations.
  Matrix infer(const Matrix& images);

  std::vector<TrainedLayer>& layers() { return layers_; }

 private:
  std::vector<TrainedLayer> layers_;
};
