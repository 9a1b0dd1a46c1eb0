// SPDX-License-Identifier: MIT
#include <tq/calibrate/detail/range_search.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/float_elements.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/catch.hpp"

namespace {

using namespace tq::detail;
template <class Type, class Symmetry, class Scale = float>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry, Scale>;

template <class F>
struct Score {
  static constexpr int trials = 32;
  F f;
  [[nodiscard]] double rough(tq::Affine a) const { return f(a); }
  [[nodiscard]] double exact(tq::Affine a) const { return f(a); }
};
template <class F>
Score(F) -> Score<F>;

template <class P, class F>
tq::Range best(tq::Range seen, const F& f, double least = 0) {
  const Score<F> score{f};
  static_assert(AffineScore<Score<F>>);
  return RangeSearch(quantizer_grid<P, tq::numerics::onnx>(), seen, least, score).best();
}

// How far a scale is from another, in octaves.
double octaves(float scale, double from) {
  return std::fabs(std::log2(static_cast<double>(scale) / from));
}

}  // namespace

TEST_CASE("the scale with the best score is found", "[calibrate]") {
  using S = Params<tq::int8, tq::Symmetric>;
  for (const double wanted : {1.5, 1.0, 0.37, 0.01}) {
    const auto score = [&](tq::Affine a) { return 1 + std::pow(octaves(a.scale, wanted), 2); };
    const tq::Range r = best<S>({-127, 100}, score);
    CHECK(octaves(tq::fit_affine<S>(r).scale, wanted) < 0.01);
    CHECK((r.min == -r.max || r == tq::Range{-127, 100}));
  }
}

TEST_CASE("both ends of an asymmetric range are found", "[calibrate]") {
  using A = Params<tq::uint8, tq::Asymmetric>;
  const auto score = [](tq::Affine a) {  // of the range [-0.3, 1.7]
    const double s = static_cast<double>(a.scale);
    return 1 + std::pow(-a.zero_point * s + 0.3, 2) + std::pow((255 - a.zero_point) * s - 1.7, 2);
  };
  const tq::Range r = best<A>({-6, 2}, score);
  CHECK(std::fabs(r.min + 0.3f) < 0.02f);
  CHECK(std::fabs(r.max - 1.7f) < 0.02f);
  const tq::Range positive =
      best<A>({3, 6}, [](tq::Affine a) { return 1 + octaves(a.scale, 5.0 / 255); });
  CHECK(std::fabs(positive.max - 5) < 0.02f);
  CHECK(positive.min == 0);
  const tq::Range negative =
      best<A>({-6, -3}, [](tq::Affine a) { return 1 + octaves(a.scale, 5.0 / 255); });
  CHECK(std::fabs(negative.min + 5) < 0.02f);
  CHECK(negative.max == 0);
}

TEST_CASE("the better of two valleys, the narrow one as well", "[calibrate]") {
  using S = Params<tq::int8, tq::Symmetric>;
  const auto score = [](tq::Affine a) {
    const double wide = 1 + 0.2 * octaves(a.scale, 0.9);
    const double narrow = 0.8 + 2 * octaves(a.scale, 0.2);
    return std::min(wide, narrow);
  };
  CHECK(octaves(tq::fit_affine<S>(best<S>({-127, 127}, score)).scale, 0.2) < 0.01);
}

TEST_CASE("the observed range wins ties, and is never beaten by a worse one", "[calibrate]") {
  using S = Params<tq::int8, tq::Symmetric>;
  constexpr double infinity = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  const tq::Range seen{-3, 5};
  CHECK(best<S>(seen, [](tq::Affine) { return 1.0; }) == seen);
  CHECK(best<S>(seen, [](tq::Affine) { return 0.0; }) == seen);
  CHECK(best<S>(seen, [](tq::Affine) { return -2.0; }) == seen);
  CHECK(best<S>(seen, [&](tq::Affine) { return infinity; }) == seen);
  CHECK(best<S>(seen, [&](tq::Affine) { return nan; }) == seen);
  CHECK(best<S>(seen, [](tq::Affine a) { return octaves(a.scale, 5.0 / 127); }) == seen);
}

TEST_CASE("other ties go to the wider range", "[calibrate]") {
  using S = Params<tq::int8, tq::Symmetric>;
  const tq::Range r = best<S>(
      {-127, 127}, [](tq::Affine a) { return a.scale < 0.9f && a.scale > 0.3f ? 1.0 : 2.0; });
  CHECK(r.max > 100);
}

TEST_CASE("scales of few values", "[calibrate]") {
  using P = Params<tq::int4, tq::Symmetric, tq::float8_e8m0fnu>;
  // Twice the scale of the observed range is within reach, and so is a fourth.
  for (const double wanted : {2.0, 1.0, 0.25}) {
    const tq::Range r = best<P>({-4, 4}, [&](tq::Affine a) { return octaves(a.scale, wanted); });
    CHECK(static_cast<double>(tq::fit_affine<P>(r).scale) == wanted);
  }
}

TEST_CASE("ranges stay finite, and above what is asked for", "[calibrate]") {
  constexpr float most = std::numeric_limits<float>::max();
  const auto larger = [](tq::Affine a) { return -static_cast<double>(a.scale); };
  const auto smaller = [](tq::Affine a) { return static_cast<double>(a.scale); };
  const tq::Range s = best<Params<tq::int8, tq::Symmetric>>({-most, most}, larger);
  CHECK(s == tq::Range{-most, most});
  const tq::Range a = best<Params<tq::int8, tq::Asymmetric>>({-most, most}, larger);
  CHECK(a == tq::Range{-most, most});
  CHECK(best<Params<tq::int8, tq::Symmetric>>({-8, 8}, smaller, 1.0).max > 0.5f);
}
