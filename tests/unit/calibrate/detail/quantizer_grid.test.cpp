// SPDX-License-Identifier: MIT
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using tq::detail::Decides;
using tq::detail::LevelTable;
using tq::detail::QuantizerGrid;
template <class Type, class Symmetry, class Scale = float>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry, Scale>;
using onnx = tq::numerics::onnx;

static_assert(tq::detail::decides<Params<tq::int8, tq::Asymmetric>> == Decides::ends);
static_assert(tq::detail::decides<Params<tq::int8, tq::Symmetric>> == Decides::magnitude);
static_assert(tq::detail::decides<Params<tq::uint8, tq::Symmetric>> == Decides::top);
static_assert(tq::detail::decides<Params<tq::uint8, tq::SymmetricHalf>> == Decides::magnitude);
static_assert(tq::detail::decides<Params<tq::nf4, tq::Symmetric>> == Decides::magnitude);

template <class P, class N = onnx>
QuantizerGrid grid() {
  return tq::detail::quantizer_grid<P, N>();
}

}  // namespace

TEST_CASE("ranks of floats", "[calibrate]") {
  using tq::detail::float_of_rank, tq::detail::rank_of;
  constexpr float most = std::numeric_limits<float>::max(),
                  least = std::numeric_limits<float>::denorm_min();
  for (const float v : {-most, -1.0f, -least, 0.0f, least, 1.0f, most})
    CHECK(float_of_rank(rank_of(v)) == v);
  CHECK(rank_of(-0.0f) == rank_of(0.0f));
  CHECK(rank_of(least) == 1);
  CHECK(rank_of(-least) == -1);
  CHECK(rank_of(std::nextafter(1.0f, 2.0f)) == rank_of(1.0f) + 1);
  CHECK(tq::detail::last_where(-1.0f, 1.0f, [](float x) { return x < 0.25f; }) ==
        std::nextafter(0.25f, 0.0f));
}

TEST_CASE("where integers are rounded up", "[calibrate]") {
  using P = Params<tq::int8, tq::Symmetric>;
  const auto at = [](const QuantizerGrid& g, double up, double down) {
    CHECK(g.up == up);
    CHECK(g.down == down);
  };
  at(grid<P>(), 0.5, -0.5);
  at(grid<P, tq::Numerics<tq::HalfAway>>(), 0.5, -0.5);
  at(grid<P, tq::Numerics<tq::HalfUp>>(), 0.5, -0.5);
  at(grid<P, tq::Numerics<tq::Stochastic>>(), 0.5, -0.5);
  at(grid<P, tq::Numerics<tq::Floor>>(), 1, 0);
  at(grid<P, tq::Numerics<tq::TowardZero>>(), 1, -1);
}

namespace {

template <class F>
void check_table(const LevelTable& t) {
  REQUIRE(t.thresholds.size() + 1 == t.levels.size());
  inputs::Random r(1);
  for (int i = 0; i < 20000; ++i) {
    const float x =
        r.chance(50)
            ? static_cast<float>(r.normal() * static_cast<double>(F::max_finite))
            : std::ldexp(static_cast<float>(r.normal()), r.between(-20, 4)) * F::max_finite;
    const float expected = F::decode(F::template encode<tq::Saturate>(x, tq::NearestEven{}, 0));
    std::size_t k = 0;
    while (k < t.thresholds.size() && t.thresholds[k] < static_cast<double>(x)) ++k;
    if (std::isfinite(expected)) REQUIRE(t.levels[k] == static_cast<double>(expected));
    else REQUIRE(static_cast<double>(x) < t.lowest);
  }
}
template <class T>
void check_type() {
  INFO(T::name);
  check_table<typename T::format>(grid<Params<T, tq::Symmetric>>().levels());
}

}  // namespace

TEST_CASE("levels and thresholds are those of the format", "[calibrate]") {
  check_type<tq::float8_e4m3fn>();
  check_type<tq::float8_e5m2>();
  check_type<tq::float8_e4m3fnuz>();
  check_type<tq::float6_e2m3fn>();
  check_type<tq::float4_e2m1fn>();
  check_type<tq::fixed8>();
  check_type<tq::nf4>();
  check_type<tq::bnb_fp4>();
  check_type<tq::iq4_nl>();
  check_type<tq::dynamic8>();
  check_type<tq::binary>();
  check_type<tq::float8_e8m0fnu>();
  const LevelTable& fixed = grid<Params<tq::fixed8, tq::Symmetric>>().levels();
  CHECK(fixed.levels.size() == 255);  // the lowest code is never made
  CHECK(grid<Params<tq::bnb_fp4, tq::Symmetric>>().levels().levels.size() ==
        15);  // 0 has two codes
  CHECK(&fixed == &grid<Params<tq::fixed8, tq::Symmetric, tq::float16>>().levels());
}

TEST_CASE("formats that do not saturate have an end", "[calibrate]") {
  using P = Params<tq::float8_e4m3fn, tq::Symmetric>;
  CHECK(std::isinf(grid<P>().levels().highest));
  const LevelTable& t = grid<P, tq::numerics::torch_2_11>().levels();
  CHECK(t.highest == 464.0);  // half a step above 448 is a tie, and goes to the even code
  CHECK(t.lowest == -464.0);
  CHECK(std::isinf(grid<P, tq::numerics::torch>().levels().highest));
  const LevelTable& half = grid<Params<tq::float16, tq::Symmetric>, tq::numerics::torch>().levels();
  CHECK(half.highest < 65520.0);
  CHECK(half.highest > 65504.0);
}

TEST_CASE("other roundings of floats", "[calibrate]") {
  const LevelTable& t =
      grid<Params<tq::float4_e2m1fn, tq::Symmetric>, tq::Numerics<tq::TowardZero>>().levels();
  REQUIRE(t.levels.size() == 15);
  CHECK(t.thresholds[7] ==
        static_cast<double>(std::nextafter(0.5f, 0.0f)));  // what is below 0.5 becomes 0
  CHECK(t.thresholds[6] == -0.5);
}

TEST_CASE("whether there is anything to choose", "[calibrate]") {
  CHECK(grid<Params<tq::int8, tq::Symmetric>>().leaves_choice({-1, 2}));
  CHECK(!grid<Params<tq::int8, tq::Symmetric>>().leaves_choice({2, 2}));
  CHECK(!grid<Params<tq::uint8, tq::Symmetric>>().leaves_choice({-2, -1}));
  CHECK(grid<Params<tq::uint8, tq::Asymmetric>>().leaves_choice({-2, -1}));
  CHECK(!grid<Params<tq::int8, tq::Symmetric>>().leaves_choice({-1e-44f, 1e-44f}));
  CHECK(!grid<Params<tq::bfloat16, tq::Symmetric>>().leaves_choice({-1, 2}));
  CHECK(!grid<Params<tq::float8_e4m3fn, tq::Symmetric, tq::Unscaled>>().leaves_choice({-1, 2}));
  CHECK(
      grid<Params<tq::float4_e2m1fn, tq::Symmetric, tq::float8_e8m0fnu>>().leaves_choice({-1, 2}));
}

TEST_CASE("a scale that would raise is none to try", "[calibrate]") {
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises>;
  const tq::Affine a = tq::detail::try_fit<Params<tq::int8, tq::Symmetric>, Raises>({0, 1e-44f});
  CHECK(!QuantizerGrid::usable(a));
  CHECK(
      QuantizerGrid::usable(tq::detail::try_fit<Params<tq::int8, tq::Symmetric>, Raises>({0, 1})));
}
