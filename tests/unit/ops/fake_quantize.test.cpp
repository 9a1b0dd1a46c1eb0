// SPDX-License-Identifier: MIT
// Errors and stochastic rounding; values are compared in ops_cases.hpp.
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {
using Whole = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
}

TEST_CASE("bad input to fake_quantize is refused before anything is written", "[fake_quantize]") {
  const std::vector<float> x{1, 2, 3, 4, 5, std::numeric_limits<float>::quiet_NaN()};
  const tq::ConstTensorView m(x.data(), {2, 3});
  std::vector<float> out(6, -7), small(5, -7);
  const Whole p(1.0f);
  test::raises(tq::errc::shape_mismatch, {"tq::fake_quantize", "6", "got 5"},
               [&] { tq::fake_quantize(m, p, small); });
  test::raises(tq::errc::shape_mismatch, {"tq::fake_quantize", "[2, 3]", "[3, 2]"},
               [&] { tq::fake_quantize(m, p, tq::TensorView<float>(out.data(), {3, 2})); });
  const tq::QuantParams<tq::int8, tq::PerChannel<5>, tq::Symmetric> axis({}, {1.0f});
  test::raises(tq::errc::bad_axis, {"tq::fake_quantize", "per_channel"},
               [&] { tq::fake_quantize(m, axis, out); });
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan> raises;
  test::raises(tq::errc::not_finite, {"tq::fake_quantize", "NaN"},
               [&] { tq::fake_quantize(m, p, out, raises); });
  test::raises(tq::errc::not_finite, {"tq::fake_quantize"},
               [&] { (void)tq::fake_quantize(m, p, raises); });
  CHECK(out == std::vector<float>(6, -7));
  CHECK(small == std::vector<float>(5, -7));
}

TEST_CASE("stochastic rounding has the value as its mean", "[fake_quantize][slow]") {
  const std::size_t n = 1000000;
  const Whole p(0.1f);
  for (const float v : {0.03f, -0.07f, 1.234f, -3.21f}) {
    const std::vector<float> x(n, v);
    const std::vector<float> y =
        tq::fake_quantize(x, p, tq::Numerics<tq::Stochastic>{tq::Stochastic{11}});
    double sum = 0;
    for (const float u : y) sum += static_cast<double>(u);
    const double steps = static_cast<double>(v / 0.1f), part = steps - std::floor(steps);
    const double error =
        static_cast<double>(0.1f) * std::sqrt(part * (1 - part) / static_cast<double>(n));
    INFO(v);
    CHECK(std::fabs(sum / static_cast<double>(n) - steps * static_cast<double>(0.1f)) < 5 * error);
  }
}

TEST_CASE("stochastic rounding depends on seed and element index alone", "[fake_quantize]") {
  const std::vector<float> x = inputs::normals(300000, 5);
  const Whole p(0.1f);
  using N = tq::Numerics<tq::Stochastic>;
  const std::vector<float> whole = tq::fake_quantize(x, p, N{tq::Stochastic{11}});
  CHECK(whole == tq::fake_quantize(x, p, N{tq::Stochastic{11}}, test::Threads{}));
  CHECK(whole == tq::fake_quantize(x, p, N{tq::Stochastic{11}}, test::Backwards{}));
  CHECK(whole == tq::dequantize(tq::quantize(x, p, N{tq::Stochastic{11}})));
  CHECK_FALSE(whole == tq::fake_quantize(x, p, N{tq::Stochastic{12}}));
  // The shape and the granularity do not matter, only the place in the tensor.
  const tq::QuantParams<tq::int8, tq::PerToken, tq::Symmetric> rows({},
                                                                    std::vector<float>(1000, 0.1f));
  CHECK(whole ==
        tq::fake_quantize(tq::ConstTensorView(x.data(), {1000, 300}), rows, N{tq::Stochastic{11}}));
}
