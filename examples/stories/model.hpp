// SPDX-License-Identifier: MIT
#pragma once
// A Llama-style decoder on Eigen matrices: one row per token, keys and values kept in a cache.

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::RowVectorXf;
using Eigen::Index;

struct Config {
  Index dim = 0;         // of what runs from layer to layer
  Index hidden_dim = 0;  // inside a feed-forward block
  Index layers = 0;
  Index heads = 0;     // of queries
  Index kv_heads = 0;  // of keys and values; each serves heads / kv_heads heads of queries
  Index vocabulary = 0;
  Index max_tokens = 0;

  Index head_size() const { return dim / heads; }
  Index kv_dim() const { return head_size() * kv_heads; }
};

/// `Weights` needs a function multiply(x, weights): x * transposed weights of [outputs, inputs].
template <class Weights>
struct DecoderLayer {
  Vector attention_norm, ffn_norm;
  Weights wq, wk, wv, wo;  // queries, keys, values, output
  Weights w1, w2, w3;      // gate, down, up
};

/// `Embedding` needs functions rows_of(embedding, tokens), and multiply for the output layer.
template <class Weights, class Embedding = Weights>
struct Decoder {
  Config config;
  Embedding embedding;  // [vocabulary, dim]
  Vector norm;
  std::vector<DecoderLayer<Weights>> layers;
};

using Model = Decoder<Matrix>;

inline Matrix multiply(const Matrix& x, const Matrix& weights) { return x * weights.transpose(); }

inline Matrix rows_of(const Matrix& embedding, std::span<const int> tokens) {
  Matrix rows(static_cast<Index>(tokens.size()), embedding.cols());
  for (Index t = 0; t < rows.rows(); ++t)
    rows.row(t) = embedding.row(tokens[static_cast<std::size_t>(t)]);
  return rows;
}

/// Calls f(matrix) for everything that a scheme quantizes: all but the norms.
template <class M, class F>
void for_each_matrix(M& model, F&& f) {
  f(model.embedding);
  for (auto& l : model.layers)
    for (auto* w : {&l.wq, &l.wk, &l.wv, &l.wo, &l.w1, &l.w2, &l.w3}) f(*w);
}

/// Keys and values of the tokens so far, one row per token, for every layer.
struct Cache {
  Cache(const Config& c, Index capacity)
      : keys(static_cast<std::size_t>(c.layers), Matrix(capacity, c.kv_dim())), values(keys) {}

  std::vector<Matrix> keys, values;
  Index used = 0;
};

/// Rows of x / sqrt(mean(x^2) + 1e-5) * weight.
inline Matrix rms_norm(const Matrix& x, const Vector& weight) {
  const Eigen::ArrayXf mean = x.array().square().rowwise().mean();
  Matrix y = x.array().colwise() * (mean + 1e-5f).rsqrt();
  y.array().rowwise() *= weight.array();
  return y;
}

/// Rotary position embedding: turns the pair (2i, 2i + 1) of every head of row t by the angle
/// (first_position + t) * 10000^(-2i / head_size).
inline void rotate(Matrix& x, Index first_position, Index head_size) {
  for (Index i = 0; i < head_size; i += 2) {
    const double frequency =
        std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(head_size));
    for (Index t = 0; t < x.rows(); ++t) {
      const double angle = static_cast<double>(first_position + t) * frequency;
      const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
      for (Index j = i; j < x.cols(); j += head_size) {
        const float a = x(t, j), b = x(t, j + 1);
        x(t, j) = a * c - b * s;
        x(t, j + 1) = a * s + b * c;
      }
    }
  }
}

/// softmax(q k^T / sqrt(head_size)) v of every head. The rows of q are the last of the tokens that
/// k and v hold; each sees the tokens up to its own.
template <class Rows>
Matrix attention(const Matrix& q, const Rows& k, const Rows& v, const Config& c) {
  const Index size = c.head_size(), first = k.rows() - q.rows();
  Matrix out(q.rows(), q.cols()), scores;
  for (Index head = 0; head < c.heads; ++head) {
    const Index kv = head / (c.heads / c.kv_heads) * size;
    scores.noalias() = q.middleCols(head * size, size) * k.middleCols(kv, size).transpose();
    scores /= std::sqrt(static_cast<float>(size));
    for (Index t = 0; t < q.rows(); ++t) {
      const Index seen = first + t + 1;
      auto row = scores.row(t).head(seen).array();
      row = (row - row.maxCoeff()).exp();
      row /= row.sum();
      scores.row(t).tail(k.rows() - seen).setZero();
    }
    out.middleCols(head * size, size).noalias() = scores * v.middleCols(kv, size);
  }
  return out;
}

/// w2(silu(w1 x) * w3 x), silu(g) = g / (1 + exp(-g)).
template <class Weights>
Matrix feed_forward(const Matrix& x, const DecoderLayer<Weights>& l) {
  Matrix gate = multiply(x, l.w1);
  const Matrix up = multiply(x, l.w3);
  gate.array() = gate.array() / (1 + (-gate.array()).exp()) * up.array();
  return multiply(gate, l.w2);
}

/// The logits after each of `tokens`, which follow those in the cache; adds them to the cache.
/// Precondition: the tokens are in the vocabulary. Throws: std::length_error when the cache is
/// full.
template <class Weights, class Embedding>
Matrix forward(const Decoder<Weights, Embedding>& model, std::span<const int> tokens,
               Cache& cache) {
  const Config& c = model.config;
  const auto count = static_cast<Index>(tokens.size());
  const Index first = std::exchange(cache.used, cache.used + count);
  Matrix x = rows_of(model.embedding, tokens);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const DecoderLayer<Weights>& l = model.layers[i];
    Matrix &keys = cache.keys[i], &values = cache.values[i];
    if (cache.used > keys.rows())
      throw std::length_error("expected at most " + std::to_string(keys.rows()) + " tokens, got " +
                              std::to_string(cache.used));
    const Matrix h = rms_norm(x, l.attention_norm);
    Matrix q = multiply(h, l.wq), k = multiply(h, l.wk);
    rotate(q, first, c.head_size());
    rotate(k, first, c.head_size());
    keys.middleRows(first, count) = k;
    values.middleRows(first, count) = multiply(h, l.wv);
    x += multiply(attention(q, keys.topRows(cache.used), values.topRows(cache.used), c), l.wo);
    x += feed_forward(rms_norm(x, l.ffn_norm), l);
  }
  return multiply(rms_norm(x, model.norm), model.embedding);
}
