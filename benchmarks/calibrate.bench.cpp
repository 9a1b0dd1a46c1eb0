// SPDX-License-Identifier: MIT
// From 2048 bins to a range, none of them empty.

#include "support.hpp"

#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr int bins = 2048;

// A Laplace distribution, with one value in every bin at least; magnitudes for an absolute
// histogram.
const std::vector<float>& values(bool absolute) {
  static const auto make = [](bool magnitudes) {
    std::vector<float> x;
    for (int i = 0; i < bins; ++i) {
      const float at = magnitudes ? (static_cast<float>(i) + 0.5f) / bins
                                  : (static_cast<float>(i) + 0.5f) / (bins / 2) - 1;
      const int count = 1 + static_cast<int>(5000 * std::exp(-10 * std::fabs(at)));
      x.insert(x.end(), static_cast<std::size_t>(count), at);
    }
    return x;
  };
  static const std::vector<float> both = make(false), positive = make(true);
  return absolute ? positive : both;
}

template <class Params, class Acc, class C>
void range(benchmark::State& state, C calibrator) {
  Acc seen;
  seen.add(values(requires { requires Acc::is_absolute; }));
  for (auto _ : state)
    benchmark::DoNotOptimize(calibrator.template range<Params, tq::numerics::onnx>(seen));
}

template <class Type, class Symmetry, class Scale = float>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry, Scale>;

template <class P, class Acc, class C>
void add(const std::string& calibrator, C c) {
  std::string name = "calibrate/" + calibrator + "/" + std::string(P::type::name);
  if constexpr (!std::same_as<typename P::scale_type, float>)
    name += "_" + std::string(P::scale_type::name);
  if constexpr (requires { requires Acc::is_absolute; }) name += "_of_magnitudes";
  name += "/" + std::string(P::symmetry_type::name) + "/" + std::to_string(bins);
  benchmark::RegisterBenchmark(name.c_str(), range<P, Acc, C>, c)->Unit(benchmark::kMicrosecond);
}

template <class Acc, class C>
void add_symmetric(const std::string& calibrator, C c) {
  using namespace tq;
  add<Params<int8, Symmetric>, Acc>(calibrator, c);
  add<Params<uint8, Symmetric>, Acc>(calibrator, c);
  add<Params<int4, Symmetric>, Acc>(calibrator, c);
  add<Params<int4, Symmetric, float8_e4m3fn>, Acc>(calibrator, c);
  add<Params<int2, Symmetric>, Acc>(calibrator, c);
  add<Params<ternary, Symmetric>, Acc>(calibrator, c);
  add<Params<float8_e4m3fn, Symmetric>, Acc>(calibrator, c);
  add<Params<float8_e5m2, Symmetric>, Acc>(calibrator, c);
  add<Params<float4_e2m1fn, Symmetric, float8_e8m0fnu>, Acc>(calibrator, c);
  add<Params<nf4, Symmetric>, Acc>(calibrator, c);
  add<Params<dynamic8, Symmetric>, Acc>(calibrator, c);
}
template <class Acc, class C>
void add_all(const std::string& calibrator, C c) {
  using namespace tq;
  add_symmetric<Acc>(calibrator, c);
  add<Params<int8, Asymmetric>, Acc>(calibrator, c);
  add<Params<uint4, Asymmetric>, Acc>(calibrator, c);
  add<Params<int2, Asymmetric>, Acc>(calibrator, c);
}

[[maybe_unused]] const bool registered = [] {
  using namespace tq;
  add_all<Histogram>("mse", MseCalibrator{});
  add_all<Histogram>("lp", LpCalibrator{});
  add_all<Histogram>("kl_divergence", KlDivergenceCalibrator{});
  add_all<Histogram>("entropy", EntropyCalibrator{});
  add_all<Histogram>("aciq_laplace", AciqCalibrator<Laplace>{});
  add_all<Histogram>("aciq_gauss", AciqCalibrator<Gauss>{});
  add_symmetric<AbsHistogram>("mse", MseCalibrator{});
  add_symmetric<AbsHistogram>("lp", LpCalibrator{});
  add_symmetric<AbsHistogram>("kl_divergence", KlDivergenceCalibrator{});
  add_symmetric<AbsHistogram>("entropy", EntropyCalibrator{});
  add<Params<int8, Asymmetric>, Histogram>("percentile", PercentileCalibrator{});
  add<Params<int8, Asymmetric>, MeanStd>("mean_std", MeanStdCalibrator{});
  return true;
}();

}  // namespace
