// SPDX-License-Identifier: MIT
#include "sequence.hpp"

#include "stories/evaluate.hpp"

#include <tq/interop/eigen.hpp>
#include <tq/ptq/corrected_target.hpp>
#include <tq/ptq/cross_hessian.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/hessian.hpp>

#include <cmath>
#include <random>
#include <span>

namespace {

// The elements and scales of the schemes of the table: kernels for all take long to compile.
using Types = tq::TypeList<tq::int2, tq::int3, tq::int4, tq::float4_e2m1fn, tq::nf4>;
using Scales = tq::TypeList<float, tq::float8_e8m0fnu, tq::TwoLevel<tq::float8_e4m3fn>>;

// A token by the probabilities of a row of logits.
int drawn(const Matrix& logits, std::mt19937& random) {
  const Eigen::ArrayXd row = logits.row(0).cast<double>().array();
  const Eigen::ArrayXd chances = (row - row.maxCoeff()).exp();
  double left = static_cast<double>(random()) * 0x1p-32 * chances.sum();
  Index token = 0;
  while (token + 1 < chances.size() && (left -= chances[token]) >= 0) ++token;
  return static_cast<int>(token);
}

// The values between layers, a row for each token of all texts.
struct Stream {
  Matrix x;
  const Config& config;
  Index length;  // of a text

  // The attentions of all texts, before the output matrix.
  [[nodiscard]] Matrix attended(const Matrix& h, const DecoderLayer<Matrix>& l) const {
    Matrix out(h.rows(), config.dim);
    for (Index first = 0; first < h.rows(); first += length) {
      const Matrix text = h.middleRows(first, length);
      Matrix q = multiply(text, l.wq), k = multiply(text, l.wk);
      rotate(q, 0, config.head_size());
      rotate(k, 0, config.head_size());
      out.middleRows(first, length) = attention(q, k, multiply(text, l.wv), config);
    }
    return out;
  }
};

Matrix gated(const Matrix& h, const DecoderLayer<Matrix>& l) {
  Matrix gate = multiply(h, l.w1);
  const Matrix up = multiply(h, l.w3);
  gate.array() = gate.array() / (1 + (-gate.array()).exp()) * up.array();
  return gate;
}

class Quantizing {
 public:
  Quantizing(const tq::QuantSpec& spec, const Method& method) : spec_(spec), method_(method) {}

  // Replaces `w` by the values of its codes. `x` are its inputs behind quantized layers, `floats`
  // those of the float model.
  void operator()(Matrix& w, const Matrix& x, const Matrix& floats) const {
    tq::Observer<tq::AbsMax, tq::PerChannel<-1>> range;
    range.observe(tq::view(x));
    tq::Hessian h(range);
    h.add(tq::view(x));
    Matrix target = w;
    if (method_.is_corrected) {
      tq::CrossHessian cross(h.inputs());
      cross.add(tq::view(x), tq::view(floats));
      const std::vector<float> corrected =
          tq::corrected_target(tq::view(w), cross, h, tq::factor(h));
      target = Eigen::Map<const Matrix>(corrected.data(), w.rows(), w.cols());
    }
    const tq::EncodedWeights made =
        tq::encode_weights<Types, Scales>(tq::view(target), spec_, h, method_.algorithm);
    tq::decode<Types, Scales>(made.tensor, std::span(w.data(), static_cast<std::size_t>(w.size())));
  }

 private:
  const tq::QuantSpec& spec_;
  const Method& method_;
};

}  // namespace

Texts written_by(const Model& model, int first, unsigned seed, std::size_t texts,
                 std::size_t length) {
  std::mt19937 random(seed);
  Texts out;
  while (out.size() < texts) {
    Cache cache(model.config, static_cast<Index>(length));
    std::vector<int>& tokens = out.emplace_back(1, first);
    while (tokens.size() < length)
      tokens.push_back(drawn(forward(model, std::span(tokens).last(1), cache), random));
  }
  return out;
}

Model quantized(const Model& model, const tq::QuantSpec& spec, const Method& method,
                const Texts& texts) {
  Model out = model;
  const auto length = static_cast<Index>(texts.front().size());
  Matrix rows(length * static_cast<Index>(texts.size()), model.config.dim);
  for (std::size_t i = 0; i < texts.size(); ++i)
    rows.middleRows(static_cast<Index>(i) * length, length) = rows_of(model.embedding, texts[i]);
  Stream now{rows, model.config, length}, before = now;
  const Quantizing quantize(spec, method);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    DecoderLayer<Matrix>& q = out.layers[i];
    const DecoderLayer<Matrix>& f = model.layers[i];
    const Matrix h = rms_norm(now.x, q.attention_norm), hf = rms_norm(before.x, f.attention_norm);
    for (Matrix* w : {&q.wq, &q.wk, &q.wv}) quantize(*w, h, hf);
    const Matrix a = now.attended(h, q), af = before.attended(hf, f);
    quantize(q.wo, a, af);
    now.x += multiply(a, q.wo);
    before.x += multiply(af, f.wo);
    const Matrix g = rms_norm(now.x, q.ffn_norm), gf = rms_norm(before.x, f.ffn_norm);
    for (Matrix* w : {&q.w1, &q.w3}) quantize(*w, g, gf);
    const Matrix d = gated(g, q), df = gated(gf, f);
    quantize(q.w2, d, df);
    now.x += multiply(d, q.w2);
    before.x += multiply(df, f.w2);
  }
  return out;
}
