// SPDX-License-Identifier: MIT
#pragma once
// Silero VAD, which says of every 512 samples of 16 kHz sound how probably they are speech: a
// spectrum, four convolutions, an LSTM cell. In floats on Eigen matrices, or of layers of any kind.

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;
using Eigen::Index;

/// Along time, with zeros before and after.
struct ConvShape {
  Index channels = 1, length = 1, stride = 1, pad = 0;

  Index outputs(Index inputs) const { return (inputs + 2 * pad - length) / stride + 1; }
};

struct FloatConv {
  ConvShape shape;
  Matrix weights;  // [outputs, channels * length]
  Vector bias;
};

/// weights * x + bias.
struct FloatLinear {
  Matrix weights;  // [outputs, inputs]
  Vector bias;
};

/// `Conv` needs a function rectified(conv, x), and `Linear` a function product(linear, x).
template <class Conv, class Linear>
struct Detector {
  FloatConv spectrum;  // [2 * bins, window]
  std::array<Conv, 4> convolutions;
  Linear input, hidden;  // to the gates of the cell
  FloatLinear last;
};

using FloatDetector = Detector<FloatConv, FloatLinear>;

/// The state that a chunk passes to the next chunk.
struct State {
  Vector samples = Vector::Zero(64);  // the last ones
  Vector hidden = Vector::Zero(128), cell = Vector::Zero(128);
};

/// weights * x + bias under the kernel, of x: [channels, length].
inline Matrix convolution(const FloatConv& conv, const Matrix& x) {
  const ConvShape& s = conv.shape;
  Matrix under = Matrix::Zero(conv.weights.cols(), s.outputs(x.cols()));  // the kernel
  for (Index t = 0; t < under.cols(); ++t)
    for (Index k = 0; k < s.length; ++k)
      if (const Index from = t * s.stride + k - s.pad; from >= 0 && from < x.cols())
        for (Index c = 0; c < s.channels; ++c) under(c * s.length + k, t) = x(c, from);
  return (conv.weights * under).colwise() + conv.bias;
}

/// relu(convolution).
inline Matrix rectified(const FloatConv& conv, const Matrix& x) {
  return convolution(conv, x).cwiseMax(0.0f);
}

inline Vector product(const FloatLinear& linear, const Vector& x) {
  return linear.weights * x + linear.bias;
}

/// Magnitudes of frequencies, [bins, windows]; behind the samples come the last ones mirrored.
inline Matrix spectrum(const FloatConv& conv, const Vector& samples) {
  const Index n = samples.size(), mirrored = conv.shape.length / 4;
  Matrix x(1, n + mirrored);
  x << samples.transpose(), samples.segment(n - 1 - mirrored, mirrored).reverse().transpose();
  const Matrix y = convolution(conv, x);
  const Index bins = y.rows() / 2;
  return (y.topRows(bins).array().square() + y.bottomRows(bins).array().square()).sqrt();
}

inline Eigen::ArrayXf sigmoid(const Eigen::ArrayXf& x) { return 1 / (1 + (-x).exp()); }

/// The probability that `chunk`, 512 samples from -1 to 1, is speech. Calls watch(i, x) for the
/// input of every convolution, 0 to 3, and of `input` and `hidden`, 4 and 5.
template <class Conv, class Linear, class Watch>
float speech_probability(const Detector<Conv, Linear>& d, State& state, const Vector& chunk,
                         Watch&& watch) {
  Vector samples(state.samples.size() + chunk.size());
  samples << state.samples, chunk;
  state.samples = chunk.tail(state.samples.size());

  Matrix x = spectrum(d.spectrum, samples);
  std::size_t at = 0;
  for (const Conv& conv : d.convolutions) {
    watch(at++, x);
    x = rectified(conv, x);
  }
  const Vector features = x.reshaped();
  watch(at++, features);
  watch(at++, state.hidden);
  const Eigen::ArrayXf gates = product(d.input, features) + product(d.hidden, state.hidden);
  const Index n = gates.size() / 4;
  const auto gate = [&](Index i) { return gates.segment(i * n, n); };
  state.cell = sigmoid(gate(1)) * state.cell.array() + sigmoid(gate(0)) * gate(2).tanh();
  state.hidden = sigmoid(gate(3)) * state.cell.array().tanh();
  return sigmoid(product(d.last, state.hidden.cwiseMax(0.0f)))[0];
}

/// The probability of speech in every row of `chunks`, one after the other.
template <class Conv, class Linear, class Watch>
Vector speech_probabilities(const Detector<Conv, Linear>& d, const Matrix& chunks, Watch&& watch) {
  State state;
  Vector out(chunks.rows());
  for (Index i = 0; i < chunks.rows(); ++i)
    out[i] = speech_probability(d, state, chunks.row(i), watch);
  return out;
}
template <class Conv, class Linear>
Vector speech_probabilities(const Detector<Conv, Linear>& d, const Matrix& chunks) {
  return speech_probabilities(d, chunks, [](std::size_t, const auto&) {});
}
