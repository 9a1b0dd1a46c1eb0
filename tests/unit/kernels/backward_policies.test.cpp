// SPDX-License-Identifier: MIT
#include <tq/train/dorefa.hpp>
#include <tq/train/ewgs.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>
#include <tq/train/straight_through.hpp>

#include "unit/kernels/backward_cases.hpp"

namespace {

using namespace backward_cases;
using tq::numerics::onnx;

}  // namespace

TEST_CASE("backward equals the formulas: PACT, TQT, DoReFa", "[backward]") {
  check(kernel<tq::Pact<>, onnx>(pact), ranges(true), 20);
  check(kernel<tq::Log2Threshold, onnx>(by_rounded), ranges(false), 21);
  check(kernel<tq::DoReFa, onnx>(clipped), ranges(false), 22);
}

TEST_CASE("backward where quotients underflow beside an end of the codes", "[backward]") {
  check_underflow(kernel<tq::Pact<>, onnx>(pact), 28);
  check_underflow(kernel<Probe, onnx>(probe), 29);
}

TEST_CASE("backward equals the formulas: gradients scaled element by element", "[backward]") {
  check(kernel<tq::Ewgs<tq::ClippedStraightThrough>, onnx>(ewgs<clipped>), ranges(false), 23);
  check(kernel<tq::Ewgs<tq::LearnedStep<>>, onnx>(ewgs<learned_step>), ranges(false), 24);
  check_every_lane(kernel<tq::Ewgs<tq::LearnedStep<>>, onnx>(ewgs<learned_step>), {-8, 7}, 25);
}

TEST_CASE("backward: everything that a policy of one's own may ask of a point", "[backward]") {
  check(kernel<Probe, onnx>(probe), ranges(false), 26);
  check_every_lane(kernel<Probe, onnx>(probe), {-128, 127}, 27);
}
