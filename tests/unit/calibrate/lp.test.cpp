// SPDX-License-Identifier: MIT
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/error_check.hpp"
#include "support/share.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using S4 = Params<tq::int4, tq::Symmetric>;
using A4 = Params<tq::uint4, tq::Asymmetric>;
using O4 = Params<tq::uint4, tq::FloatOffset, tq::float16>;
using onnx = tq::numerics::onnx;

static_assert(tq::CalibratorFor<tq::LpCalibrator, tq::Histogram, A4>);
static_assert(!tq::CalibratorFor<tq::LpCalibrator, tq::AbsHistogram, A4>);
static_assert(tq::CalibratorFor<tq::LpCalibrator, tq::Histogram, O4> &&
              tq::CalibratorFor<tq::MseCalibrator, tq::Histogram, O4>);
static_assert(!tq::CalibratorFor<tq::LpCalibrator, tq::AbsHistogram, O4>);

// The mean of |x - x'|^norm of the data themselves.
template <class P>
double true_error(const std::vector<float>& x, tq::Range r, double norm) {
  const auto a = tq::fit_affine<P>(r);
  const double s = static_cast<double>(a.scale);
  double zero = 0, offset = 0, sum = 0;
  if constexpr (tq::OffsetParams<P>) offset = static_cast<double>(a.offset);
  else zero = a.zero_point;
  for (const float v : x) {
    const double code = std::nearbyint((static_cast<double>(v) - offset) / s) + zero;
    const double back = (std::clamp<double>(code, P::codes.min, P::codes.max) - zero) * s + offset;
    sum += std::pow(std::fabs(static_cast<double>(v) - back), norm);
  }
  return sum / static_cast<double>(x.size());
}

template <class P>
void check_against_brute_force(const distributions::Data& data, double norm) {
  static test::Share share;
  if (!share.takes()) return;
  const auto histogram = seen<tq::Histogram>(data.x);
  const double ours = true_error<P>(data.x, tq::LpCalibrator{norm}.range<P, onnx>(histogram), norm);
  double least = std::numeric_limits<double>::infinity();
  const tq::Range r = histogram.range();
  if constexpr (tq::OffsetParams<P>) {
    const float step = (r.max - r.min) / 32;
    for (int i = 0; i < 24; ++i)
      for (int j = i + 1; j <= 32; ++j)
        least = std::min(least, true_error<P>(data.x,
                                              {r.min + step * static_cast<float>(i),
                                               r.min + step * static_cast<float>(j)},
                                              norm));
  } else if constexpr (P::has_zero_point) {
    const float lo = std::min(r.min, 0.0f), hi = std::max(r.max, 0.0f);
    for (int i = 1; i <= 16; ++i)
      for (int j = 1; j <= 16; ++j)
        least = std::min(
            least,
            true_error<P>(
                data.x, {lo * static_cast<float>(i) / 16, hi * static_cast<float>(j) / 16}, norm));
  } else {
    for (int i = 1; i <= 200; ++i) {
      const float t = std::max(-r.min, r.max) * static_cast<float>(i) / 200;
      least = std::min(least, true_error<P>(data.x, {-t, t}, norm));
    }
  }
  INFO(data.name << ", norm " << norm << ", " << P::symmetry_type::name << ": "
                 << 100 * (ours / least - 1) << " % above " << least);
  CHECK(ours <= 1.002 * least);
}

}  // namespace

TEST_CASE("any norm: as good as the best of hundreds of ranges on the data themselves",
          "[calibrate][slow]") {
  for (const distributions::Data& data : distributions::all(5000))
    for (const double norm : {0.5, 1.0, 2.4, 4.0}) {
      check_against_brute_force<S4>(data, norm);
      check_against_brute_force<A4>(data, norm);
    }
}

TEST_CASE("with an offset, whatever lies at 0: as good as the best of hundreds of ranges",
          "[calibrate][slow]") {
  for (distributions::Data data : distributions::all(5000))
    for (const float shift : {0.0f, 20.0f, -3.0f}) {
      for (float& v : data.x) v += shift;
      for (const double norm : {1.0, 2.0, 2.4}) check_against_brute_force<O4>(data, norm);
    }
}

TEST_CASE("norm 2 is the mean squared error, by either way to compute it", "[calibrate]") {
  for (const distributions::Data& data : distributions::all(20000)) {
    const auto histogram = seen<tq::Histogram>(data.x);
    const tq::Range r = tq::LpCalibrator{2}.range<S4, onnx>(histogram);
    CHECK(r == tq::MseCalibrator{}.range<S4, onnx>(histogram));
    const tq::Range nearly = tq::LpCalibrator{2 + 1e-9}.range<S4, onnx>(histogram);
    CHECK(std::fabs(nearly.max / r.max - 1) < 0.01f);
  }
}

TEST_CASE("the larger the norm the wider the range", "[calibrate]") {
  const auto histogram = seen<tq::Histogram>(distributions::draw(50000, 3, distributions::laplace));
  float last = 0;
  for (const double norm : {1.0, 2.0, 2.4, 3.0, 4.0, 8.0, 16.0}) {
    const float t = tq::LpCalibrator{norm}.range<S4, onnx>(histogram).max;
    CHECK(t > last);
    last = t;
  }
}

TEST_CASE("norms that mean nothing are refused", "[calibrate]") {
  const auto histogram = seen<tq::Histogram>(std::vector<float>{1, 2, 3});
  for (const double norm : {0.0, -1.0, 16.5, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()})
    test::raises(tq::errc::bad_argument, {"tq::LpCalibrator", "(0, 16]"},
                 [&] { (void)tq::LpCalibrator{norm}.range<S4, onnx>(histogram); });
}

TEST_CASE("the Lp calibrator on hard data", "[calibrate]") {
  edge_cases::check<tq::Histogram>(tq::LpCalibrator{});
  edge_cases::check<tq::AbsHistogram>(tq::LpCalibrator{16});
  edge_cases::check_million<tq::Histogram>(tq::LpCalibrator{});
}
