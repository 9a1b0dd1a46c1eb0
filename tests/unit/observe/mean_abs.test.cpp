// SPDX-License-Identifier: MIT
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/observer.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

static_assert(tq::Accumulator<tq::MeanAbs> && tq::MeanAbsAccumulator<tq::MeanAbs>);
static_assert(!tq::RangeAccumulator<tq::MeanAbs>);

namespace {
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max(),
                smallest = std::numeric_limits<float>::denorm_min();

tq::MeanAbs of(const std::vector<float>& x) {
  tq::MeanAbs m;
  m.add(x);
  return m;
}
}  // namespace

TEST_CASE("NaN and infinities have no magnitude, and are counted", "[mean_abs]") {
  tq::MeanAbs m;
  CHECK(m.empty());
  m.add(std::vector<float>{});
  m.add(std::vector<float>{nan_value, -inf, inf});
  CHECK(m.empty());
  CHECK(m.sum() == 0.0);
  CHECK(m.count() == 3);
  m.add(std::vector<float>{1, nan_value, -2, 0, -0.0f, inf});
  CHECK_FALSE(m.empty());
  CHECK(m.sum() == 3.0);
  CHECK(m.mean_abs() == 0.75);
  CHECK(m.count() == 9);
  CHECK(m.nan_count() == 2);
  CHECK(m.infinite_count() == 3);
}

TEST_CASE("every binade is summed exactly", "[mean_abs]") {
  for (int e = -149; e <= 127; ++e) {
    const float one = std::ldexp(1.0f, e), most = std::nextafter(2 * one, 0.0f);
    const float v = e == 127 ? biggest : most > one ? most : one;
    INFO(e);
    CHECK(of({-one, one, one}).sum() == 3 * double{one});
    CHECK(of({v}).sum() == double{v});
    CHECK(of({-v, v, -v, v}).sum() == 4 * double{v});
    CHECK(of({v, smallest}).sum() == double{v} + double{smallest});
  }
  CHECK(of({smallest, 0}).mean_abs() == double{smallest} / 2);
}

TEST_CASE("small values count beside large ones", "[mean_abs]") {
  // In one double 2^60 + 1 is 2^60, however often 1 is added.
  std::vector<float> x(4097, 1.0f);
  x[0] = 0x1p60f;
  CHECK(of(x).sum() == 0x1p60 + 4096);
  std::reverse(x.begin(), x.end());
  CHECK(of(x).sum() == 0x1p60 + 4096);
}

TEST_CASE("the sum is that of long double", "[mean_abs]") {
  const std::vector<float> x = inputs::normals(20000, 3);
  long double wanted = 0;
  for (const float v : x) wanted += std::fabs(static_cast<long double>(v));
  CHECK(std::fabs(of(x).sum() - static_cast<double>(wanted)) <= 1e-15 * 20000);
}

TEST_CASE("neither order nor cuts change a bit", "[mean_abs]") {
  inputs::Random r(1);
  std::vector<float> x(3000);
  for (float& v : x) v = inputs::value(r, 1.0f);
  const tq::MeanAbs whole = of(x);
  REQUIRE(whole.nan_count() > 0);
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = x.size() - 1; i > 0; --i) std::swap(x[i], x[r.below(i + 1)]);
    tq::MeanAbs merged;
    for (std::size_t first = 0; first < x.size();) {
      const std::size_t n = std::min(r.below(900), x.size() - first);
      tq::MeanAbs part;
      part.add(std::span(x).subspan(first, n / 2));
      part.add(std::span(x).subspan(first + n / 2, n - n / 2));
      merged.merge(part);
      first += n;
    }
    merged.merge(tq::MeanAbs{});
    REQUIRE(merged.sum() == whole.sum());
    REQUIRE(merged.count() == whole.count());
    REQUIRE(merged.nan_count() == whole.nan_count());
    REQUIRE(merged.infinite_count() == whole.infinite_count());
  }
}

TEST_CASE("doubling by merging reaches the largest sums", "[mean_abs]") {
  tq::MeanAbs m = of({biggest});
  for (int i = 1; i <= 63; ++i) {
    m.merge(tq::MeanAbs(m));
    REQUIRE(m.sum() == std::ldexp(double{biggest}, i));
    REQUIRE(m.mean_abs() == double{biggest});
  }
}

TEST_CASE("an observer gives every slot its mean", "[mean_abs]") {
  const std::vector<float> x{1, -2, 3, 4, 5, -6};
  tq::Observer<tq::MeanAbs, tq::PerChannel<0>> rows;
  tq::Observer<tq::MeanAbs, tq::PerChannel<1>> columns;
  rows.observe(tq::ConstTensorView(x.data(), {2, 3}));
  columns.observe(tq::ConstTensorView(x.data(), {2, 3}));
  REQUIRE(rows.accumulators().size() == 2);
  CHECK(rows.accumulators()[0].mean_abs() == 2.0);
  CHECK(rows.accumulators()[1].mean_abs() == 5.0);
  REQUIRE(columns.accumulators().size() == 3);
  CHECK(columns.accumulators()[0].mean_abs() == 2.5);
  CHECK(columns.accumulators()[1].mean_abs() == 3.5);
  CHECK(columns.accumulators()[2].mean_abs() == 4.5);
}
