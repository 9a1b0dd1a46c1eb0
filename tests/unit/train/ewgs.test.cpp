// SPDX-License-Identifier: MIT
#include <tq/train/ewgs.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/straight_through.hpp>

#include <ratio>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class G>
using Layer =
    tq::FakeQuantize<tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>, tq::MinMax, G>;

void agree(const std::vector<float>& got, const std::vector<double>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": expected " << wanted[i] << ", got " << got[i]);
    CHECK(std::fabs(static_cast<double>(got[i]) - wanted[i]) <= 1e-5 * std::fabs(wanted[i]));
  }
}

}  // namespace

TEST_CASE(
    "Ewgs: the gradient grows where a step along it leads away from the code, and shrinks where to "
    "it") {
  // Scale 1/2, codes -8 to 7: v = 2 x, and the distance from the code is divided by 15.
  const std::vector<float> x{0.7f, 0.3f, -0.7f, 0.5f, 0.25f, 3.6f, 4.0f, -9.0f, inf, nan_value};
  const std::vector<double> away{0.4, -0.4, -0.4, 0, 0.5, 0.2, 0, 0, 0, 0},
      passes{1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  using G = tq::Ewgs<tq::ClippedStraightThrough>;
  auto layer = repeated<Layer<G>>(x.size(), 0.5f, 0, 0);
  for (const float gy : {3.0f, -3.0f}) {
    std::vector<double> wanted;
    for (std::size_t i = 0; i < x.size(); ++i)
      wanted.push_back(passes[i] * static_cast<double>(gy) *
                       (1 + 0.2 * (gy < 0 ? -1 : 1) * away[i] / 15));
    agree(single(layer, x, gy).gx, wanted);
  }
  CHECK(single(layer, x, 0.0f).gx == std::vector<float>(x.size(), 0.0f));
}

TEST_CASE("Ewgs: delta is a ratio, and 0 changes nothing") {
  const std::vector<float> x{0.7f, 0.3f};
  auto whole = repeated<Layer<tq::Ewgs<tq::StraightThrough, std::ratio<3, 2>>>>(2, 0.5f, 0, 0);
  agree(single(whole, x, 2.0f).gx, {2 * (1 + 1.5 * 0.4 / 15), 2 * (1 - 1.5 * 0.4 / 15)});
  auto none = repeated<Layer<tq::Ewgs<tq::StraightThrough, std::ratio<0>>>>(2, 0.5f, 0, 0);
  CHECK(single(none, x, 2.0f).gx == std::vector<float>{2, 2});
}

TEST_CASE("Ewgs: what the other gradient learns is learned as by it") {
  using Base = tq::LearnedStep<>;
  const std::vector<float> x{0.7f, 0.3f, 3.5f, 3.6f, -4.0f, 9.0f, nan_value};
  auto plain = repeated<Layer<Base>>(x.size(), 0.5f, 0, 0.5f);
  auto scaled = repeated<Layer<tq::Ewgs<Base>>>(x.size(), 0.5f, 0, 0.5f);
  const Single a = single(plain, x, -2.0f), b = single(scaled, x, -2.0f);
  CHECK(a.first == b.first);
  CHECK(a.first[0] != 0.0f);
  // Where the other lets nothing pass, nothing passes.
  agree(b.gx, {-2 * (1 - 0.2 * 0.4 / 15), -2 * (1 + 0.2 * 0.4 / 15), 0, 0, 0, 0, 0});
}
