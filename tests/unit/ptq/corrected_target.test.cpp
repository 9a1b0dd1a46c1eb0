// SPDX-License-Identifier: MIT
#include <tq/ptq/corrected_target.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;

// Inputs of the float model, which differ a little from those of the layer.
std::vector<float> float_inputs(const Layer& l, unsigned seed) {
  const std::vector<float> noise = ptq_test::activations(l.tokens, l.columns, seed);
  std::vector<float> out = l.x;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += 0.125f * noise[i];
  return out;
}

}  // namespace

TEST_CASE("a corrected target is the minimum of the squared error of outputs") {
  const Layer l(19, 21, 1);
  const std::vector<float> x_float = float_inputs(l, 9);
  const tq::ConstTensorView others(x_float.data(), {l.tokens, l.columns});
  tq::CrossHessian cross(l.columns);
  cross.add(l.inputs(), others);
  const tq::HessianFactor f = tq::factor(l.h);
  const std::vector<float> target =
      tq::corrected_target(l.view(), cross, l.h, f, {.strength = 1.0});
  // The slope of |x W*^T - x_float W^T|^2 / tokens + lambda |W* - W|^2 is 0.
  double largest = 0, before = 0;
  for (std::size_t r = 0; r < l.outputs; ++r) {
    std::vector<double> differences(l.tokens), old(l.tokens);
    for (std::size_t t = 0; t < l.tokens; ++t)
      for (std::size_t c = 0; c < l.columns; ++c) {
        const double x = l.x[t * l.columns + c], y = x_float[t * l.columns + c],
                     w = l.w[r * l.columns + c];
        differences[t] += x * static_cast<double>(target[r * l.columns + c]) - y * w;
        old[t] += x * w - y * w;
      }
    for (std::size_t c = 0; c < l.columns; ++c) {
      double slope = f.damping_used() * (static_cast<double>(target[r * l.columns + c]) -
                                         static_cast<double>(l.w[r * l.columns + c])),
             first = 0;
      for (std::size_t t = 0; t < l.tokens; ++t) {
        slope += differences[t] * static_cast<double>(l.x[t * l.columns + c]) / 100;
        first += old[t] * static_cast<double>(l.x[t * l.columns + c]) / 100;
      }
      largest = std::max(largest, std::fabs(slope));
      before = std::max(before, std::fabs(first));
    }
  }
  CHECK(largest < 1e-5 * before);

  CHECK((tq::corrected_target(l.view(), cross, l.h, f, {.strength = 1.0}, test::Threads{}) ==
         target));
  CHECK((tq::corrected_target<tq::arch::scalar>(l.view(), cross, l.h, f, {.strength = 1.0}) ==
         target));
  // 100 tokens of 21 inputs: 1 - 1.3 * 0.21.
  CHECK((tq::corrected_target(l.view(), cross, l.h, f) ==
         tq::corrected_target(l.view(), cross, l.h, f, {.strength = 1 - 1.3 * 21 / 100.0})));
  CHECK((tq::corrected_target(l.view(), cross, l.h, f, {.strength = 0.0}) == l.w));
}

TEST_CASE("inputs that are those of the float model correct nothing") {
  const Layer l(5, 13, 3);
  tq::CrossHessian cross(13);
  cross.add(l.inputs(), l.inputs());
  CHECK((tq::corrected_target(l.view(), cross, l.h, tq::factor(l.h), {.strength = 1.0}) == l.w));
}

TEST_CASE("a corrected target refuses what does not fit") {
  using test::raises;
  const Layer l(4, 6, 5);
  const tq::HessianFactor f = tq::factor(l.h);
  const auto refuse = [&](tq::errc code, const char* text, const tq::CrossHessian& cross,
                          const tq::TargetOptions& options = {}) {
    raises(code, {"tq::corrected_target", text},
           [&] { static_cast<void>(tq::corrected_target(l.view(), cross, l.h, f, options)); });
  };
  tq::CrossHessian cross(6);
  refuse(tq::errc::no_data, "got none", cross);
  refuse(tq::errc::shape_mismatch, "6 inputs, got 7", tq::CrossHessian(7));
  cross.add(l.inputs().slice(0, 0, 9), l.inputs().slice(0, 0, 9));
  refuse(tq::errc::bad_argument, "the 100 tokens of the Hessian, got 9", cross);
  tq::CrossHessian all(6);
  all.add(l.inputs(), l.inputs());
  for (const double strength : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    refuse(tq::errc::bad_argument, "a strength of 0 to 1", all, {.strength = strength});
}
