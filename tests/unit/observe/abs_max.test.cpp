// SPDX-License-Identifier: MIT
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

static_assert(tq::RangeAccumulator<tq::AbsMax>);

namespace {
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
}

TEST_CASE("the largest finite magnitude, of either sign", "[abs_max]") {
  tq::AbsMax m;
  CHECK(m.empty());
  m.add(std::vector<float>{});
  m.add(std::vector<float>{nan_value, -inf});
  CHECK(m.empty());
  CHECK(m.count() == 2);
  m.add(std::vector<float>{-0.0f});
  CHECK_FALSE(m.empty());
  CHECK(m.abs_max() == 0.0f);
  m.add(std::vector<float>{1, -3, 2, inf});
  CHECK(m.range() == tq::Range{-3, 3});
  tq::AbsMax other;
  other.add(std::vector<float>{5});
  m.merge(other);
  CHECK(m.abs_max() == 5.0f);
  CHECK(m.count() == 8);
  CHECK(m.nan_count() == 1);
  CHECK(m.infinite_count() == 2);
  CHECK(tq::AbsMax::from_state(m.state()) == m);
  m.reset();
  CHECK(m == tq::AbsMax{});
  CHECK(tq::AbsMax::from_state(m.state()) == m);
}

TEST_CASE("columns have the magnitudes of their values", "[abs_max]") {
  const std::size_t rows = 37, columns = 1030;
  const std::vector<float> x = inputs::normals(rows * columns, 5);
  tq::Observer<tq::AbsMax, tq::PerChannel<1>> seen;
  seen.observe(tq::ConstTensorView(x.data(), {rows, columns}));
  REQUIRE(seen.accumulators().size() == columns);
  for (std::size_t c = 0; c < columns; ++c) {
    float top = 0;
    for (std::size_t r = 0; r < rows; ++r) top = std::fmax(top, std::fabs(x[r * columns + c]));
    REQUIRE(seen.accumulators()[c].abs_max() == top);
    REQUIRE(seen.accumulators()[c].count() == rows);
  }
}

TEST_CASE("states of magnitudes that no stream leads to are refused", "[abs_max]") {
  for (const float bad : {-1.0f, nan_value, inf})
    test::raises(tq::errc::malformed, {"tq::AbsMax::from_state"},
                 [&] { (void)tq::AbsMax::from_state({bad, 1, 0, 0}); });
  test::raises(tq::errc::malformed, {"tq::AbsMax::from_state"},
               [] { (void)tq::AbsMax::from_state({1, 0, 0, 0}); });
}
