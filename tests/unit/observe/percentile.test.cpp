// SPDX-License-Identifier: MIT
#include <tq/observe/observer.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

static_assert(tq::QuantileAccumulator<tq::Percentile> && !tq::HistogramAccumulator<tq::Percentile>);
static_assert(std::is_trivially_copyable_v<tq::Percentile>);

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max();
constexpr std::size_t capacity = tq::Percentile::capacity;

// Linear interpolation between the two values next to position p * (n - 1).
double linear(const std::vector<float>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1), below = std::floor(at);
  const auto i = static_cast<std::size_t>(below);
  const auto lo = static_cast<double>(sorted[i]);
  const auto hi = static_cast<double>(sorted[std::min(i + 1, sorted.size() - 1)]);
  return lo * (1 - (at - below)) + hi * (at - below);
}

std::vector<float> values(std::size_t finite, std::size_t others, inputs::Random& r) {
  std::vector<float> x;
  for (std::size_t i = 0; i < finite; ++i)
    x.push_back(r.chance(20) ? 0.0f : r.chance(20) ? -0.0f : static_cast<float>(r.normal()));
  for (std::size_t i = 0; i < others; ++i)
    x.push_back(r.chance(50) ? nan_value : r.chance(50) ? inf : -inf);
  for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[r.below(i)]);
  return x;
}
std::vector<float> sorted(std::vector<float> x) {
  std::erase_if(x, [](float v) { return !std::isfinite(v); });
  std::sort(x.begin(), x.end());
  return x;
}
tq::Percentile whole(const std::vector<float>& x) {
  tq::Percentile p;
  p.add(x);
  return p;
}

}  // namespace

TEST_CASE("quantiles of few values are theirs", "[percentile]") {
  inputs::Random r(1);
  for (const std::size_t n : {1u, 2u, 3u, 10u, 101u, 4095u, 4096u}) {
    const std::vector<float> x = values(n, n / 3, r), order = sorted(x);
    const tq::Percentile seen = whole(x);
    REQUIRE(seen.is_exact());
    CHECK(seen.range() == tq::Range{order.front(), order.back()});
    CHECK(seen.quantile(0) == order.front());
    CHECK(seen.quantile(1) == order.back());
    for (int i = 0; i <= 200; ++i) {
      const double p = i <= 100 ? i / 100.0 : r.unit(), expected = linear(order, p);
      INFO(n << " values, p = " << p);
      CHECK(std::fabs(static_cast<double>(seen.quantile(p)) - expected) <=
            1e-7 * std::fabs(expected) + 1e-14);
    }
    for (std::size_t i = 0; i < n && n < 200; ++i)  // the values themselves
      CHECK(std::fabs(
                seen.quantile(static_cast<double>(i) / std::max(1.0, static_cast<double>(n - 1))) -
                order[i]) <= 1e-6f);
  }
  const tq::Percentile two = whole({-biggest, biggest});
  CHECK(two.quantile(0.5) == 0);
  CHECK(two.quantile(0.25) == -biggest / 2);
  CHECK(two.quantile(1) == biggest);
  CHECK(whole({1, 2, 3, 4}).quantile(0.5) == 2.5f);
  CHECK(whole({4, 1, 3, 2}).quantile(0.9) == 3.7f);
}

TEST_CASE("quantiles of many values are those of their histogram", "[percentile]") {
  inputs::Random r(2);
  for (const std::size_t n : {4097u, 5000u, 100000u}) {
    const std::vector<float> x = values(n, 100, r);
    const tq::Percentile seen = whole(x);
    tq::Histogram h;
    h.add(x);
    REQUIRE_FALSE(seen.is_exact());
    CHECK(seen.range() == h.range());
    CHECK(seen.count() == n + 100);
    for (int i = 0; i <= 100; ++i) CHECK(seen.quantile(i / 100.0) == h.quantile(i / 100.0));
    const std::vector<float> order = sorted(x);
    for (int i = 1; i < 100; ++i)
      CHECK(std::fabs(static_cast<double>(seen.quantile(i / 100.0)) - linear(order, i / 100.0)) <=
            2 * h.bin_width() + 0.01);
  }
}

TEST_CASE("what is kept depends on the values alone", "[percentile]") {
  inputs::Random r(3);
  for (const std::size_t n : {0u, 1u, 100u, 4095u, 4096u, 4097u, 4500u, 20000u})
    for (const std::size_t others : {0u, 7u, 6000u}) {
      const std::vector<float> x = values(n, others, r);
      INFO(n << " values and " << others << " others");
      const tq::Percentile all = whole(x);
      CHECK(all.is_exact() == (n <= capacity));
      CHECK(all.empty() == (n == 0));
      CHECK(all.count() == n + others);
      CHECK(all.nan_count() + all.infinite_count() == others);
      const tq::Percentile::State state = all.state();
      if (n <= capacity) {
        CHECK(state.values == sorted(x));
        CHECK(
            std::ranges::none_of(state.values, [](float v) { return v == 0 && std::signbit(v); }));
      }
      const auto same = [&](const tq::Percentile& p) {
        return p == all && p.state() == state && p.is_exact() == all.is_exact();
      };
      tq::Percentile scalar;
      scalar.add<tq::backend::native<tq::arch::scalar>>(x);
      CHECK(same(scalar));
      for (const std::size_t step : {1u, 50u, 3000u}) {
        tq::Percentile cut;
        for (std::size_t i = 0; i < x.size();) {
          const std::size_t m = std::min(x.size() - i, 1 + r.below(step));
          cut.add(std::span(x).subspan(i, m));
          i += m;
        }
        CHECK(same(cut));
      }
      std::vector<float> shuffled = x;
      for (std::size_t i = shuffled.size(); i > 1; --i)
        std::swap(shuffled[i - 1], shuffled[r.below(i)]);
      CHECK(same(whole(shuffled)));
      for (const std::size_t uneven :
           {1u, 5u}) {  // parts that keep values, and parts that have too many
        std::vector<tq::Percentile> parts(8);
        for (std::size_t i = 0; i < x.size();) {
          const std::size_t m = std::min(x.size() - i, 1 + r.below(700 * uneven));
          parts[r.below(8) / uneven].add(std::span(x).subspan(i, m));
          i += m;
        }
        for (; parts.size() > 1; parts.pop_back())
          parts[r.below(parts.size() - 1)].merge(parts.back());
        CHECK(same(parts[0]));
      }
      CHECK(same(tq::Percentile::from_state(state)));
    }
}

TEST_CASE("merging with oneself doubles", "[percentile]") {
  inputs::Random r(4);
  const std::vector<float> x = values(1500, 10, r);
  std::vector<float> twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  tq::Percentile p = whole(x);
  p.merge(p);
  CHECK(p.is_exact());
  CHECK(p == whole(twice));
  for (int i = 0; i < 30; ++i) p.merge(p);
  CHECK_FALSE(p.is_exact());
  CHECK(p.count() == std::uint64_t{1510} << 31);
  CHECK_FALSE(p == whole(twice));
}

TEST_CASE("impossible states of a percentile are refused", "[percentile]") {
  using State = tq::Percentile::State;
  inputs::Random r(5);
  const State few = whole(values(100, 9, r)).state(), many = whole(values(5000, 9, r)).state();
  REQUIRE(many.histogram.has_value());
  const auto refused = [](State s, const std::function<void(State&)>& change, const char* text) {
    change(s);
    test::raises(tq::errc::malformed, {"from_state", text},
                 [&] { (void)tq::Percentile::from_state(s); });
  };
  CHECK(tq::Percentile::from_state(few).state() == few);
  CHECK(tq::Percentile::from_state(many).state() == many);
  CHECK(tq::Percentile::from_state({}) == tq::Percentile());
  refused(few, [](State& s) { std::swap(s.values.front(), s.values.back()); }, "ascending");
  refused(few, [](State& s) { s.values.back() = inf; }, "finite");
  refused(few, [](State& s) { s.values[50] = nan_value; }, "finite");
  refused(few, [](State& s) { s.values.resize(capacity + 1, 9.0f); }, "4096");
  refused(few, [](State& s) { s.nan = ~std::uint64_t{0} - 50; }, "2^64");
  refused(few, [&](State& s) { s.histogram = many.histogram; }, "both");
  refused(many, [](State& s) { ++s.histogram->nan; }, "finite values");
  refused(many, [](State& s) { ++s.histogram->infinite; }, "finite values");
  refused(many, [](State& s) { ++s.histogram->first; }, "first bin");
  refused(many, [](State& s) { s.infinite = ~std::uint64_t{0}; }, "2^64");
  refused(
      many,
      [](State& s) {
        s.histogram->zeros = 0;
        for (auto& c : s.histogram->counts) c = 1;
      },
      "more than 4096");
}

TEST_CASE("observers keep a percentile per slot", "[percentile]") {
  inputs::Random r(6);
  const std::vector<float> x = values(6 * 5000, 0, r);
  tq::Observer<tq::Percentile, tq::PerChannel<0>> rows;
  tq::Observer<tq::Percentile, tq::PerChannel<-1>> columns;
  rows.observe(tq::ConstTensorView(x.data(), {6, 5000}));
  columns.observe(tq::ConstTensorView(x.data(), {5000, 6}));
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<float> row, column;
    for (std::size_t k = 0; k < 5000; ++k) {
      row.push_back(x[5000 * i + k]);
      column.push_back(x[6 * k + i]);
    }
    CHECK(rows.accumulators()[i] == whole(row));
    CHECK(columns.accumulators()[i] == whole(column));
  }
}
