// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/coordinate_descent.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/gptq.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/hqq.hpp>
#include <tq/ptq/weighted_search.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

using Types = tq::all_elements;
using Scales = tq::all_scales;

constexpr std::size_t outputs = 50, columns = 40, tokens = 120;

struct Layer {
  std::vector<float> w = std::vector<float>(outputs * columns);
  std::vector<float> x = ptq_test::activations(tokens, columns, 3);
  tq::Hessian h = hessian_of(x);

  Layer() {
    inputs::Random r(11);
    for (float& v : w) v = static_cast<float>(r.normal());
    for (std::size_t c = 0; c < columns; ++c) w[5 * columns + c] = 0;
  }
  [[nodiscard]] tq::ConstTensorView view() const { return {w.data(), {outputs, columns}}; }
  static tq::Hessian hessian_of(const std::vector<float>& x) {
    const tq::ConstTensorView view(x.data(), {tokens, columns});
    tq::Hessian h(ptq_test::ranges_of(view));
    h.add(view);
    return h;
  }
};

tq::EncodedWeights encoded(const Layer& layer, const tq::QuantSpec& spec,
                           const tq::WeightAlgorithm& algorithm) {
  return tq::encode_weights<Types, Scales>(layer.view(), spec, layer.h, algorithm);
}

void check_same(const tq::EncodedTensor& got, const tq::EncodedTensor& expected) {
  CHECK(got.spec == expected.spec);
  CHECK(got.shape == expected.shape);
  CHECK(got.scales == expected.scales);
  CHECK(got.zero_points == expected.zero_points);
  CHECK(got.offsets == expected.offsets);
  CHECK(std::ranges::equal(got.codes.span(), expected.codes.span()));
}

// The loss by its definition, in long double: the sum of (e x)^2 over tokens, over their number.
double loss_of(const Layer& layer, const tq::EncodedTensor& tensor) {
  const std::vector<float> values = tq::decode<Types, Scales>(tensor);
  long double sum = 0;
  for (std::size_t r = 0; r < outputs; ++r)
    for (std::size_t t = 0; t < tokens; ++t) {
      long double y = 0;
      for (std::size_t c = 0; c < columns; ++c)
        y += (static_cast<long double>(layer.w[r * columns + c]) - values[r * columns + c]) *
             layer.x[t * columns + c];
      sum += y * y;
    }
  return static_cast<double>(sum / tokens);
}

// Inputs of the Hessian are rounded to 14 bits.
bool is_near(double got, double expected) { return std::abs(got - expected) <= 0.01 * expected; }

}  // namespace

TEMPLATE_TEST_CASE("encode_weights has the bits of static parameters", "",
                   (tq::QuantParams<tq::uint3, tq::PerGroup<16>, tq::Asymmetric>),
                   (tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric, tq::float16>),
                   (tq::QuantParams<tq::int16, tq::PerTensor, tq::Symmetric>),
                   (tq::QuantParams<tq::uint2, tq::PerGroup<8>, tq::FloatOffset>), tq::mxfp4,
                   tq::nvfp4, (tq::QuantParams<tq::nf4, tq::PerGroup<64>, tq::Symmetric>)) {
  const Layer layer;
  const auto factor = tq::factor(layer.h);
  const tq::WeightedSearch search(layer.h);
  const auto params = tq::calibrate<TestType>(layer.view(), search);
  auto expected = tq::gptq(layer.view(), factor, params);
  const auto after = tq::coordinate_descent(layer.view(), layer.h, factor, expected.tensor);
  const tq::QuantSpec spec = tq::spec_of(params);
  const tq::EncodedWeights got = encoded(layer, spec, {.name = "gptq"});
  check_same(got.tensor, tq::to_encoded(expected.tensor));
  CHECK(got.report.loss == after.loss);
  CHECK(got.report.loss_of_rounding == expected.loss_of_rounding);
  CHECK(got.report.rounded_rows == expected.rounded_rows);
  CHECK(got.report.tokens == tokens);
  CHECK(got.report.dead_columns == 1);
  CHECK(got.report.damping == factor.damping_used());

  check_same(encoded(layer, spec, {.name = "rtn-weighted"}).tensor,
             tq::to_encoded(tq::quantize(layer.view(), params)));
  check_same(encoded(layer, spec, {.name = "rtn"}).tensor,
             tq::encode<Types, Scales>(layer.view(), spec));
  check_same(
      encoded(layer, spec, {.name = "gptq", .order = "natural", .scales = "min_max", .sweeps = 0})
          .tensor,
      tq::to_encoded(tq::gptq(layer.view(), tq::factor(layer.h, {.order = tq::NaturalOrder{}}),
                              tq::calibrate<TestType>(layer.view()))
                         .tensor));
}

TEST_CASE("encode_weights takes every named scheme, and its losses are those of the outputs") {
  const Layer layer;
  for (const tq::NamedScheme& scheme : tq::named_schemes()) {
    INFO(scheme.name);
    const bool has_calibrator = scheme.spec.calibrator != tq::QuantSpec().calibrator;
    const bool searches = !scheme.spec.is_cast() && !has_calibrator &&
                          scheme.spec.scale_type != tq::DoubleQuantized::name;
    const tq::WeightAlgorithm how{.name = "gptq", .scales = searches ? "weighted" : "min_max"};
    const tq::EncodedWeights got = encoded(layer, scheme.spec, how);
    CHECK(is_near(got.report.loss, loss_of(layer, got.tensor)));
    CHECK(got.report.loss <= got.report.loss_of_rounding);
    const auto threaded =
        tq::encode_weights<Types, Scales>(layer.view(), scheme.spec, layer.h, how, test::Threads{});
    check_same(threaded.tensor, got.tensor);
    CHECK(threaded.report == got.report);
    CHECK(tq::weight_scales_for(scheme.spec) == how.scales);
    if (searches) continue;
    CHECK(test::refused(tq::errc::unsupported,
                        [&] { (void)encoded(layer, scheme.spec, {.name = "gptq"}); }) ==
          (has_calibrator
               ? "tq::weighted_parameters: expected calibrator min_max beside scales that are "
                 "searched, got " +
                     scheme.spec.calibrator + "; `scales` min_max of gptq takes it"
               : "tq::weighted_parameters: expected scales that stand by themselves or on two "
                 "levels, got " +
                     to_string(scheme.spec) + "; `scales` min_max of gptq takes those of ranges"));
  }
}

TEST_CASE("encode_weights counts the loss of rounding for weighted scales") {
  const Layer layer;
  const tq::QuantSpec spec = tq::named_scheme("uint2_g32");
  const auto weighted = encoded(layer, spec, {.name = "rtn-weighted"}).report,
             rounded = encoded(layer, spec, {.name = "rtn"}).report;
  CHECK(weighted.loss < rounded.loss);
  CHECK(weighted.loss_of_rounding == rounded.loss);
  CHECK(rounded.loss_of_rounding == rounded.loss);
  CHECK(weighted.algorithm == "rtn-weighted");
}

TEMPLATE_TEST_CASE("offsets by half-quadratic splitting have the bits of static parameters", "",
                   (tq::QuantParams<tq::uint3, tq::PerGroup<16>, tq::FloatOffset>),
                   (tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::FloatOffset, tq::float16>),
                   (tq::QuantParams<tq::uint8, tq::PerTensor, tq::FloatOffset, tq::bfloat16>)) {
  const Layer layer;
  const tq::QuantizedTensor<TestType> expected = tq::hqq<TestType>(layer.view());
  const tq::QuantSpec spec = tq::spec_of(expected.params());
  const auto hqq = [&](const tq::WeightAlgorithm& how, const auto& executor) {
    return tq::encode_weights<Types, Scales>(layer.view(), spec, how, executor);
  };
  const tq::EncodedWeights got = hqq({.name = "hqq"}, tq::serial);
  check_same(got.tensor, tq::to_encoded(expected));
  const tq::EncodedWeights other = hqq({.name = "hqq", .norm = 0.4}, test::Threads{});
  check_same(other.tensor, tq::to_encoded(tq::hqq<TestType>(layer.view(), {.norm = 0.4})));
  const tq::EncodedWeights rounded = hqq({.name = "rtn"}, tq::serial);
  check_same(rounded.tensor, tq::encode<Types, Scales>(layer.view(), spec));
  const auto error = [&](const tq::EncodedTensor& tensor) {
    const std::vector<float> values = tq::decode<Types, Scales>(tensor);
    long double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += std::fabs(static_cast<long double>(layer.w[i]) - values[i]);
    return static_cast<double>(sum);
  };
  CHECK(got.report.algorithm == "hqq");
  CHECK(std::abs(got.report.loss - error(got.tensor)) < 1e-9);
  CHECK(std::abs(got.report.loss_of_rounding - error(rounded.tensor)) < 1e-9);
  CHECK(got.report.loss <= got.report.loss_of_rounding);
  CHECK(rounded.report.loss == got.report.loss_of_rounding);
  CHECK(got.report.tokens == 0);
}

TEST_CASE("algorithms are refused without what they need") {
  const Layer layer;
  const auto refused = [&](tq::errc code, const char* spec, const tq::WeightAlgorithm& how) {
    return test::refused(code, [&] {
      (void)tq::encode_weights<Types, Scales>(layer.view(), tq::named_scheme(spec), how);
    });
  };
  CHECK(refused(tq::errc::unsupported, "uint3_g32", {.name = "hqq"})
            .starts_with("tq::encode_weights: expected symmetry float_offset for algorithm hqq, "
                         "got uint3"));
  CHECK(refused(tq::errc::bad_argument, "int8", {.name = "gptq"}) ==
        "tq::encode_weights: expected a Hessian for algorithm gptq, got none");
  CHECK(refused(tq::errc::bad_argument, "int8", {.name = "hqq", .norm = 1.5}) ==
        "tq::WeightAlgorithm: norm: expected above 0 and at most 1, got 1.5");
  CHECK(test::refused(tq::errc::bad_argument, [&] {
          (void)encoded(layer, tq::QuantSpec(), {.name = "hqq"});
        }) == "tq::encode_weights: expected rtn, rtn-weighted or gptq beside a Hessian, got hqq");
}

TEST_CASE("recode_weights keeps parameters") {
  const Layer layer;
  tq::EncodedTensor tensor = tq::encode<Types, Scales>(layer.view(), tq::named_scheme("int3_g32"));
  const tq::EncodedTensor before = tensor;
  const double loss = loss_of(layer, tensor);
  const tq::WeightReport report = tq::recode_weights<Types, Scales>(
      layer.view(), layer.h, {.name = "gptq", .order = "group"}, tensor);
  CHECK(tensor.scales == before.scales);
  CHECK(report.loss < 0.8 * loss);
  CHECK(is_near(report.loss, loss_of(layer, tensor)));
}

TEST_CASE("encode_weights refuses what it cannot do") {
  const Layer layer;
  const tq::QuantSpec spec;
  CHECK(
      test::refused(tq::errc::unknown_name,
                    [&] { (void)encoded(layer, spec, {.name = "gptk"}); }) ==
      std::string(
          "tq::WeightAlgorithm: name: expected one of rtn, rtn-weighted, gptq, hqq, got \"gptk\"; "
          "did you mean \"gptq\"?"));
  CHECK(test::refused(tq::errc::bad_argument, [&] {
          (void)encoded(layer, spec, {.name = "gptq", .damping = -1});
        }) == "tq::WeightAlgorithm: damping: expected 0 to 1e6, got -1");
  CHECK(test::refused(tq::errc::bad_argument, [&] {
          (void)encoded(layer, spec, {.name = "gptq", .sweeps = ~std::size_t{0}});
        }).find("sweeps: expected at most 1000") != std::string::npos);
  const std::vector<float> w(80);
  CHECK(test::refused(tq::errc::shape_mismatch, [&] {
          (void)tq::encode_weights<Types, Scales>(tq::ConstTensorView(w.data(), {4, 20}), spec,
                                                  layer.h, {.name = "gptq"});
        }) == "tq::encode_weights: expected weights of shape [outputs, 40], got [4, 20]");
  Layer bad;
  bad.w[7] = std::numeric_limits<float>::infinity();
  CHECK(test::refused(tq::errc::not_finite, [&] { (void)encoded(bad, spec, {.name = "gptq"}); }) ==
        "tq::encode_weights: expected finite weights, got inf at row 0 and column 7");
}
