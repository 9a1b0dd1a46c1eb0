// SPDX-License-Identifier: MIT
// Measured costs and errors of schemes, against encode and decode and sums in double.
#include <tq/select/measured.hpp>

#include <tq/ptq/expected_error.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/piece_coder.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace {

using Coder = tq::PieceCoder<tq::TypeList<tq::int4, tq::binary>>;

std::vector<float> random_values(std::size_t n) {
  std::mt19937 random(7);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  return x;
}

}  // namespace

TEST_CASE("measured candidates have the bytes and the relative error of the encoded tensor") {
  const std::vector<float> x = random_values(24 * 80);
  const tq::Shape shape{24, 80};
  const std::vector<tq::NamedScheme> schemes{{"int4_g32", tq::named_scheme("int4_g32")},
                                             {"binary", tq::named_scheme("binary")}};
  Coder coder;
  const tq::PrecisionNode node = tq::measured_node(coder, "w", x, shape, schemes, 3);
  REQUIRE(node.candidates.size() == 3);
  CHECK(node.name == "w");
  CHECK(node.weights == x.size());
  CHECK(node.candidates[0].scheme == tq::float_scheme);
  CHECK(node.candidates[0].bytes == 4 * x.size());
  CHECK(node.candidates[0].error == 0);
  CHECK(node.candidates[1].bytes == 24 * 40 + 24 * 3 * 4);  // groups of 32, 32 and 16
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    const tq::EncodedTensor t = tq::encode<tq::TypeList<tq::int4, tq::binary>>(
        tq::ConstTensorView(x.data(), shape), schemes[i].spec);
    std::vector<float> back(x.size());
    tq::decode<tq::TypeList<tq::int4, tq::binary>>(t, back);
    double noise = 0, signal = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      noise += std::pow(double{x[k]} - double{back[k]}, 2);
      signal += std::pow(double{x[k]}, 2);
    }
    CHECK(std::abs(node.candidates[i + 1].error - noise / signal) < 1e-6 * noise / signal);
    CHECK(node.candidates[i + 1].seconds > 0);
    CHECK(node.candidates[i + 1].evidence == tq::Evidence::measured);
  }
}

TEST_CASE("measured nodes have the expected errors of outputs where these are given") {
  const std::vector<float> w = random_values(24 * 80), x = random_values(200 * 80);
  const tq::Shape shape{24, 80};
  tq::FloatHessian h(80);
  h.add(tq::ConstTensorView(x.data(), {200, 80}));
  const tq::ExpectedError expected(tq::ConstTensorView(w.data(), shape), h);
  const std::vector<tq::NamedScheme> schemes{{"int4_g32", tq::named_scheme("int4_g32")}};
  Coder coder;
  const tq::PrecisionNode node = tq::measured_node(coder, "w", w, shape, schemes, 0, expected);
  REQUIRE(node.candidates.size() == 2);
  std::vector<float> back(w.size());
  (void)tq::measured_candidate(coder, schemes[0], w, shape, back);
  CHECK(node.candidates[0].error == 0);
  CHECK(node.candidates[1].error == expected(w, back));
  CHECK(node.candidates[1].error > 0);
}

TEST_CASE("tensors of zeros lose nothing, and misfits are refused") {
  const std::vector<float> zeros(64);
  Coder coder;
  const std::vector<tq::NamedScheme> schemes{{"int4_g32", tq::named_scheme("int4_g32")}};
  const tq::PrecisionNode node = tq::measured_node(coder, "zeros", zeros, {2, 32}, schemes);
  CHECK(node.candidates.at(1).error == 0);
  CHECK(node.candidates.at(1).seconds == 0);
  std::vector<float> back(63);
  test::raises(tq::errc::shape_mismatch, {"expected 64 values, got 63"},
               [&] { (void)tq::measured_candidate(coder, schemes[0], zeros, {2, 32}, back); });
  tq::ErrorMetrics exact;
  CHECK(tq::relative_error(exact) == 0);
  exact.sqnr_db = 20;
  CHECK(std::abs(tq::relative_error(exact) - 0.01) < 1e-15);
  int calls = 0;
  CHECK(tq::median_seconds(5, [&] { ++calls; }) >= 0);
  CHECK(calls == 5);
}
