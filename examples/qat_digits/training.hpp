// SPDX-License-Identifier: MIT
#pragma once
// The training loop: softmax cross-entropy, shuffled batches, a learning rate that falls to zero.

#include "../digits/files.hpp"
#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

struct Training {
  int epochs = 20;
  Index batch = 32;
  float rate = 0.005f;
  unsigned seed = 1;
};

/// The gradient of the mean of -log softmax(logits)[label].
inline Matrix cross_entropy_gradient(const Matrix& logits, const std::vector<int>& labels) {
  Matrix g = (logits.colwise() - logits.rowwise().maxCoeff()).array().exp();
  g.array().colwise() /= g.rowwise().sum().array().eval();
  for (Index i = 0; i < g.rows(); ++i) g(i, labels[static_cast<std::size_t>(i)]) -= 1;
  return g / static_cast<float>(g.rows());
}

/// The chosen images, in their order.
inline Images pick(const Images& from, std::span<const Index> rows) {
  Images out{Matrix(static_cast<Index>(rows.size()), from.pixels.cols()), {}};
  for (const Index row : rows) {
    out.pixels.row(static_cast<Index>(out.labels.size())) = from.pixels.row(row);
    out.labels.push_back(from.labels[static_cast<std::size_t>(row)]);
  }
  return out;
}

/// Calibrates the quantizers on all training images, then trains. Returns how many of `test` are
/// right: first after calibration alone, then after each epoch. Test images choose nothing.
inline std::vector<int> train(TrainedNetwork& net, const Images& images, const Images& test,
                              const Training& how) {
  const auto test_correct = [&] { return count_correct(net.infer(test.pixels), test.labels); };
  net.forward(images.pixels);
  std::vector<int> correct{test_correct()};

  std::vector<Index> order(images.labels.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::mt19937 random(how.seed);
  const auto batch = static_cast<std::size_t>(how.batch);
  const double steps =
      how.epochs * std::ceil(static_cast<double>(order.size()) / static_cast<double>(batch));
  double step = 0;
  for (int epoch = 0; epoch < how.epochs; ++epoch) {
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[random() % left]);
    for (std::size_t first = 0; first < order.size(); first += batch) {
      const Images part =
          pick(images, std::span(order).subspan(first, std::min(batch, order.size() - first)));
      net.backward(cross_entropy_gradient(net.forward(part.pixels), part.labels));
      net.update(how.rate *
                 static_cast<float>((1 + std::cos(std::numbers::pi * step++ / steps)) / 2));
    }
    correct.push_back(test_correct());
  }
  return correct;
}
