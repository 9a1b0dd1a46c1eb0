// SPDX-License-Identifier: MIT
// Products of floats against sums in double, for sizes around panels, tiles and steps.
#include <tq/linear/float_linear.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::ConstTensorView;
using tq::Shape;
using tq::TensorView;

std::vector<float> normal(inputs::Random& r, std::size_t n) {
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(r.normal());
  return out;
}

}  // namespace

TEST_CASE("products of floats are those of sums in double, to a few roundings") {
  inputs::Random r(31);
  for (const std::size_t rows : {0u, 1u, 2u, 7u, 200u})
    for (const std::size_t outputs : {0u, 1u, 31u, 32u, 33u, 70u})
      for (const std::size_t inputs : {0u, 1u, 2u, 3u, 127u, 128u, 129u, 300u}) {
        INFO(rows << " rows, " << outputs << " x " << inputs);
        const std::vector<float> x = normal(r, rows * inputs), w = normal(r, outputs * inputs);
        std::vector<float> y(rows * outputs, -1.0f);
        const tq::FloatLinear linear(ConstTensorView(w.data(), {outputs, inputs}));
        CHECK(linear.outputs() == outputs);
        CHECK(linear.inputs() == inputs);
        linear.forward(ConstTensorView(x.data(), {rows, inputs}),
                       TensorView<float>(y.data(), {rows, outputs}));
        bool all_close = true;
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t n = 0; n < outputs; ++n) {
            double sum = 0, magnitude = 0;
            for (std::size_t k = 0; k < inputs; ++k) {
              const double product = double{x[i * inputs + k]} * double{w[n * inputs + k]};
              sum += product;
              magnitude += std::abs(product);
            }
            const double bound = static_cast<double>(inputs + 1) * 0x1p-24 * magnitude + 0x1p-140;
            all_close &= std::abs(double{y[i * outputs + n]} - sum) <= bound;
          }
        CHECK(all_close);
      }
}

TEST_CASE("strides and executors do not change products") {
  inputs::Random r(32);
  constexpr std::size_t rows = 37, outputs = 75, inputs = 67;
  const std::vector<float> x = normal(r, rows * inputs), w = normal(r, outputs * inputs);
  std::vector<float> y(rows * outputs), other(rows * outputs);
  const tq::FloatLinear linear(ConstTensorView(w.data(), {outputs, inputs}));
  linear.forward(ConstTensorView(x.data(), {rows, inputs}),
                 TensorView<float>(y.data(), {rows, outputs}));
  linear.forward(ConstTensorView(x.data(), {rows, inputs}),
                 TensorView<float>(other.data(), {rows, outputs}), tq::with(test::Threads{3}));
  CHECK(other == y);
  // The same values by columns, into columns.
  std::vector<float> turned_x(x.size()), turned_w(w.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inputs; ++k) turned_x[k * rows + i] = x[i * inputs + k];
  for (std::size_t n = 0; n < outputs; ++n)
    for (std::size_t k = 0; k < inputs; ++k) turned_w[k * outputs + n] = w[n * inputs + k];
  const tq::FloatLinear turned(ConstTensorView(turned_w.data(), {outputs, inputs}, {1, outputs}));
  turned.forward(ConstTensorView(turned_x.data(), {rows, inputs}, {1, rows}),
                 TensorView<float>(other.data(), {rows, outputs}, {1, rows}));
  bool same = true;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t n = 0; n < outputs; ++n) same &= other[n * rows + i] == y[i * outputs + n];
  CHECK(same);
}

TEST_CASE("NaN and infinity stay in their row and output, and misfits are refused") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> w{1, 2, 3, 4, 5, inf};  // [3, 2]
  const std::vector<float> x{1, 1, std::numeric_limits<float>::quiet_NaN(), 1, -0.0f, 0.0f};
  std::vector<float> y(9);
  const tq::FloatLinear linear(ConstTensorView(w.data(), {3, 2}));
  linear.forward(ConstTensorView(x.data(), {3, 2}), TensorView<float>(y.data(), {3, 3}));
  CHECK(y[0] == 3);
  CHECK(y[1] == 7);
  CHECK(y[2] == inf);
  for (const std::size_t i : {3u, 4u, 5u, 8u}) CHECK(std::isnan(y[i]));
  CHECK(y[6] == 0);
  CHECK(y[7] == 0);
  y.assign(9, -1.0f);
  test::raises(tq::errc::shape_mismatch, {"FloatLinear", "[outputs, inputs]"},
               [&] { tq::FloatLinear(ConstTensorView(w.data(), {6})); });
  test::raises(tq::errc::shape_mismatch, {"rows of 2 values", "[2, 3]"}, [&] {
    linear.forward(ConstTensorView(x.data(), {2, 3}), TensorView<float>(y.data(), {2, 3}));
  });
  test::raises(tq::errc::shape_mismatch, {"[3, 3]", "[2, 3]"}, [&] {
    linear.forward(ConstTensorView(x.data(), {3, 2}), TensorView<float>(y.data(), {2, 3}));
  });
  CHECK(y == std::vector<float>(9, -1.0f));
}
