// SPDX-License-Identifier: MIT
#pragma once
// A trained model, as far as the choice of its precision needs to know it.

#include <tq/core/shape.hpp>

#include <Eigen/Core>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

/// A matrix of weights that may be quantized.
struct Weights {
  std::string name;
  tq::Shape shape;
  std::vector<float> values;
};

/// The results of a model on some data.
struct Score {
  double divergence = 0;  // from the float model: it is minimized, since it adds up
  double metric = 0;      // for readers
};

enum class Data { to_select, to_judge };  // which have nothing in common

struct Task {
  std::string name, metric;  // the names of the model and of the metric
  int digits = 3;            // of the metric, behind the point
  std::vector<Weights> weights;
  /// The score with other values in place of `weights`.
  std::function<Score(const std::vector<Weights>&, Data)> score;
};

/// Throw: tq::error, std::runtime_error.
Task stories_task(const std::filesystem::path& data);
Task digits_task(const std::filesystem::path& data);
Task anomaly_task(const std::filesystem::path& data);

/// The weights of an Eigen matrix, by rows.
template <class M>
Weights weights_of(const std::string& name, const M& w) {
  return {name,
          {static_cast<std::size_t>(w.rows()), static_cast<std::size_t>(w.cols())},
          {w.data(), w.data() + w.size()}};
}

/// The mean over rows of the Kullback-Leibler divergence between the distributions that two rows of
/// logits stand for, in nats.
template <class M>
double mean_divergence(const M& expected, const M& actual) {
  const auto log_softmax = [](const auto& logits) -> Eigen::ArrayXd {
    const Eigen::ArrayXd x = logits.template cast<double>().array();
    const double top = x.maxCoeff();
    return x - (top + std::log((x - top).exp().sum()));
  };
  double sum = 0;
  for (Eigen::Index t = 0; t < expected.rows(); ++t) {
    const Eigen::ArrayXd p = log_softmax(expected.row(t).transpose()),
                         q = log_softmax(actual.row(t).transpose());
    sum += (p.exp() * (p - q)).sum();
  }
  return sum / static_cast<double>(expected.rows());
}
