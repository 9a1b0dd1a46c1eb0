// SPDX-License-Identifier: MIT
#include <tq/calibrate/entropy.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using S8 = Params<tq::int8, tq::Symmetric>;
using S4 = Params<tq::int4, tq::Symmetric>;
using A4 = Params<tq::uint4, tq::Asymmetric>;
using A8 = Params<tq::uint8, tq::Asymmetric>;
using O4 = Params<tq::uint4, tq::FloatOffset>;
using onnx = tq::numerics::onnx;

static_assert(tq::CalibratorFor<tq::EntropyCalibrator, tq::Histogram, A8>);
static_assert(!tq::CalibratorFor<tq::EntropyCalibrator, tq::AbsHistogram, A8>);
static_assert(!tq::CalibratorFor<tq::EntropyCalibrator, tq::MinMax, S8>);
static_assert(tq::CalibratorFor<tq::EntropyCalibrator, tq::Histogram, O4>);

// The entropy of the codes of the data themselves, in nats. Precondition: sorted.
template <class P>
double true_entropy(const std::vector<float>& x, tq::Range r) {
  const auto a = tq::fit_affine<P>(r);
  double zero = 0, offset = 0;
  if constexpr (tq::OffsetParams<P>) offset = static_cast<double>(a.offset);
  else zero = a.zero_point;
  const auto n = static_cast<double>(x.size());
  double sum = 0;
  auto from = x.begin();
  for (int q = P::codes.min; q <= P::codes.max; ++q) {
    const double end = (q - zero + 0.5) * static_cast<double>(a.scale) + offset;
    const auto to =
        q == P::codes.max ? x.end() : std::upper_bound(from, x.end(), static_cast<float>(end));
    const double p = static_cast<double>(to - from) / n;
    if (p > 0) sum -= p * std::log(p);
    from = to;
  }
  return sum;
}

template <class P>
void check_against_brute_force(distributions::Data data) {
  std::sort(data.x.begin(), data.x.end());
  const auto histogram = seen<tq::Histogram>(data.x);
  const double ours = true_entropy<P>(data.x, tq::EntropyCalibrator{}.range<P, onnx>(histogram));
  double most = 0;
  const tq::Range r = histogram.range();
  if constexpr (tq::OffsetParams<P>) {
    const float step = (r.max - r.min) / 64;
    for (int i = 0; i < 48; ++i)
      for (int j = i + 1; j <= 64; ++j)
        most = std::max(most, true_entropy<P>(data.x, {r.min + step * static_cast<float>(i),
                                                       r.min + step * static_cast<float>(j)}));
  } else if constexpr (P::has_zero_point) {
    const float lo = std::min(r.min, 0.0f), hi = std::max(r.max, 0.0f);
    for (int i = 1; i <= 50; ++i)
      for (int j = 1; j <= 50; ++j)
        most = std::max(most, true_entropy<P>(data.x, {lo * static_cast<float>(i) / 50,
                                                       hi * static_cast<float>(j) / 50}));
  } else {
    for (int i = 1; i <= 500; ++i) {
      const float t = std::max(-r.min, r.max) * static_cast<float>(i) / 500;
      most = std::max(most, true_entropy<P>(data.x, {-t, t}));
    }
  }
  INFO(data.name << ", " << P::type::name << " " << P::symmetry_type::name << ": " << ours << " of "
                 << most);
  CHECK(ours >= most - 0.005 * most);
}

}  // namespace

TEST_CASE("as much entropy as the best of hundreds of ranges on the data themselves",
          "[calibrate]") {
  for (const distributions::Data& data : distributions::all(100000)) {
    check_against_brute_force<S4>(data);
    check_against_brute_force<O4>(data);
    check_against_brute_force<A4>(data);
    check_against_brute_force<Params<tq::int2, tq::Symmetric>>(data);
    if (data.name == "student" || data.name == "outliers")
      continue;  // levels would be narrower than bins
    check_against_brute_force<S8>(data);
    check_against_brute_force<A8>(data);
  }
}

TEST_CASE("all codes are equally likely where they can be", "[calibrate]") {
  const std::vector<float> x =
      distributions::draw(1000000, 1, [](inputs::Random& r) { return r.unit(); });
  const tq::Range r = tq::EntropyCalibrator{}.range<A8, onnx>(seen<tq::Histogram>(x));
  // Cells 0 and 255 are half as wide unless clipping makes up for it.
  CHECK(std::fabs(r.max - 255.0f / 256) < 0.003f);
}

TEST_CASE("floats and code books have entropy too", "[calibrate]") {
  using P =
      Params<tq::nf4, tq::Symmetric>;  // made for normal values: every code is about as likely
  const auto h = seen<tq::Histogram>(distributions::draw(100000, 2, distributions::normal));
  const tq::Range r = tq::EntropyCalibrator{}.range<P, onnx>(h);
  CHECK(r.max > 1.2f);
  CHECK(r.max < 2.2f);
  const tq::Range e4m3 =
      tq::EntropyCalibrator{}.range<Params<tq::float8_e4m3fn, tq::Symmetric>, onnx>(h);
  CHECK(e4m3.max > 0);
}

TEST_CASE("ties go to the observed range", "[calibrate]") {
  // Signs have two codes, and half of the values each, whatever the scale.
  const distributions::Counts<> h{{5, 9, 2, 2, 9, 5}, -3, 1};
  CHECK(tq::EntropyCalibrator{}.range<Params<tq::binary, tq::Symmetric>, onnx>(h) == h.range());
}

TEST_CASE("levels are not made narrower than bins", "[calibrate]") {
  const auto h = seen<tq::Histogram>(distributions::draw(100000, 3, distributions::student));
  const tq::Range r = tq::EntropyCalibrator{}.range<S8, onnx>(h);
  CHECK(static_cast<double>(tq::fit_affine<S8>(r).scale) >= h.bins().width);
  CHECK(tq::EntropyCalibrator{}.range<Params<tq::int16, tq::Symmetric>, onnx>(h).max >=
        h.range().max);
}

TEST_CASE("the entropy calibrator on hard data", "[calibrate][slow]") {
  edge_cases::check<tq::Histogram>(tq::EntropyCalibrator{});
  edge_cases::check<tq::AbsHistogram>(tq::EntropyCalibrator{});
  edge_cases::check_million<tq::Histogram>(tq::EntropyCalibrator{});
}
