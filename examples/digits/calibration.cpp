// SPDX-License-Identifier: MIT
#include "calibration.hpp"

#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/interop/eigen.hpp>
#include <tq/ops/fake_quantize.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace {

template <class T>
using Activations = tq::QuantParams<T, tq::PerTensor, tq::Asymmetric>;

template <class T, class Acc, class C>
std::vector<Activations<T>> calibrated(const std::vector<tq::Observer<Acc>>& seen,
                                       const C& calibrator) {
  std::vector<Activations<T>> params;
  for (const auto& observer : seen)
    params.push_back(tq::calibrate<Activations<T>>(observer, calibrator));
  return params;
}

// The outputs, and the signal to noise ratio of what enters the layers.
template <class T>
std::pair<Matrix, double> run(const Network& net, const Matrix& images,
                              const std::vector<Activations<T>>& params) {
  double signal = 0, noise = 0;
  Matrix logits = forward(net, images, [&](std::size_t i, Matrix& input) {
    const Matrix exact = input;
    tq::fake_quantize(input, params[i], input);
    signal += exact.cast<double>().squaredNorm();
    noise += (exact.cast<double>() - input.cast<double>()).squaredNorm();
  });
  return {std::move(logits), 10 * std::log10(signal / noise)};
}

}  // namespace

LayerInputs observe_inputs(const Network& net, const Matrix& images) {
  constexpr Index batch = 128;
  LayerInputs seen;
  seen.histograms.resize(net.layers.size());
  seen.moments.resize(net.layers.size());
  for (Index first = 0; first < images.rows(); first += batch) {
    const Matrix x = images.middleRows(first, std::min(batch, images.rows() - first));
    forward(net, x, [&](std::size_t i, const Matrix& input) {
      seen.histograms[i].observe(tq::view(input));
      seen.moments[i].observe(tq::view(input));
    });
  }
  return seen;
}

std::vector<Calibrated> try_calibrators(const Network& net, const LayerInputs& seen,
                                        const Matrix& images) {
  std::vector<Calibrated> out;
  const auto add = [&](std::string name, const auto& observers, const auto& calibrator) {
    auto [logits8, sqnr8] = run<tq::int8>(net, images, calibrated<tq::int8>(observers, calibrator));
    auto [logits4, sqnr4] = run<tq::int4>(net, images, calibrated<tq::int4>(observers, calibrator));
    out.push_back({std::move(name), std::move(logits8), std::move(logits4), sqnr8, sqnr4});
  };
  add("min_max", seen.histograms, tq::MinMaxCalibrator{});
  add("percentile 99.9 %", seen.histograms, tq::PercentileCalibrator{});
  add("mean_std 3 sigma", seen.moments, tq::MeanStdCalibrator{});
  add("mse", seen.histograms, tq::MseCalibrator{});
  add("lp 2.4", seen.histograms, tq::LpCalibrator{});
  add("kl", seen.histograms, tq::KlDivergenceCalibrator{});
  add("entropy", seen.histograms, tq::EntropyCalibrator{});
  add("aciq_laplace", seen.histograms, tq::AciqCalibrator<tq::Laplace>{});
  add("aciq_gauss", seen.histograms, tq::AciqCalibrator<tq::Gauss>{});
  return out;
}
