// SPDX-License-Identifier: MIT
#include <tq/train/ewgs.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/straight_through.hpp>

#include "unit/kernels/backward_cases.hpp"

namespace {

using namespace backward_cases;
using tq::numerics::onnx;

// float8_e4m3fn, a code book up to 1, fixed8 rounded up to whole numbers, and one that is not
// symmetric.
const std::vector<cases::CodeRange> ends{{-448, 448}, {-1, 1}, {-2, 2}, {-3, 6}};

}  // namespace

TEST_CASE("backward of elements that are not integers equals the formulas", "[backward]") {
  check(kernel<tq::ClippedStraightThrough, onnx, false>(clipped), ends, 40);
  check(kernel<tq::StrictStraightThrough, tq::numerics::torch, false>(strict), ends, 41);
  check(kernel<tq::LearnedStep<>, onnx, false>(learned_step), ends, 42);
  check(kernel<tq::Ewgs<tq::LearnedStep<>>, onnx, false>(ewgs<learned_step>), ends, 43);
}

TEST_CASE(
    "backward of elements that are not integers: a special value in any lane concerns no other",
    "[backward]") {
  check_every_lane(kernel<tq::LearnedStep<>, onnx, false>(learned_step), {-448, 448}, 44);
}

TEST_CASE("backward of elements that are not integers: blocks of scale 0 and of NaN",
          "[backward]") {
  const Kernel k = kernel<tq::ClippedStraightThrough, onnx, false>(clipped);
  inputs::Random r(45);
  for (const float scale : {0.0f, nan_value})
    for (std::size_t n = 1; n <= 2 * block + 3; ++n) {
      const auto stride = static_cast<std::ptrdiff_t>(n);
      cases::Case c({n, 2, stride, stride, 1, 0}, {-6, 6}, r);
      c.has_zero = false;
      c.scales = {scale, 0.5f};
      for (float& v : c.source) v = r.chance(30) ? 0.0f : static_cast<float>(r.normal());
      CHECK(draw(k, c, {-6, 6}, r).run() == "");
    }
}
