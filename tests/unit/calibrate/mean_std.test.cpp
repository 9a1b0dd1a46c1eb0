// SPDX-License-Identifier: MIT
#include <tq/calibrate/mean_std.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/error_check.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using S8 = Params<tq::int8, tq::Symmetric>;
using U8 = Params<tq::uint8, tq::Symmetric>;
using A8 = Params<tq::uint8, tq::Asymmetric>;
using onnx = tq::numerics::onnx;

static_assert(tq::CalibratorFor<tq::MeanStdCalibrator, tq::MeanStd, A8>);
static_assert(!tq::CalibratorFor<tq::MeanStdCalibrator, tq::Histogram, S8>);

}  // namespace

TEST_CASE("mean and standard deviations around it, of what is not 0, within what was seen",
          "[calibrate]") {
  for (const distributions::Data& data : distributions::all(20000)) {
    const auto acc = seen<tq::MeanStd>(data.x);
    double mean = 0, square = 0, n = 0;
    for (const float v : data.x) n += v != 0 ? 1 : 0;
    for (const float v : data.x) mean += static_cast<double>(v) / n;
    for (const float v : data.x)
      square += v != 0 ? std::pow(static_cast<double>(v) - mean, 2) / n : 0;
    for (const double k : {0.5, 2.0, 3.0, 6.0}) {
      const tq::Range r = tq::MeanStdCalibrator{k}.range<A8, onnx>(acc);
      const auto lo = std::max(mean - k * std::sqrt(square), static_cast<double>(acc.range().min));
      const auto hi = std::min(mean + k * std::sqrt(square), static_cast<double>(acc.range().max));
      INFO(data.name << " " << k);
      CHECK(std::fabs(static_cast<double>(r.min) - lo) < 1e-5);
      CHECK(std::fabs(static_cast<double>(r.max) - hi) < 1e-5);
    }
    CHECK(tq::MeanStdCalibrator{1e30}.range<A8, onnx>(acc) == acc.range());
    CHECK(tq::MeanStdCalibrator{}.range<S8, onnx>(acc) ==
          tq::MeanStdCalibrator{3}.range<S8, onnx>(acc));
  }
}

TEST_CASE("zeros count where codes with an offset do not keep them", "[calibrate]") {
  std::vector<float> x(1000, 0.0f);
  for (std::size_t i = 0; i < 500; ++i) x[i] = 10;
  const auto acc = seen<tq::MeanStd>(x);  // mean 5, deviation 5
  const tq::Range r =
      tq::MeanStdCalibrator{0.5}.range<Params<tq::uint8, tq::FloatOffset>, onnx>(acc);
  CHECK(std::fabs(static_cast<double>(r.min) - 2.5) < 1e-5);
  CHECK(std::fabs(static_cast<double>(r.max) - 7.5) < 1e-5);
}

TEST_CASE("a range with no use is not chosen", "[calibrate]") {
  // Unsigned codes: most values are negative, and the few positive ones lie beyond.
  std::vector<float> x(1000, -10.0f);
  x[0] = 1;
  const auto acc = seen<tq::MeanStd>(x);
  CHECK(tq::MeanStdCalibrator{1}.range<S8, onnx>(acc).max < 0);
  CHECK(tq::MeanStdCalibrator{1}.range<U8, onnx>(acc) == tq::Range{-10, 1});
  // Nothing around a mean of 0.
  const auto both = seen<tq::MeanStd>(std::vector<float>{-2, 2});
  CHECK(tq::MeanStdCalibrator{0}.range<S8, onnx>(both) == tq::Range{-2, 2});
}

TEST_CASE("a mean that rounding put outside of what was seen", "[calibrate]") {
  struct Rounded {
    void add(std::span<const float>) {}
    void merge(const Rounded&) {}
    [[nodiscard]] bool empty() const { return false; }
    [[nodiscard]] tq::Range range() const { return {1, 2}; }
    [[nodiscard]] double mean() const { return 2.5; }
    [[nodiscard]] double variance() const { return 0; }
  };
  CHECK(tq::MeanStdCalibrator{}.range<S8, onnx>(Rounded{}) == tq::Range{2, 2});
}

TEST_CASE("numbers of deviations that mean nothing are refused", "[calibrate]") {
  const auto acc = seen<tq::MeanStd>(std::vector<float>{1, 2, 3});
  for (const double k :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    test::raises(tq::errc::bad_argument, {"tq::MeanStdCalibrator"},
                 [&] { (void)tq::MeanStdCalibrator{k}.range<S8, onnx>(acc); });
}

TEST_CASE("the mean and deviation calibrator on hard data", "[calibrate]") {
  edge_cases::check<tq::MeanStd>(tq::MeanStdCalibrator{});
  edge_cases::check<tq::MeanStd>(tq::MeanStdCalibrator{0.5});
  edge_cases::check_million<tq::MeanStd>(tq::MeanStdCalibrator{});
}
