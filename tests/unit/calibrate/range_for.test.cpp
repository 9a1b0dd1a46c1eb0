// SPDX-License-Identifier: MIT
#include <tq/calibrate/range_for.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>

#include <limits>

#include "support/catch.hpp"

namespace {

template <class Type, class Symmetry>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry>;

static_assert(tq::RangeFor<tq::MinMax, Params<tq::int8, tq::Asymmetric>>);
static_assert(tq::RangeFor<tq::Histogram, Params<tq::int8, tq::Asymmetric>>);
static_assert(!tq::RangeFor<tq::AbsHistogram, Params<tq::int8, tq::Asymmetric>>);
static_assert(tq::RangeFor<tq::AbsHistogram, Params<tq::int8, tq::Symmetric>>);
static_assert(tq::RangeFor<tq::AbsHistogram, Params<tq::int8, tq::SymmetricHalf>>);
static_assert(tq::RangeFor<tq::AbsHistogram, Params<tq::float4_e2m1fn, tq::Symmetric>>);

}  // namespace

TEST_CASE("what the codes of a range have to cover", "[calibrate]") {
  using tq::detail::covered, tq::detail::Decides;
  CHECK(covered({-2, 5}, Decides::ends) == 7);
  CHECK(covered({2, 5}, Decides::ends) == 5);
  CHECK(covered({-5, -2}, Decides::ends) == 5);
  CHECK(covered({-5, 2}, Decides::magnitude) == 5);
  CHECK(covered({-5, 2}, Decides::top) == 2);
  CHECK(covered({-5, -2}, Decides::top) == 0);
  constexpr float most = std::numeric_limits<float>::max();
  CHECK(covered({-most, most}, Decides::ends) == 2 * static_cast<double>(most));
}

namespace {

using Offset = Params<tq::uint4, tq::FloatOffset>;
static_assert(tq::RangeFor<tq::MinMax, Offset> && !tq::RangeFor<tq::AbsHistogram, Offset>);
static_assert(tq::detail::decides<Offset> == tq::detail::Decides::width);

}  // namespace

TEST_CASE("codes with an offset have to cover the distance of the ends", "[calibrate]") {
  using tq::detail::covered, tq::detail::Decides;
  CHECK(covered({2, 5}, Decides::width) == 3);
  CHECK(covered({-5, -2}, Decides::width) == 3);
  CHECK(covered({-5, -5}, Decides::width) == 0);
}
