// SPDX-License-Identifier: MIT
#include <tq/observe/min_max.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

static_assert(tq::Accumulator<tq::MinMax> && tq::RangeAccumulator<tq::MinMax>);
static_assert(!tq::HistogramAccumulator<tq::MinMax>);

namespace {
struct Count {  // the smallest accumulator
  std::uint64_t n = 0;
  void add(std::span<const float> x) { n += x.size(); }
  void merge(const Count& o) { n += o.n; }
  [[nodiscard]] bool empty() const { return n == 0; }
};
struct WithoutMerge {
  void add(std::span<const float>) {}
  [[nodiscard]] bool empty() const { return true; }
};
static_assert(tq::Accumulator<Count> && !tq::RangeAccumulator<Count>);
static_assert(!tq::Accumulator<WithoutMerge>);

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max(),
                smallest = std::numeric_limits<float>::denorm_min();
}  // namespace

TEST_CASE("NaN and infinities are skipped and counted", "[min_max]") {
  tq::MinMax m;
  CHECK(m.empty());
  m.add(std::vector<float>{});
  CHECK(m.empty());
  CHECK(m.count() == 0);
  m.add(std::vector<float>{nan_value, inf, -inf});
  CHECK(m.empty());
  CHECK(m.count() == 3);
  m.add(std::vector<float>{1, nan_value, -2, inf});
  CHECK_FALSE(m.empty());
  CHECK(m.range() == tq::Range{-2, 1});
  CHECK(m.nan_count() == 2);
  CHECK(m.infinite_count() == 3);
  CHECK(m.count() == 7);
}

TEST_CASE("the largest and the smallest floats count", "[min_max]") {
  tq::MinMax m;
  m.add(std::vector<float>{-smallest, smallest});
  CHECK(m.range() == tq::Range{-smallest, smallest});
  m.add(std::vector<float>{-biggest, biggest});
  CHECK(m.range() == tq::Range{-biggest, biggest});
}

TEST_CASE("merging is adding", "[min_max]") {
  inputs::Random r(1);
  std::vector<float> x(1000);
  for (float& v : x) v = inputs::value(r, 1.0f);
  tq::MinMax whole;
  whole.add(x);
  for (const std::size_t cut : {0u, 1u, 17u, 500u, 999u, 1000u}) {
    tq::MinMax a, b;
    a.add(std::span(x).first(cut));
    b.add(std::span(x).subspan(cut));
    b.merge(a);
    b.merge(tq::MinMax{});
    CHECK(b.range() == whole.range());
    CHECK(b.count() == 1000);
    CHECK(b.nan_count() == whole.nan_count());
    CHECK(b.infinite_count() == whole.infinite_count());
  }
}

TEST_CASE("columns go to their slots", "[min_max]") {
  std::vector<float> x(7 * 1300);
  inputs::Random r(2);
  for (float& v : x) v = inputs::value(r, 1.0f);
  std::vector<tq::MinMax> slots(1290), wanted(1290);
  tq::MinMax::add_columns(slots, x.data(), 7, 1300);
  for (std::size_t c = 0; c < slots.size(); ++c) {
    for (std::size_t k = 0; k < 7; ++k) wanted[c].add(std::span(&x[k * 1300 + c], 1));
    REQUIRE(slots[c].empty() == wanted[c].empty());
    REQUIRE((slots[c].empty() || slots[c].range() == wanted[c].range()));
    REQUIRE(slots[c].count() == 7);
    REQUIRE(slots[c].nan_count() == wanted[c].nan_count());
    REQUIRE(slots[c].infinite_count() == wanted[c].infinite_count());
  }
}

TEST_CASE("which zero came first does not show", "[min_max]") {
  for (const std::vector<float>& x :
       {std::vector<float>{-0.0f, 0.0f}, std::vector<float>{0.0f, -0.0f}}) {
    tq::MinMax m;
    m.add(x);
    CHECK_FALSE(std::signbit(m.range().min));
    CHECK_FALSE(std::signbit(m.range().max));
  }
}
