// SPDX-License-Identifier: MIT
#include <tq/train/straight_through.hpp>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class G, class Type = tq::int4, class Symmetry = tq::Asymmetric>
using Layer = tq::FakeQuantize<tq::QuantParams<Type, tq::PerChannel<0>, Symmetry>, tq::MinMax, G>;

// Scale 1/2, zero point 2: the codes -8 to 7 stand for -5 to 2.5. The last three are no numbers.
const std::vector<float> values{-5.0f, -4.99f, -5.2f, -5.25f, -5.26f, 2.5f,     2.49f,
                                2.74f, 2.75f,  0.0f,  inf,    -inf,   nan_value};

template <class G>
std::vector<float> passed() {
  auto layer = repeated<Layer<G>>(values.size(), 0.5f, 2, 0);
  const Single got = single(layer, values, -3.0f);
  CHECK(got.first.empty());
  return got.gx;
}

}  // namespace

TEST_CASE("StraightThrough: everything passes") {
  CHECK(passed<tq::StraightThrough>() == std::vector<float>(values.size(), -3.0f));
}

TEST_CASE("ClippedStraightThrough: what rounds to a code passes") {
  CHECK(passed<tq::ClippedStraightThrough>() ==
        std::vector<float>{-3, -3, -3, -3, 0, -3, -3, -3, 0, -3, 0, 0, 0});
}

TEST_CASE(
    "StrictStraightThrough: what lies between the first and the last code passes, the ends do "
    "not") {
  CHECK(passed<tq::StrictStraightThrough>() ==
        std::vector<float>{0, -3, 0, 0, 0, 0, -3, 0, 0, -3, 0, 0, 0});
}

TEST_CASE(
    "straight-through gradients of elements that are not integers end with their largest value") {
  using Clipped = Layer<tq::ClippedStraightThrough, tq::nf4, tq::Symmetric>;
  using Strict = Layer<tq::StrictStraightThrough, tq::nf4, tq::Symmetric>;
  const std::vector<float> x{2.0f, -2.0f, 2.01f, -2.01f, 1.99f, 0.0f, inf, nan_value};
  auto clipped = repeated<Clipped>(x.size(), 2.0f, 0, 0);
  CHECK(single(clipped, x, 1.0f).gx == std::vector<float>{1, 1, 0, 0, 1, 1, 0, 0});
  auto strict = repeated<Strict>(x.size(), 2.0f, 0, 0);
  CHECK(single(strict, x, 1.0f).gx == std::vector<float>{0, 0, 0, 0, 1, 1, 0, 0});
}

TEST_CASE(
    "straight-through gradients: NaN of the output's gradient goes where the gradient passes") {
  auto clipped = repeated<Layer<tq::ClippedStraightThrough>>(2, 0.5f, 2, 0);
  const std::vector<float> gx = single(clipped, {0.0f, 100.0f}, nan_value).gx;
  CHECK(std::isnan(gx[0]));
  CHECK(gx[1] == 0.0f);
}
