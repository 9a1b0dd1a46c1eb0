// SPDX-License-Identifier: MIT
#pragma once
// Evaluation of a model: its loss on a text, and the story it tells.

#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

/// The logits after every token of a text, in one pass.
template <class M>
Matrix logits_of(const M& model, std::span<const int> tokens) {
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

/// The token of the largest logit of a row.
inline int likeliest(const Matrix& logits, Index row) {
  Index token = 0;
  logits.row(row).maxCoeff(&token);
  return static_cast<int>(token);
}

/// `first`, and after it `count` tokens, each the likeliest.
template <class M>
std::vector<int> tell(const M& model, int first, std::size_t count) {
  Cache cache(model.config, static_cast<Index>(count));
  std::vector<int> tokens{first};
  while (tokens.size() <= count)
    tokens.push_back(likeliest(forward(model, std::span(tokens).last(1), cache), 0));
  return tokens;
}

/// How many tokens after the first are the same in both.
inline std::size_t same_tokens(const std::vector<int>& a, const std::vector<int>& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(end - a.begin()) - 1;
}
