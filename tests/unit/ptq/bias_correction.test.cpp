// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/bias_correction.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;

template <class Params>
void check_correction(unsigned seed) {
  const Layer l(9, 16, seed);
  const auto q = tq::quantize(l.view(), tq::calibrate<Params>(l.view()));
  const std::vector<float> values = tq::dequantize(q);
  tq::Observer<tq::MeanStd, tq::PerChannel<-1>> inputs;
  inputs.observe(l.inputs());
  const std::vector<float> delta = tq::bias_correction(l.view(), q, inputs);
  // Outputs with it have the mean of those of float weights.
  for (std::size_t r = 0; r < l.outputs; ++r) {
    double mean = 0;
    for (std::size_t t = 0; t < l.tokens; ++t)
      for (std::size_t c = 0; c < l.columns; ++c)
        mean += static_cast<double>(l.x[t * l.columns + c]) *
                (static_cast<double>(l.w[r * l.columns + c]) -
                 static_cast<double>(values[r * l.columns + c])) /
                100;
    CHECK(std::fabs(mean - static_cast<double>(delta[r])) < 1e-5 * (1 + std::fabs(mean)));
    CHECK(delta[r] != 0);
  }
}

}  // namespace

TEST_CASE("a corrected bias restores the mean of outputs") {
  check_correction<tq::QuantParams<tq::uint3, tq::PerGroup<8>, tq::Asymmetric>>(1);
  check_correction<tq::QuantParams<tq::uint3, tq::PerGroup<8>, tq::FloatOffset>>(2);
  check_correction<tq::QuantParams<tq::nf4, tq::PerGroup<8>, tq::Symmetric>>(3);
}

TEST_CASE("a corrected bias refuses what does not fit") {
  using test::raises;
  using W3 = tq::QuantParams<tq::uint3, tq::PerGroup<8>, tq::Asymmetric>;
  const Layer l(9, 16, 1);
  const auto q = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  std::vector<double> means(15);
  const auto correct = [&] {
    static_cast<void>(tq::bias_correction(l.view(), q, std::span<const double>(means)));
  };
  raises(tq::errc::shape_mismatch, {"tq::bias_correction", "[9, 16], [9, 16] and 15 means"},
         correct);
  means.push_back(std::numeric_limits<double>::infinity());
  raises(tq::errc::not_finite, {"expected finite means", "input 15"}, correct);
  tq::Observer<tq::MeanStd, tq::PerChannel<-1>> inputs;
  std::vector<float> x(16);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  inputs.observe(tq::ConstTensorView(x.data(), {1, 16}));
  raises(tq::errc::no_data, {"saw none of input 3"},
         [&] { static_cast<void>(tq::bias_correction(l.view(), q, inputs)); });
}
