// SPDX-License-Identifier: MIT
#pragma once
// Small feed-forward networks on Eigen matrices: one row per image, one weight matrix per layer.

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::Index;

/// y = scale * (W x) + shift, then ReLU. With `side` this is a 3x3 convolution with padding 1 over
/// square images of that side, followed by 2x2 max pooling; W then is [outputs, channels * 3 * 3].
struct Layer {
  std::string name;
  Matrix weight;
  Eigen::VectorXf scale;  // of batch norm; empty without
  Eigen::VectorXf shift;  // the bias, or what batch norm adds
  Index side = 0;
  bool relu = true;
};

struct Network {
  std::string name;
  std::vector<Layer> layers;
};

/// The 3x3 neighbourhoods of an image of [channels, side, side]: one column per pixel.
inline void gather_patches(const float* image, Index side, Matrix& patches) {
  for (Index k = 0; k < patches.rows(); ++k) {
    const float* plane = image + k / 9 * side * side;
    const Index dy = k / 3 % 3 - 1, dx = k % 3 - 1;
    for (Index y = 0; y < side; ++y)
      for (Index x = 0; x < side; ++x) {
        const bool inside = y + dy >= 0 && y + dy < side && x + dx >= 0 && x + dx < side;
        patches(k, y * side + x) = inside ? plane[(y + dy) * side + x + dx] : 0.0f;
      }
  }
}

/// The largest of each 2x2 square of [channels, side, side].
inline void max_pool(const Matrix& planes, Index side, float* out) {
  for (Index c = 0; c < planes.rows(); ++c)
    for (Index y = 0; y < side; y += 2)
      for (Index x = 0; x < side; x += 2) {
        const float* p = &planes(c, y * side + x);
        *out++ = std::max({p[0], p[1], p[side], p[side + 1]});
      }
}

/// Sums are of type `Sum`.
template <class Sum = float>
Matrix apply(const Layer& layer, const Matrix& x) {
  using Sums = Eigen::Matrix<Sum, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Sums w = layer.weight.cast<Sum>();
  // One column per image or pixel, so that both kinds of layer end alike.
  const auto finish = [&](Sums& y) -> Matrix {
    if (layer.scale.size() != 0) y.array().colwise() *= layer.scale.cast<Sum>().array();
    y.colwise() += layer.shift.cast<Sum>();
    if (layer.relu) y = y.cwiseMax(Sum{0});
    return y.template cast<float>();
  };
  if (layer.side == 0) {
    Sums y = w * x.cast<Sum>().transpose();
    return finish(y).transpose();
  }
  const Index pixels = layer.side * layer.side;
  Matrix out(x.rows(), w.rows() * pixels / 4), patches(w.cols(), pixels);
  Sums y;
  for (Index n = 0; n < x.rows(); ++n) {
    gather_patches(x.row(n).data(), layer.side, patches);
    y.noalias() = w * patches.cast<Sum>();
    max_pool(finish(y), layer.side, out.row(n).data());
  }
  return out;
}

/// The outputs for a batch `x`; at_input(i, x) may look at, or change, what enters layer i.
template <class Sum = float, class AtInput>
Matrix forward(const Network& net, Matrix x, AtInput&& at_input) {
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    at_input(i, x);
    x = apply<Sum>(net.layers[i], x);
  }
  return x;
}
inline Matrix forward(const Network& net, Matrix x) {
  return forward(net, std::move(x), [](std::size_t, const Matrix&) {});
}

/// Rows whose largest logit is that of their label.
inline int count_correct(const Matrix& logits, const std::vector<int>& labels) {
  int correct = 0;
  for (Index i = 0; i < logits.rows(); ++i) {
    Index best = 0;
    logits.row(i).maxCoeff(&best);
    correct += best == labels[static_cast<std::size_t>(i)];
  }
  return correct;
}
