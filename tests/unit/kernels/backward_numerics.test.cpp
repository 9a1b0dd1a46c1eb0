// SPDX-License-Identifier: MIT
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/straight_through.hpp>

#include "unit/kernels/backward_cases.hpp"

namespace {

using namespace backward_cases;
using tq::Numerics;

}  // namespace

TEST_CASE("backward equals the formulas: roundings", "[backward]") {
  check(kernel<tq::ClippedStraightThrough, Numerics<tq::HalfAway>>(clipped), ranges(false), 30);
  check(kernel<tq::LearnedStep<>, Numerics<tq::HalfAway>>(learned_step), ranges(false), 31);
  check(kernel<tq::ClippedStraightThrough, Numerics<tq::Stochastic>>(clipped), ranges(false), 32);
  check(kernel<tq::LearnedStep<>, Numerics<tq::Stochastic>>(learned_step), ranges(false), 33);
}

TEST_CASE("backward equals the formulas: the reciprocal of the scale", "[backward]") {
  check(kernel<tq::LearnedAffine<>, tq::numerics::torch>(learned_affine), ranges(false), 34);
  check(kernel<tq::StrictStraightThrough, Numerics<tq::HalfAway, tq::Reciprocal>>(strict),
        ranges(false), 35);
}

TEST_CASE("backward equals the formulas: NaN that become the lowest code have no gradient either",
          "[backward]") {
  check(
      kernel<tq::LearnedStep<>, Numerics<tq::NearestEven, tq::Divide, tq::NanToMin>>(learned_step),
      ranges(false), 36);
}
