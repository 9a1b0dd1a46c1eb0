// SPDX-License-Identifier: MIT
#include "network.hpp"

#include <tq/interop/eigen.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace {

// Calls f(row, column, place) for every pixel of 3x3 neighbourhoods that lies in its image: `place`
// is that in x, the images as rows; row and column are those in the matrix of all neighbourhoods.
template <class F>
void for_each_neighbour(Index images, Index channels, Index side, F&& f) {
  const Index pixels = side * side;
  for (Index k = 0; k < channels * 9; ++k) {
    const Index plane = k / 9 * pixels, dy = k / 3 % 3 - 1, dx = k % 3 - 1;
    const Index top = std::max<Index>(-dy, 0), bottom = std::min(side, side - dy);
    const Index left = std::max<Index>(-dx, 0), right = std::min(side, side - dx);
    for (Index n = 0; n < images; ++n)
      for (Index y = top; y < bottom; ++y)
        for (Index x = left; x < right; ++x)
          f(k, n * pixels + y * side + x, n * channels * pixels + plane + (y + dy) * side + x + dx);
  }
}

std::span<float> values(Matrix& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }

}  // namespace

Matrix TrainedLayer::forward(const Matrix& x) {
  const Index side = layer_.side, pixels = side * side, images = x.rows();
  x_ = x;
  Matrix quantized(x.rows(), x.cols());
  inputs_->forward(tq::view(x_), tq::view(quantized));
  weight_.resizeLike(layer_.weight);
  weights_->forward(tq::view(layer_.weight), tq::view(weight_));

  if (side == 0) {
    columns_ = quantized.transpose();
  } else {
    columns_.setZero(weight_.cols(), images * pixels);
    for_each_neighbour(images, weight_.cols() / 9, side, [&](Index row, Index column, Index place) {
      columns_(row, column) = quantized.data()[place];
    });
  }
  y_.noalias() = weight_ * columns_;
  y_.colwise() += layer_.shift;
  if (layer_.relu) y_ = y_.cwiseMax(0.0f);
  if (side == 0) return y_.transpose();

  Matrix out(images, y_.rows() * pixels / 4);
  largest_.resize(static_cast<std::size_t>(out.size()));
  std::size_t i = 0;
  for (Index n = 0; n < images; ++n)
    for (Index c = 0; c < y_.rows(); ++c)
      for (Index row = 0; row < side; row += 2)
        for (Index column = 0; column < side; column += 2) {
          const Index first = c * y_.cols() + n * pixels + row * side + column;
          Index best = first;
          for (const Index at : {first + 1, first + side, first + side + 1})
            if (y_.data()[at] > y_.data()[best]) best = at;
          out.data()[i] = y_.data()[best];
          largest_[i++] = best;
        }
  return out;
}

Matrix TrainedLayer::backward(const Matrix& gy) {
  Matrix g;
  if (layer_.side == 0) {
    g = gy.transpose();
  } else {
    g.setZero(y_.rows(), y_.cols());
    for (std::size_t i = 0; i < largest_.size(); ++i) g.data()[largest_[i]] = gy.data()[i];
  }
  if (layer_.relu) g = (y_.array() > 0.0f).select(g, 0.0f);

  shift_gradient_ = g.rowwise().sum();
  weight_gradient_.noalias() = g * columns_.transpose();
  weights_->backward(tq::view(layer_.weight), tq::view(weight_gradient_),
                     tq::view(weight_gradient_));

  const Matrix columns = weight_.transpose() * g;
  Matrix gx;
  if (layer_.side == 0) {
    gx = columns.transpose();
  } else {
    gx.setZero(x_.rows(), x_.cols());
    for_each_neighbour(
        x_.rows(), weight_.cols() / 9, layer_.side,
        [&](Index row, Index column, Index place) { gx.data()[place] += columns(row, column); });
  }
  inputs_->backward(tq::view(x_), tq::view(gx), tq::view(gx));
  return gx;
}

void TrainedLayer::update(float rate) {
  descend(values(layer_.weight), values(weight_gradient_), weight_velocity_, rate);
  const auto size = static_cast<std::size_t>(layer_.shift.size());
  descend({layer_.shift.data(), size}, {shift_gradient_.data(), size}, shift_velocity_, rate);
  weights_->update(rate);
  inputs_->update(rate);
}

Layer TrainedLayer::quantized() {
  Layer out = layer_;
  weights_->forward(tq::view(layer_.weight), tq::view(out.weight));
  return out;
}

Matrix infer(const Network& net, const Matrix& images) { return forward(net, images); }

Matrix TrainedNetwork::infer(const Matrix& images) {
  Network net;
  for (TrainedLayer& layer : layers_) net.layers.push_back(layer.quantized());
  return ::forward(net, images, [&](std::size_t i, Matrix& x) {
    layers_[i].inputs().forward(tq::view(x), tq::view(x));
  });
}
