// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/train/detail/learned_slots.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace {

using Floats = std::vector<float>;
using Rows = tq::QuantParams<tq::uint8, tq::PerChannel<0>, tq::Asymmetric>;
using Two = tq::detail::LearnedSlots<tq::LearnedAffine<>, Rows>;
using One = tq::detail::LearnedSlots<tq::LearnedStep<>,
                                     tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>>;

}  // namespace

TEST_CASE("LearnedSlots: the first parameters of all slots come before the second ones") {
  Floats two(6), one(3);
  Two::put(two, 1, {2, 5});
  CHECK(two == Floats{0, 2, 0, 0, 5, 0});
  CHECK(Two::count(two) == 3);
  CHECK(Two::get(two, 1).first == 2);
  CHECK(Two::get(two, 1).second == 5);
  One::put(one, 1, {2, 5});
  CHECK(one == Floats{0, 2, 0});
  CHECK(One::count(one) == 3);
  CHECK(One::get(one, 1).first == 2);
  CHECK(One::get(one, 1).second == 0);
}

TEST_CASE("LearnedSlots: what starts from parameters makes the same ones") {
  const auto rows = tq::make_params<Rows>({}, tq::Scales<float>({0.5f, 0.25f, 3}), {7, 0, 255});
  const Floats values = Two::start(rows);
  CHECK(values == Floats{0.5f, 0.25f, 3, 7, 0, 255});
  CHECK(Two::params({}, values) == rows);
  CHECK(Two::affine(values, 2).scale == 3);
  CHECK(Two::affine(values, 2).zero_point == 255);
}

TEST_CASE("LearnedSlots: a step that leaves the domain is kept in it, slot by slot") {
  const Floats before{0.5f, 0.25f, 7, 9};
  Floats values{0.75f, -1, 300, -3};
  Two::keep(before, values);
  CHECK(values[0] == 0.75f);
  CHECK(values[1] > 0);
  CHECK(values[2] == 255);
  CHECK(values[3] == 0);
}

TEST_CASE("LearnedSlots: gradients are those of the slot's own sums and size") {
  Floats two(4);
  Two::gradients(Floats{0.5f, 0.25f, 7, 9}, {{3, -4}, {10, 20}}, std::vector<std::size_t>{6, 6},
                 two);
  CHECK(two == Floats{3, -4, 10, 20});
  Floats one(2);  // LSQ divides by sqrt(n * 7) for int4
  One::gradients(Floats{0.5f, 0.25f}, {{3, -4}, {}}, std::vector<std::size_t>{7, 28}, one);
  CHECK(one == Floats{3.0f / 7, -4.0f / 14});
}
