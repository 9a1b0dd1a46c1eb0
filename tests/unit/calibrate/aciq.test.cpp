// SPDX-License-Identifier: MIT
#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using ByLaplace = tq::AciqCalibrator<tq::Laplace>;
using ByGauss = tq::AciqCalibrator<tq::Gauss>;
using S8 = Params<tq::int8, tq::Symmetric>;
using S4 = Params<tq::int4, tq::Symmetric>;
using A4 = Params<tq::int4, tq::Asymmetric>;
using onnx = tq::numerics::onnx;

static_assert(tq::CalibratorFor<ByLaplace, tq::Histogram, A4>);
static_assert(!tq::CalibratorFor<ByLaplace, tq::MeanStd, A4>);  // b is no moment
static_assert(tq::CalibratorFor<ByGauss, tq::MeanStd, A4>);
static_assert(tq::CalibratorFor<ByGauss, tq::Histogram, A4>);
static_assert(!tq::CalibratorFor<ByGauss, tq::MinMax, A4>);
static_assert(!tq::CalibratorFor<ByLaplace, tq::AbsHistogram, A4>);
static_assert(tq::CalibratorFor<ByLaplace, tq::AbsHistogram, S4>);

// A histogram that is wide enough not to cut anything off.
template <class F>
distributions::Counts<> density(double spread, const F& cdf) {
  distributions::Counts<> h{{}, -40, 0.03125};
  for (int i = 0; i < 2560; ++i) {
    const double a = -40 + i * h.width_, b = a + h.width_;
    h.counts_.push_back(static_cast<std::uint64_t>(1e15 * (cdf(b / spread) - cdf(a / spread))));
  }
  h.range_ = {-40, 40};
  return h;
}
double laplace_cdf(double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }
double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

template <int Bits>
using Int = tq::basic_int<Bits, true>;

}  // namespace

TEST_CASE("the published thresholds", "[calibrate]") {
  const auto by_laplace = density(1.5, laplace_cdf);
  const auto by_normal = density(1.5, normal_cdf);
  const auto check = [&]<class P>(double laplace, double normal) {
    INFO(P::type::name << " " << P::symmetry_type::name);
    const tq::Range a = ByLaplace{}.range<P, onnx>(by_laplace);
    CHECK(std::fabs(static_cast<double>(a.max) / 1.5 - laplace) < 0.01);
    CHECK(std::fabs(static_cast<double>(a.min) / 1.5 + laplace) < 0.01);
    const tq::Range b = ByGauss{}.range<P, onnx>(by_normal);
    CHECK(std::fabs(static_cast<double>(b.max) / 1.5 - normal) < 0.01);
    CHECK(std::fabs(static_cast<double>(b.min) / 1.5 + normal) < 0.01);
  };
  // arXiv:1810.05723: solutions of (a / b) exp(a / b) = 3 * 4^M, and 1.71, 2.15, 2.55 standard
  // deviations.
  check.operator()<Params<Int<2>, tq::Symmetric>>(2.83, 1.71);
  check.operator()<Params<Int<3>, tq::Symmetric>>(3.89, 2.15);
  check.operator()<Params<Int<4>, tq::Symmetric>>(5.03, 2.55);
  check.operator()<Params<Int<4>, tq::Asymmetric>>(5.03, 2.55);
  // By substitution: x exp(x) = 3 * n^2 for n codes.
  for (const auto& [x, n] : {std::pair{2.83, 4.0}, {3.89, 8.0}, {5.03, 16.0}})
    CHECK(std::fabs(x * std::exp(x) / (3 * n * n) - 1) < 0.01);
}

TEST_CASE("the number of codes is that of the scheme", "[calibrate]") {
  const auto h = density(1, laplace_cdf);
  const auto threshold = [&]<class P>() {
    return static_cast<double>(ByLaplace{}.range<P, onnx>(h).max);
  };
  const auto solves = [](double x, double right) {
    return std::fabs(x * std::exp(x) / right - 1) < 0.01;
  };
  CHECK(solves(threshold.operator()<Params<tq::ternary, tq::Symmetric>>(), 3.0 * 9));
  CHECK(solves(threshold.operator()<Params<tq::int4, tq::SymmetricNarrow>>(), 3.0 * 225));
  CHECK(solves(threshold.operator()<S8>(), 3.0 * 65536));
  // One side for all the codes: (a / b) exp(a / b) = 12 * 4^M, as the paper has it after ReLU.
  CHECK(solves(threshold.operator()<Params<tq::uint4, tq::Symmetric>>(), 12.0 * 256));
}

TEST_CASE("around the mean, within what was seen", "[calibrate]") {
  std::vector<float> x = distributions::draw(100000, 1, distributions::laplace);
  for (float& v : x) v = 0.5f * v + 1;
  const auto h = seen<tq::Histogram>(x);
  double mean = 0, b = 0;
  for (const float v : x) mean += static_cast<double>(v) / 100000;
  for (const float v : x) b += std::fabs(static_cast<double>(v) - mean) / 100000;
  const tq::Range r = ByLaplace{}.range<A4, onnx>(h);
  CHECK(std::fabs(static_cast<double>(r.max) - (mean + 5.03 * b)) < 0.01);
  CHECK(std::fabs(static_cast<double>(r.min) - (mean - 5.03 * b)) < 0.01);
  // Symmetric codes reach the larger magnitude, so that steps grow with the mean as well as with
  // the threshold.
  const double a = static_cast<double>(ByLaplace{}.range<S4, onnx>(h).max) - mean;
  const double slope = 2 * (mean + a) * 2 / (6 * 256) - 2 * b * std::exp(-a / b);
  CHECK(std::fabs(slope) < 1e-3);
  // Nothing is gained beyond what was seen.
  const auto narrow = seen<tq::Histogram>(
      distributions::draw(10000, 2, [](inputs::Random& g) { return g.unit() - 0.5; }));
  CHECK(ByLaplace{}.range<S8, onnx>(narrow) == narrow.range());
}

TEST_CASE("moments and histograms agree, and so do magnitudes of what is symmetric",
          "[calibrate]") {
  const std::vector<float> x = distributions::draw(100000, 3, distributions::normal);
  const tq::Range exact = ByGauss{}.range<S4, onnx>(seen<tq::MeanStd>(x));
  const tq::Range binned = ByGauss{}.range<S4, onnx>(seen<tq::Histogram>(x));
  const tq::Range magnitudes = ByGauss{}.range<S4, onnx>(seen<tq::AbsHistogram>(x));
  CHECK(std::fabs(exact.max - binned.max) < 1e-3f);
  CHECK(std::fabs(exact.max - magnitudes.max) < 0.02f);
  CHECK(magnitudes.min == -magnitudes.max);
  CHECK(std::fabs(ByLaplace{}.range<S4, onnx>(seen<tq::AbsHistogram>(x)).max -
                  ByLaplace{}.range<S4, onnx>(seen<tq::Histogram>(x)).max) < 0.02f);
}

TEST_CASE("floats and code books: the least error of the density over their own values",
          "[calibrate]") {
  const auto check = [&]<class P>(const std::vector<float>& x, auto calibrator, double tolerance) {
    INFO(P::type::name);
    const auto h = seen<tq::Histogram>(x);
    const double analytic = static_cast<double>(calibrator.template range<P, onnx>(h).max);
    const double searched = static_cast<double>(tq::MseCalibrator{}.range<P, onnx>(h).max);
    CHECK(std::fabs(analytic / searched - 1) < tolerance);
  };
  const std::vector<float> normal = distributions::draw(400000, 4, distributions::normal);
  const std::vector<float> laplace = distributions::draw(400000, 5, distributions::laplace);
  check.operator()<Params<tq::float4_e2m1fn, tq::Symmetric>>(normal, ByGauss{}, 0.02);
  check.operator()<Params<tq::float4_e2m1fn, tq::Symmetric>>(laplace, ByLaplace{}, 0.02);
  check.operator()<Params<tq::nf4, tq::Symmetric>>(normal, ByGauss{}, 0.02);
  check.operator()<Params<tq::nf4, tq::Symmetric>>(laplace, ByLaplace{}, 0.02);
  check.operator()<Params<tq::binary, tq::Symmetric>>(normal, ByGauss{}, 0.01);
  // The best scale of signs is E|x| = sqrt(2 / pi) of a normal distribution, b of a Laplace one.
  using B = Params<tq::binary, tq::Symmetric>;
  CHECK(std::fabs(ByGauss{}.range<B, onnx>(seen<tq::MeanStd>(normal)).max - 0.7979f) < 0.01f);
  CHECK(std::fabs(ByLaplace{}.range<B, onnx>(seen<tq::Histogram>(laplace)).max - 1.0f) < 0.01f);
}

namespace {

// A prior of the user's own: even from -1 to 1.
struct Even {
  static constexpr std::string_view name = "even";
  template <tq::MomentAccumulator Acc>
  static tq::PriorFit fit(const Acc& seen) {
    return {seen.mean(), std::sqrt(3 * seen.variance())};
  }
  static double tail(double x) { return x < 1 ? (1 - x) / 2 : 0.0; }
  static double excess(double x) { return x < 1 ? (1 - x) * (1 - x) / 4 : 0.0; }
};
static_assert(tq::PriorFor<Even, tq::MeanStd>);
static_assert(!tq::PriorFor<Even, tq::Histogram>);

}  // namespace

TEST_CASE("a prior of one's own", "[calibrate]") {
  const auto acc = seen<tq::MeanStd>(
      distributions::draw(100000, 6, [](inputs::Random& r) { return 4 * r.unit() - 2; }));
  const tq::Range r = tq::AciqCalibrator<Even>{}.range<S8, onnx>(acc);
  CHECK(r.max > 1.9f);
  CHECK(r.max <= 2.0f);
}

TEST_CASE("the analytic calibrator on hard data", "[calibrate]") {
  edge_cases::check<tq::Histogram>(ByLaplace{});
  edge_cases::check<tq::AbsHistogram>(ByLaplace{});
  edge_cases::check<tq::Histogram>(ByGauss{});
  edge_cases::check<tq::MeanStd>(ByGauss{});
  edge_cases::check_million<tq::Histogram>(ByLaplace{});
  edge_cases::check_million<tq::MeanStd>(ByGauss{});
}
