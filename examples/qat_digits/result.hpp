// SPDX-License-Identifier: MIT
#pragma once
// Result of training a network by a scheme.

#include <cstddef>
#include <string>
#include <vector>

struct Result {
  std::string network, weights, activations;    // types
  std::string weight_gradient, input_gradient;  // policies
  int float_correct = 0, total = 0;
  /// Correct answers after calibration alone, then after each epoch; one curve per seed.
  std::vector<std::vector<int>> correct;

  /// The mean over the seeds, in percent.
  double accuracy(std::size_t epoch) const {
    double sum = 0;
    for (const std::vector<int>& curve : correct) sum += curve[epoch];
    return 100 * sum / (static_cast<double>(correct.size()) * total);
  }
  std::size_t epochs() const { return correct.front().size() - 1; }
  /// The gradient policies of weights + activations.
  std::string gradients() const {
    return weight_gradient == input_gradient ? weight_gradient
                                             : weight_gradient + " + " + input_gradient;
  }
  /// The group of results that are compared: of one network, with equal numbers of bits.
  std::string group() const {
    return weights + " weights, " + activations.back() + "-bit activations";
  }
};
