// SPDX-License-Identifier: MIT
// Expected errors of outputs, against error feedback and sums in long double.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/expected_error.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/gptq.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/activations.hpp"

namespace {

constexpr std::size_t outputs = 40, columns = 48, tokens = 200;

struct Layer {
  std::vector<float> w = std::vector<float>(outputs * columns);
  tq::FloatHessian h{columns};

  explicit Layer(const std::vector<float>& x) {
    inputs::Random r(5);
    for (float& v : w) v = static_cast<float>(r.normal());
    h.add(tq::ConstTensorView(x.data(), {x.size() / columns, columns}));
  }
  [[nodiscard]] tq::ConstTensorView view() const { return {w.data(), {outputs, columns}}; }
};

Layer correlated() { return Layer(ptq_test::activations(tokens, columns, 3)); }

// Tokens whose mean products are the identity.
Layer independent() {
  std::vector<float> x(columns * columns);
  for (std::size_t i = 0; i < columns; ++i)
    x[i * columns + i] = std::sqrt(static_cast<float>(columns));
  return Layer(x);
}

}  // namespace

TEMPLATE_TEST_CASE("expected errors are near those of error feedback", "",
                   (tq::QuantParams<tq::int4, tq::PerGroup<16>, tq::Symmetric>),
                   (tq::QuantParams<tq::uint3, tq::PerGroup<16>, tq::Asymmetric>),
                   (tq::QuantParams<tq::nf4, tq::PerGroup<16>, tq::Symmetric>), tq::mxfp4) {
  const Layer layer = correlated();
  const tq::ExpectedError expected(layer.view(), layer.h);
  const auto params = tq::calibrate<TestType>(layer.view());
  const std::vector<float> rounded = tq::dequantize(tq::quantize(layer.view(), params));
  const auto result = tq::gptq(layer.view(), tq::factor(layer.h), params);
  const double error = expected(layer.w, rounded);
  CHECK(std::abs(error * expected.energy() / result.damped_loss - 1) < 0.25);
  const double first = expected.loss(0, std::span(layer.w).first(70), std::span(rounded).first(70)),
               rest = expected.loss(70, std::span(layer.w).subspan(70),
                                    std::span(rounded).subspan(70));
  CHECK(std::abs(expected.relative(first + rest) - error) < 1e-12 * error);
}

TEST_CASE("errors of a column count by its pivot") {
  const Layer layer = correlated();
  const tq::HessianFactor factor = tq::factor(layer.h);
  const tq::ExpectedError expected(layer.view(), layer.h);
  for (const std::size_t place : {0u, 7u, 20u, 47u}) {
    std::vector<float> back = layer.w;
    double squares = 0;
    for (std::size_t r = 0; r < outputs; ++r) {
      const std::size_t i = r * columns + factor.order()[place];
      back[i] = std::round(back[i]);
      squares += std::pow(double{layer.w[i]} - double{back[i]}, 2);
    }
    const double loss = factor.pivots()[place] * squares;
    CHECK(std::abs(expected.loss(0, layer.w, back) - loss) < 1e-9 * loss);
  }
}

TEST_CASE("the energy is that of the outputs, with damping") {
  const Layer layer = correlated();
  const double lambda = tq::factor(layer.h).damping_used();
  long double sum = 0;
  for (std::size_t r = 0; r < outputs; ++r)
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        sum += static_cast<long double>(layer.w[r * columns + i]) * layer.w[r * columns + j] *
               (layer.h(i, j) + (i == j ? lambda : 0));
  const double energy = tq::ExpectedError(layer.view(), layer.h).energy();
  CHECK(std::abs(energy - static_cast<double>(sum)) < 1e-9 * energy);
}

TEST_CASE("inputs that do not depend on each other leave the error of weights") {
  const Layer layer = independent();
  std::vector<float> back = layer.w;
  for (std::size_t i = 0; i < back.size(); i += 3) back[i] = std::round(back[i]);
  long double lost = 0, all = 0;
  for (std::size_t i = 0; i < back.size(); ++i) {
    const long double w = layer.w[i], d = w - back[i];
    lost += d * d;
    all += w * w;
  }
  const auto error = static_cast<double>(lost / all);
  const tq::ExpectedError expected(layer.view(), layer.h);
  CHECK(std::abs(expected(layer.w, back) - error) < 1e-6 * error);
  CHECK(expected(layer.w, layer.w) == 0);
}

TEST_CASE("expected errors refuse other layers, and know weights of zeros") {
  Layer layer = correlated();
  test::raises(tq::errc::shape_mismatch, {"tq::ExpectedError: expected weights of shape"}, [&] {
    const tq::ExpectedError expected(tq::ConstTensorView(layer.w.data(), {columns, outputs}),
                                     layer.h);
  });
  test::raises(tq::errc::no_data, {"of tokens, got none"},
               [&] { const tq::ExpectedError expected(layer.view(), tq::FloatHessian(columns)); });
  layer.w.assign(layer.w.size(), 0.0f);
  const tq::ExpectedError expected(layer.view(), layer.h);
  CHECK(expected.energy() == 0);
  CHECK(expected(layer.w, layer.w) == 0);
  const std::vector<float> ones(layer.w.size(), 1.0f);
  CHECK(expected(layer.w, ones) == std::numeric_limits<double>::infinity());
}
