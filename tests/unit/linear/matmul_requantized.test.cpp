// SPDX-License-Identifier: MIT
#include <tq/linear/matmul_requantized.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::OutputStage;
using tq::PackedWeights;
using tq::Shape;
using tq::TensorView;

struct Product {
  std::size_t rows = 9, outputs = 19, inputs = 37;
  std::vector<std::uint8_t> x;
  std::vector<std::int8_t> w;
  std::vector<std::int32_t> bias;
  std::vector<double> factors;

  explicit Product(std::uint64_t seed)
      : x(rows * inputs), w(outputs * inputs), bias(outputs), factors(outputs) {
    inputs::Random r(seed);
    for (auto& v : x) v = static_cast<std::uint8_t>(r.between(0, 255));
    for (auto& v : w) v = static_cast<std::int8_t>(r.between(-128, 127));
    for (auto& v : bias) v = r.between(-100'000, 100'000);
    for (auto& v : factors) v = std::ldexp(0.5 + r.unit() / 2, r.between(-13, -9));
  }
  [[nodiscard]] PackedWeights packed() const {
    return PackedWeights(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}));
  }
  [[nodiscard]] TensorView<const std::uint8_t> view() const {
    return {x.data(), Shape{rows, inputs}};
  }
  [[nodiscard]] std::int32_t sum(std::size_t m, std::size_t n, int x_zero_point) const {
    std::int32_t s = 0;
    for (std::size_t k = 0; k < inputs; ++k)
      s += (x[m * inputs + k] - x_zero_point) * w[n * inputs + k];
    return s;
  }
};

template <class R>
bool check(const Product& p, std::int32_t low, std::int32_t high) {
  const OutputStage<R> stage(p.factors, 11, low, high, p.bias);
  std::vector<std::int8_t> out(p.rows * p.outputs);
  tq::matmul_requantized(p.view(), std::array{100}, p.packed(), stage,
                         TensorView<std::int8_t>(out.data(), Shape{p.rows, p.outputs}),
                         test::Threads{2});
  bool equal = true;
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t n = 0; n < p.outputs; ++n) {
      const int code = 11 + R::apply(p.sum(m, n, 100) + p.bias[n], R::make(p.factors[n]));
      equal = equal && out[m * p.outputs + n] == std::clamp(code, low, high);
    }
  return equal;
}

}  // namespace

TEST_CASE("a product's codes are those of its sums, in every rounding") {
  const Product p(1);
  CHECK(check<tq::RequantizeFloat>(p, -128, 127));
  CHECK(check<tq::RequantizeDouble>(p, -128, 127));
  CHECK(check<tq::RequantizeSingle>(p, -128, 127));
  CHECK(check<tq::RequantizeUp>(p, -128, 127));
}

TEST_CASE("a ReLU is a range that begins at the zero point") {
  CHECK(check<tq::RequantizeFloat>(Product(2), 11, 127));
}

TEST_CASE("stages that do not fit are refused before anything is written") {
  const Product p(3);
  const PackedWeights packed = p.packed();
  std::vector<std::uint8_t> out(p.rows * p.outputs, 9);
  const auto run = [&](const OutputStage<>& stage) {
    tq::matmul_requantized(p.view(), {}, packed, stage,
                           TensorView<std::uint8_t>(out.data(), Shape{p.rows, p.outputs}));
  };
  const std::vector<double> two(2, 0.1);
  const std::vector<std::int32_t> some(3),
      large(p.outputs, std::numeric_limits<std::int32_t>::max());
  test::raises(tq::errc::shape_mismatch, {"1 or 19 factors", "2"},
               [&] { run(OutputStage<>(two, 0, 0, 255)); });
  test::raises(tq::errc::shape_mismatch, {"0 or 19 biases", "3"},
               [&] { run(OutputStage<>(std::array{0.1}, 0, 0, 255, some)); });
  test::raises(tq::errc::bad_argument, {"codes from 0 to 255", "-1 to 255"},
               [&] { run(OutputStage<>(std::array{0.1}, 0, -1, 255)); });
  test::raises(tq::errc::bad_argument, {"sums of 32 bits", "a bias of 2147483647"},
               [&] { run(OutputStage<>(std::array{0.1}, 0, 0, 255, large)); });
  CHECK(out == std::vector<std::uint8_t>(out.size(), 9));
}
