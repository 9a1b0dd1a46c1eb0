// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/core/codebook.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

using Ternary = tq::QuantParams<tq::ternary, tq::PerTensor, tq::Symmetric>;
using TernaryRows = tq::QuantParams<tq::ternary, tq::PerChannel<0>, tq::Symmetric>;
using Signs = tq::QuantParams<tq::binary, tq::PerTensor, tq::Symmetric>;
using SignRows = tq::QuantParams<tq::binary, tq::PerChannel<0>, tq::Symmetric>;

static_assert(tq::CalibratorFor<tq::MeanAbsCalibrator, tq::MeanAbs, Ternary>);
static_assert(!tq::CalibratorFor<tq::MeanAbsCalibrator, tq::MinMax, Ternary>);
static_assert(!tq::CalibratorFor<tq::MinMaxCalibrator, tq::MeanAbs, Ternary>);

template <class Params>
Params fitted(tq::ConstTensorView x) {
  tq::Observer<tq::MeanAbs, typename Params::granularity_type> seen;
  seen.observe(x);
  return tq::calibrate<Params>(seen, tq::MeanAbsCalibrator{});
}

float mean_abs(const float* x, std::size_t n) {
  long double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::fabs(static_cast<long double>(x[i]));
  return static_cast<float>(sum / static_cast<long double>(n));
}

}  // namespace

TEST_CASE("the scale of signs and ternary weights is the mean magnitude", "[calibrate]") {
  const std::vector<float> x{0.25f, -0.75f, 1.0f, -2.0f, 0.0f, 0.5f, -0.5f, 1.0f};
  CHECK(fitted<Ternary>(x).scales()[0] == 0.75f);
  CHECK(fitted<Signs>(x).scales()[0] == 0.75f);
  const tq::ConstTensorView rows(x.data(), {2, 4});
  CHECK(fitted<TernaryRows>(rows) == TernaryRows({}, {1.0f, 0.5f}));
  CHECK(fitted<SignRows>(rows) == SignRows({}, {1.0f, 0.5f}));

  const std::vector<float> w = inputs::normals(9999, 5, 0.02);
  CHECK(fitted<Ternary>(w).scales()[0] == mean_abs(w.data(), w.size()));
  CHECK(fitted<SignRows>({w.data(), {3, 3333}}).scales()[2] == mean_abs(&w[6666], 3333));
}

TEST_CASE("signs are scaled as XNOR-Net has it", "[calibrate]") {
  const std::vector<float> x = inputs::normals(500, 6);
  const Signs p = fitted<Signs>(x);
  const float alpha = mean_abs(x.data(), x.size());
  const std::vector<float> back = tq::dequantize(tq::quantize(x, p));
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(back[i] == (x[i] < 0 ? -alpha : alpha));
}

TEST_CASE("ternary weights are rounded and clipped as BitNet b1.58 has it", "[calibrate]") {
  const std::vector<float> x = inputs::normals(500, 7);
  const Ternary p = fitted<Ternary>(x);
  const float gamma = mean_abs(x.data(), x.size());
  const std::vector<float> back = tq::dequantize(tq::quantize(x, p));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float code = std::fmin(1.0f, std::fmax(-1.0f, std::nearbyint(x[i] / gamma)));
    REQUIRE(back[i] == code * gamma);
  }
}

TEST_CASE("means that are not there", "[calibrate]") {
  CHECK(fitted<Ternary>(std::vector<float>(4, -0.0f)).scales()[0] == 1.0f);
  test::raises(tq::errc::no_data, {"tq::calibrate"},
               [] { (void)fitted<Ternary>(std::vector<float>{}); });
  test::raises(tq::errc::no_data, {"tq::calibrate", "slot 0 of 1"}, [] {
    (void)fitted<Ternary>(std::vector<float>{std::numeric_limits<float>::infinity()});
  });
}
