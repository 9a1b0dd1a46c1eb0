// SPDX-License-Identifier: MIT
#include <tq/calibrate/percentile.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

static_assert(tq::CalibratorFor<tq::PercentileCalibrator, tq::Histogram, A8>);
static_assert(tq::CalibratorFor<tq::PercentileCalibrator, tq::AbsHistogram, S8>);
static_assert(!tq::CalibratorFor<tq::PercentileCalibrator, tq::AbsHistogram, A8>);
static_assert(!tq::CalibratorFor<tq::PercentileCalibrator, tq::MinMax, S8>);

// The quantile as numpy defines it: between neighbours of the sorted values.
double quantile(std::vector<float> x, double p) {
  std::sort(x.begin(), x.end());
  return static_cast<double>(
      x[std::min(static_cast<std::size_t>(p * static_cast<double>(x.size())), x.size() - 1)]);
}

}  // namespace

TEST_CASE("the share of values that is wanted lies in the range", "[calibrate]") {
  for (const distributions::Data& data : distributions::all(100000)) {
    const auto histogram = seen<tq::Histogram>(data.x);
    for (const double p : {0.9, 0.99, 0.999}) {
      const tq::Range r = tq::PercentileCalibrator{1 - p, p}.range<A8, onnx>(histogram);
      INFO(data.name << " " << p);
      CHECK(std::fabs(static_cast<double>(r.min) - quantile(data.x, 1 - p)) <=
            histogram.bin_width());
      CHECK(std::fabs(static_cast<double>(r.max) - quantile(data.x, p)) <= histogram.bin_width());
    }
    CHECK(tq::PercentileCalibrator{0, 1}.range<A8, onnx>(histogram) == histogram.range());
  }
}

TEST_CASE("0.1 % are cut off at either end unless asked otherwise", "[calibrate]") {
  const auto histogram = seen<tq::Histogram>(distributions::draw(100000, 1, distributions::normal));
  CHECK(tq::PercentileCalibrator{}.range<S8, onnx>(histogram) ==
        tq::Range{histogram.quantile(0.001), histogram.quantile(0.999)});
}

TEST_CASE(
    "the threshold lies inside its bin, not at its left edge as with pytorch-quantization and ONNX "
    "Runtime",
    "[calibrate]") {
  // 99 % lie in bins 0 to 3, evenly; the share of 0.95 ends 4/5 into bin 3.
  distributions::Counts<> h{{25, 25, 25, 25}, 0, 1};
  struct Quantile : distributions::Counts<> {
    [[nodiscard]] float quantile(double p) const { return static_cast<float>(4 * p); }
  };
  const Quantile q{h};
  // searchsorted(cumsum(h) / sum(h), 0.95), and the left edge of that bin
  std::vector<double> sums;
  double total = 0;
  for (const std::uint64_t c : h.counts_) sums.push_back(total += static_cast<double>(c));
  const auto bin = std::lower_bound(sums.begin(), sums.end(), 0.95 * total) - sums.begin();
  const double theirs = static_cast<double>(bin);
  CHECK(theirs == 3.0);  // a fifth of what was to be kept is clipped
  const tq::Range ours = tq::PercentileCalibrator{0, 0.95}.range<A8, onnx>(q);
  CHECK(std::fabs(ours.max - 3.8f) < 1e-6f);

  std::vector<float> x;
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<float>(i) / 250);
  const tq::Range seen_values =
      tq::PercentileCalibrator{0, 0.95}.range<A8, onnx>(seen<tq::Histogram>(x));
  CHECK(std::fabs(seen_values.max - 3.8f) < 0.01f);
}

TEST_CASE("a threshold of 0 on sparse data does not give a scale of 0", "[calibrate]") {
  // After ReLU: 99.95 % zeros.
  std::vector<float> x(100000, 0.0f);
  for (std::size_t i = 0; i < 50; ++i) x[i * 1999] = 1.0f + static_cast<float>(i) / 50;
  const auto histogram = seen<tq::Histogram>(x);
  // pytorch-quantization, Model-Optimizer, ONNX Runtime: the left edge of the first bin that
  // reaches 99.9 %.
  double sum = 0;
  std::size_t bin = 0;
  while ((sum += static_cast<double>(histogram.counts()[bin])) < 0.999 * 100000) ++bin;
  const double theirs = histogram.origin() + static_cast<double>(bin) * histogram.bin_width();
  CHECK(theirs == 0.0);
  CHECK(theirs / 127 == 0.0);
  // The plain quantile lies in the bin of zeros as well, and would clip everything else. Ours does
  // not.
  CHECK(static_cast<double>(histogram.quantile(0.999)) <= histogram.bin_width());
  const tq::Range ours = tq::PercentileCalibrator{}.range<A8, onnx>(histogram);
  CHECK(ours.max > 1.0f);
  CHECK(ours.max <= histogram.range().max);
  CHECK(tq::PercentileCalibrator{}.range<S8, onnx>(seen<tq::AbsHistogram>(x)).max == ours.max);
  CHECK(tq::PercentileCalibrator{}.range<A8, onnx>(seen<tq::Percentile>(x)) == ours);

  struct Exact {  // an accumulator whose quantiles are values that were seen
    std::vector<float> sorted;
    void add(std::span<const float>) {}
    void merge(const Exact&) {}
    [[nodiscard]] bool empty() const { return sorted.empty(); }
    [[nodiscard]] tq::Range range() const { return {sorted.front(), sorted.back()}; }
    [[nodiscard]] float quantile(double p) const {
      return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
    }
  };
  std::sort(x.begin(), x.end());
  const Exact exact{x};
  CHECK(exact.quantile(0.999) == 0.0f);
  const auto check = [&]<class P>() {
    // 1 - upper is halved to 0.0005, of which 50 values are just not enough, and then to 0.00025.
    const tq::Range r = tq::PercentileCalibrator{}.range<P, onnx>(exact);
    CHECK(r == tq::Range{0, exact.quantile(1 - 0.001 / 4)});
    CHECK(tq::fit_affine<P>(r).scale < 0.02f);
  };
  check.operator()<S8>();
  check.operator()<U8>();
  check.operator()<A8>();
  // No share is small enough: the observed range in the end.
  std::vector<float> rare(1000, 0.0f);
  rare.back() = 7;
  CHECK(tq::PercentileCalibrator{0.5, 0.5}.range<S8, onnx>(Exact{rare}) == tq::Range{0, 7});
}

TEST_CASE("percentiles of codes with an offset keep the ends apart, wherever 0 is", "[calibrate]") {
  using Offset = Params<tq::uint8, tq::FloatOffset>;
  std::vector<float> x(10000);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 50 + static_cast<float>(i * 7919 % 10000) / 1000;
  const auto acc = seen<tq::Percentile>(x);
  const tq::Range r = tq::PercentileCalibrator{0.01, 0.99}.range<Offset, onnx>(acc);
  CHECK(std::fabs(static_cast<double>(r.min) - 50.1) < 0.01);
  CHECK(std::fabs(static_cast<double>(r.max) - 59.9) < 0.01);
  // Nearly all are 5: the shares are halved until there are two values to tell apart.
  x.assign(1000, 5.0f);
  for (std::size_t i = 0; i < 30; ++i) x[i] = 5 + static_cast<float>(i + 1);
  const tq::Range apart =
      tq::PercentileCalibrator{0.05, 0.95}.range<Offset, onnx>(seen<tq::Percentile>(x));
  CHECK(apart.min == 5.0f);
  CHECK(apart.max > 5.0f);
}

TEST_CASE("small values are not taken for zeros", "[calibrate]") {
  // All but one lie within the first bin; nothing is 0, or some are negative.
  inputs::Random r(3);
  std::vector<float> x(100000);
  for (float& v : x) v = 1e-4f + 1e-4f * static_cast<float>(r.unit());
  x.push_back(1);
  const auto positive = seen<tq::Histogram>(x);
  CHECK(static_cast<double>(tq::PercentileCalibrator{}.range<A8, onnx>(positive).max) <=
        positive.bin_width());
  for (std::size_t i = 0; i < 50000; ++i) x[i] = -x[i];
  const auto both = seen<tq::Histogram>(x);
  CHECK(static_cast<double>(tq::PercentileCalibrator{}.range<A8, onnx>(both).max) <=
        both.bin_width());
}

TEST_CASE("what was seen once, or is all zero, is the range", "[calibrate]") {
  CHECK(tq::PercentileCalibrator{}.range<S8, onnx>(seen<tq::Histogram>(std::vector<float>(10))) ==
        tq::Range{0, 0});
  // Unsigned codes have no use for negative values: there is nothing to widen.
  const auto negative = seen<tq::Histogram>(std::vector<float>{-3, -2, -1});
  CHECK(tq::PercentileCalibrator{0, 1}.range<U8, onnx>(negative) == tq::Range{-3, -1});
}

TEST_CASE("percentiles by the exact accumulator", "[calibrate]") {
  const auto percentile =
      seen<tq::Percentile>(distributions::draw(10000, 2, distributions::laplace));
  CHECK(tq::PercentileCalibrator{0.01, 0.98}.range<A8, onnx>(percentile) ==
        tq::Range{percentile.quantile(0.01), percentile.quantile(0.98)});
}

TEST_CASE("shares that are none are refused", "[calibrate]") {
  const auto histogram = seen<tq::Histogram>(std::vector<float>{1, 2, 3});
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const tq::PercentileCalibrator bad[] = {{-0.1, 1}, {0, 1.1}, {0.6, 0.5}, {nan, 1}, {0, nan}};
  for (const tq::PercentileCalibrator c : bad)
    test::raises(tq::errc::bad_argument, {"tq::PercentileCalibrator", "lower"},
                 [&] { (void)c.range<S8, onnx>(histogram); });
}

TEST_CASE("the percentile calibrator on hard data", "[calibrate]") {
  edge_cases::check<tq::Histogram>(tq::PercentileCalibrator{});
  edge_cases::check<tq::AbsHistogram>(tq::PercentileCalibrator{});
  edge_cases::check<tq::Percentile>(tq::PercentileCalibrator{});
  edge_cases::check_million<tq::Histogram>(tq::PercentileCalibrator{});
}
