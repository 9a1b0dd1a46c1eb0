// SPDX-License-Identifier: MIT
#include <tq/observe/mean_std.hpp>
#include <tq/observe/observer.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

static_assert(tq::MomentAccumulator<tq::MeanStd>);

namespace {
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max(),
                smallest = std::numeric_limits<float>::denorm_min();

tq::MeanStd of(const std::vector<float>& x) {
  tq::MeanStd m;
  m.add(x);
  return m;
}
}  // namespace

TEST_CASE("mean and variance of finite values", "[mean_std]") {
  tq::MeanStd m;
  m.add(std::vector<float>{});
  m.add(std::vector<float>{nan_value, inf});
  CHECK(m.empty());
  m.add(std::vector<float>{2, 4, 4, 4, -inf, 5, 5, 7, 9});
  CHECK_FALSE(m.empty());
  CHECK(m.mean() == 5.0);
  CHECK(m.variance() == 4.0);
  CHECK(m.standard_deviation() == 2.0);
  CHECK(m.range() == tq::Range{2, 9});
  CHECK(m.count() == 11);
  CHECK(m.nan_count() == 1);
  CHECK(m.infinite_count() == 2);
  m.reset();
  CHECK(m == tq::MeanStd{});
}

TEST_CASE("nothing cancels", "[mean_std]") {
  // In double, the mean of squares less the square of the mean is off by more than 1 here.
  std::vector<float> x;
  for (int i = 0; i < 3000; ++i) x.push_back(16777216.0f + static_cast<float>(2 * (i % 3)));
  CHECK(of(x).mean() == 16777218.0);
  CHECK(of(x).variance() == 8.0 / 3);
  const tq::MeanStd same = of(std::vector<float>(1000000, 0.1f));
  CHECK(same.mean() == double{0.1f});
  CHECK(same.variance() == 0.0);
  const tq::MeanStd wide = of({biggest, -biggest, smallest, -smallest, 0, 0});
  CHECK(wide.mean() == 0.0);
  CHECK(wide.variance() == double{biggest} * double{biggest} / 3);
  const tq::MeanStd tiny = of({smallest, -smallest});
  CHECK(tiny.variance() == double{smallest} * double{smallest});
  CHECK(of({-biggest, -biggest}).mean() == -double{biggest});
}

TEST_CASE("moments are those of long double in two passes", "[mean_std]") {
  for (const float offset : {0.0f, -3.0f, 1000.0f}) {
    std::vector<float> x = inputs::normals(100003, 7);
    for (float& v : x) v += offset;
    long double sum = 0, squares = 0;
    for (const float v : x) sum += v;
    const long double mean = sum / static_cast<long double>(x.size());
    for (const float v : x) squares += (v - mean) * (v - mean);
    const double variance = static_cast<double>(squares / static_cast<long double>(x.size()));
    CHECK(std::fabs(of(x).mean() - static_cast<double>(mean)) <=
          1e-14 * (1 + std::fabs(static_cast<double>(offset))));
    CHECK(std::fabs(of(x).variance() - variance) <= 1e-12 * variance);
  }
}

TEST_CASE("neither order nor cuts change a bit of the moments", "[mean_std]") {
  inputs::Random r(1);
  std::vector<float> x(3000);
  for (float& v : x) v = inputs::value(r, 1.0f);
  const tq::MeanStd whole = of(x);
  REQUIRE(whole.nan_count() > 0);
  for (int round = 0; round < 30; ++round) {
    for (std::size_t i = x.size() - 1; i > 0; --i) std::swap(x[i], x[r.below(i + 1)]);
    tq::MeanStd merged;
    for (std::size_t first = 0; first < x.size();) {
      const std::size_t n = std::min(r.below(2500), x.size() - first);
      tq::MeanStd part;
      part.add(std::span(x).subspan(first, n));
      merged.merge(part);
      first += n;
    }
    REQUIRE(merged == whole);
    REQUIRE(merged.variance() == whole.variance());
  }
  CHECK(tq::MeanStd::from_state(whole.state()) == whole);
  CHECK(tq::MeanStd::from_state(tq::MeanStd{}.state()) == tq::MeanStd{});
}

TEST_CASE("states of moments that no stream leads to are refused", "[mean_std]") {
  const auto refused = [](auto&& change) {
    tq::MeanStd::State s = of({1, 2, -4}).state();
    change(s);
    test::raises(tq::errc::malformed, {"from_state"}, [&] { (void)tq::MeanStd::from_state(s); });
  };
  refused([](auto& s) { s.positive[3] = std::uint64_t{1} << 32; });
  refused([](auto& s) { s.positive[9] = 1; });
  refused([](auto& s) { s.seen.finite = 0; });
  refused([](auto& s) { s.seen.min = inf; });
  refused([](auto& s) { s.seen.max = -5; });
}
