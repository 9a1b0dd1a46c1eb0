// SPDX-License-Identifier: MIT
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/straight_through.hpp>

#include "unit/kernels/backward_cases.hpp"

namespace {

using namespace backward_cases;
using tq::numerics::onnx;

}  // namespace

TEST_CASE("backward equals the formulas: straight-through gradients", "[backward]") {
  check(kernel<tq::StraightThrough, onnx>(straight_through), ranges(false), 1);
  check(kernel<tq::ClippedStraightThrough, onnx>(clipped), ranges(false), 2);
  check(kernel<tq::StrictStraightThrough, onnx>(strict), ranges(false), 3);
}

TEST_CASE("backward equals the formulas: learned scales, and zero points", "[backward]") {
  check(kernel<tq::LearnedStep<>, onnx>(learned_step), ranges(false), 4);
  check(kernel<tq::LearnedStepPlus<>, onnx>(learned_step_plus), ranges(false), 5);
  check(kernel<tq::LearnedAffine<>, onnx>(learned_affine), ranges(false), 6);
}

TEST_CASE("backward: a special value in any lane concerns no other", "[backward]") {
  check_every_lane(kernel<tq::ClippedStraightThrough, onnx>(clipped), {-128, 127}, 7);
  check_every_lane(kernel<tq::LearnedStep<>, onnx>(learned_step), {-8, 7}, 8);
  check_every_lane(kernel<tq::LearnedAffine<>, onnx>(learned_affine), {0, 255}, 9);
}

TEST_CASE("backward: sums of long stretches stay within float32's reach of the true ones",
          "[backward]") {
  // More blocks than are summed in float32 in one go, of one sign, with a NaN in x on the way.
  const Kernel k = kernel<tq::LearnedStepPlus<>, onnx>(learned_step_plus);
  inputs::Random r(10);
  for (const std::size_t n :
       {64 * block, 64 * block + 1, 200 * block + block / 2, 65 * 64 * block + 7}) {
    const auto stride = static_cast<std::ptrdiff_t>(n);
    cases::Case c({n, 1, stride, stride, 0, 0}, {-8, 7}, r);
    c.scales[0] = 0.37f;
    for (float& v : c.source) v = static_cast<float>(3 * r.normal());
    c.source[c.source_at + n / 3] = nan_value;
    Trial t = draw(k, c, {-8, 7}, r);
    for (float& g : t.gy) g = static_cast<float>(0.5 + r.unit());
    CHECK(t.run() == "");
  }
}
