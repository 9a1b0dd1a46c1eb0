// SPDX-License-Identifier: MIT
#pragma once
// One run-time type for all fake quantization layers, so that a network does not depend on them.

#include <tq/train/fake_quantize.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// A step of stochastic gradient descent with momentum.
inline void descend(std::span<float> values, std::span<const float> gradients,
                    std::vector<float>& velocity, float rate) {
  constexpr float momentum = 0.9f;
  velocity.resize(values.size(), 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    velocity[i] = momentum * velocity[i] + gradients[i];
    values[i] -= rate * velocity[i];
  }
}

/// tq::FakeQuantize of any type; see there.
class Quantizer {
 public:
  Quantizer() = default;
  Quantizer(const Quantizer&) = delete;
  Quantizer& operator=(const Quantizer&) = delete;
  virtual ~Quantizer() = default;

  /// In training: what was learned or observed follows.
  virtual void forward(tq::ConstTensorView x, tq::TensorView<float> y) = 0;
  /// By the parameters there are.
  virtual void forward(tq::ConstTensorView x, tq::TensorView<float> y) const = 0;
  virtual void backward(tq::ConstTensorView x, tq::ConstTensorView gy,
                        tq::TensorView<float> gx) = 0;
  /// A step of what is learned, for a learning rate of the weights.
  virtual void update(float rate) = 0;

  virtual std::string type() const = 0;
  virtual std::string gradient() const = 0;
  /// The scales after training so far.
  virtual std::span<const float> scales() const = 0;
};

/// How parameters follow their tensor: those of weights, unless learned, change with every step;
/// activations are observed over batches.
enum class Follows { step, batches };

template <class FakeQuantize, Follows What>
class QuantizerOf : public Quantizer {
  using Gradient = typename FakeQuantize::gradient_type;

 public:
  /// Learned parameters have a learning rate and a weight decay of their own.
  explicit QuantizerOf(float relative_rate, float decay = 0)
      : relative_rate_(relative_rate), decay_(decay) {}

  void forward(tq::ConstTensorView x, tq::TensorView<float> y) override {
    if constexpr (What == Follows::step) layer_.reset_observer();
    layer_.forward(x, y);
  }
  void forward(tq::ConstTensorView x, tq::TensorView<float> y) const override {
    layer_.forward(x, y);
  }
  void backward(tq::ConstTensorView x, tq::ConstTensorView gy, tq::TensorView<float> gx) override {
    layer_.backward(x, gy, gx);
  }
  void update(float rate) override {
    if constexpr (FakeQuantize::learns)
      layer_.update([&](std::span<float> values, std::span<const float> gradients) {
        std::vector<float> all(gradients.begin(), gradients.end());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += decay_ * values[i];
        descend(values, all, velocity_, rate * relative_rate_);
      });
  }
  std::string type() const override { return std::string(FakeQuantize::params_type::type::name); }
  std::string gradient() const override { return std::string(Gradient::name); }
  std::span<const float> scales() const override { return layer_.params().scales(); }

 private:
  FakeQuantize layer_;
  float relative_rate_, decay_;
  std::vector<float> velocity_;
};
