// SPDX-License-Identifier: MIT
#pragma once
// What a model says: the loss on a text, and the story it tells.

#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

/// The logits after every token of a text, in one pass.
inline Matrix logits_of(const Model& model, std::span<const int> tokens) {
  Cache cache(model.config, static_cast<Index>(tokens.size()));
  return forward(model, tokens, cache);
}

/// -log(probability) of every token of a text but the first, in nats.
inline Vector losses_of(const Matrix& logits, std::span<const int> tokens) {
  Vector losses(static_cast<Index>(tokens.size()) - 1);
  for (Index t = 0; t < losses.size(); ++t) {
    const Eigen::ArrayXd row = logits.row(t).cast<double>().array();
    const double top = row.maxCoeff(), log_sum = top + std::log((row - top).exp().sum());
    losses[t] = static_cast<float>(log_sum - row[tokens[static_cast<std::size_t>(t) + 1]]);
  }
  return losses;
}

/// `first`, and after it `count` tokens, each the likeliest.
inline std::vector<int> tell(const Model& model, int first, std::size_t count) {
  Cache cache(model.config, static_cast<Index>(count));
  std::vector<int> tokens{first};
  while (tokens.size() <= count) {
    const Matrix logits = forward(model, std::span(tokens).last(1), cache);
    const float* begin = logits.data();
    tokens.push_back(static_cast<int>(std::max_element(begin, begin + logits.size()) - begin));
  }
  return tokens;
}
