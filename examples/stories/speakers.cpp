// SPDX-License-Identifier: MIT
#include "speakers.hpp"

#include "evaluate.hpp"

#include <tq/interop/eigen.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/quantized_embedding.hpp>
#include <tq/linear/quantized_linear.hpp>

#include <memory>
#include <utility>

namespace {

template <class Layer>
struct Weights {
  Layer layer;
};

template <class Layer>
Matrix multiply(const Matrix& x, const Weights<Layer>& weights) {
  Matrix y(x.rows(), static_cast<Index>(weights.layer.weights().outputs()));
  weights.layer.forward(tq::view(x), tq::view(y));
  return y;
}

// Rows to look up, and, of the same matrix, the layer to multiply by.
template <class Layer>
struct Embedding {
  tq::QuantizedEmbedding<8> rows;
  Weights<Layer> output;
};

template <class Layer>
Matrix rows_of(const Embedding<Layer>& embedding, std::span<const int> tokens) {
  Matrix rows(static_cast<Index>(tokens.size()), static_cast<Index>(embedding.rows.width()));
  embedding.rows.gather(tokens, tq::view(rows));
  return rows;
}
template <class Layer>
Matrix multiply(const Matrix& x, const Embedding<Layer>& embedding) {
  return multiply(x, embedding.output);
}

template <class M>
Speaker speaker(std::string weights, std::string activations, std::size_t bytes, double tolerance,
                std::shared_ptr<const M> model) {
  return {std::move(weights),
          std::move(activations),
          bytes,
          tolerance,
          [model](std::span<const int> tokens) { return logits_of(*model, tokens); },
          [model](int first, std::size_t count) { return tell(*model, first, count); }};
}

// `Params`: of the weights, which a `Layer` multiplies.
template <class Layer, class Params>
Speaker in_integers(std::string weights, double tolerance, const Model& model) {
  std::size_t bytes = 0;
  const auto packed = [&](const Matrix& w) {
    const auto q = tq::quantize_dynamic<Params>(tq::view(w));
    bytes += q.bytes().size() + q.params().scales().size() * sizeof(float);
    return Weights<Layer>{Layer(q)};
  };
  tq::QuantizedEmbedding<8> rows(tq::view(model.embedding));
  bytes += rows.bytes().size();
  Decoder<Weights<Layer>, Embedding<Layer>> out{
      model.config, {std::move(rows), packed(model.embedding)}, model.norm, {}};
  for (const auto& l : model.layers)
    out.layers.push_back({l.attention_norm, l.ffn_norm, packed(l.wq), packed(l.wk), packed(l.wv),
                          packed(l.wo), packed(l.w1), packed(l.w2), packed(l.w3)});
  return speaker(std::move(weights), "int8 dynamic", bytes, tolerance,
                 std::make_shared<const decltype(out)>(std::move(out)));
}

}  // namespace

std::vector<Speaker> speakers(const Model& model) {
  std::size_t bytes = 0;
  for_each_matrix(
      model, [&](const Matrix& w) { bytes += static_cast<std::size_t>(w.size()) * sizeof(float); });
  const std::shared_ptr<const Model> floats(std::shared_ptr<const Model>(), &model);

  using Int8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  using Int4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  return {speaker("float32", "float32", bytes, 0, floats),
          in_integers<tq::QuantizedLinear<>, Int8>("int8 per_channel", 0.01, model),
          in_integers<tq::GroupedLinear<tq::Int8PerRow>, Int4>("int4 per_group 32", 0.2, model)};
}
