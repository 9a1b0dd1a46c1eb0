// SPDX-License-Identifier: MIT
#include <tq/observe/detail/histogram_state.hpp>
#include <tq/observe/histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity(),
                smallest = std::numeric_limits<float>::denorm_min();

using Small = tq::BasicHistogram<8>;

template <class H>
H whole(const std::vector<float>& x) {
  H h;
  h.add(x);
  return h;
}

std::vector<float> normal_values(std::size_t n, inputs::Random& r) {
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(r.normal());
  return x;
}

}  // namespace

TEST_CASE("impossible states are refused", "[histogram]") {
  using State = tq::HistogramState;
  inputs::Random r(5);
  const State good = whole<tq::Histogram>(normal_values(3000, r)).state();
  const auto refused = [](State s, const std::function<void(State&)>& change, const char* text) {
    change(s);
    test::raises(tq::errc::malformed, {"from_state", text},
                 [&] { (void)tq::Histogram::from_state(s); });
  };
  CHECK(tq::Histogram::from_state(good).state() == good);
  refused(good, [](State& s) { ++s.exponent; }, "exponent");
  refused(good, [](State& s) { --s.exponent; }, "exponent");
  refused(good, [](State& s) { ++s.first; }, "first bin");
  refused(good, [](State& s) { s.first += std::int64_t{1} << 32; }, "first bin");
  refused(good, [](State& s) { s.counts.push_back(1); }, "counts");
  refused(good, [](State& s) { s.counts.pop_back(); }, "counts");
  refused(good, [](State& s) { s.counts.resize(100000, 1); }, "counts");
  refused(good, [](State& s) { s.counts.front() = 0; }, "counts of min and max");
  refused(good, [](State& s) { s.counts.back() = 0; }, "counts of min and max");
  refused(good, [](State& s) { s.counts.clear(); }, "no counts");
  refused(good, [](State& s) { s.counts[9] = ~std::uint64_t{0} - 100; }, "2^64");
  refused(good, [](State& s) { s.nan = ~std::uint64_t{0}; }, "2^64");
  refused(good, [](State& s) { s.nan = s.infinite = ~std::uint64_t{0}; }, "2^64");
  refused(good, [](State& s) { std::swap(s.min, s.max); }, "min <= max");
  refused(good, [](State& s) { s.min = nan_value; }, "min <= max");
  refused(good, [](State& s) { s.max = nan_value; }, "min <= max");
  refused(good, [](State& s) { s.max = inf; }, "min <= max");
  refused(good, [](State& s) { s.min = -inf; }, "min <= max");
  refused(good, [](State& s) { s.max *= 2; }, "expected");
  refused(good, [](State& s) { s.min = 0; }, "expected");
  refused(good, [](State& s) { s.zeros = 3001; }, "zeros");
  refused(good, [](State& s) { s.values = {{0.5f, 1}}; }, "beyond");
  refused(good, [](State& s) { s.values = {{nan_value, 1}}; }, "beyond");
  refused(good, [](State& s) { s.values = {{inf, 1}}; }, "beyond");
  refused(good, [](State& s) { s.values = {{100, 0}}; }, "seen");
  refused(good, [](State& s) { s.values = {{100, 1}, {100, 1}}; }, "ascending");
  refused(good, [](State& s) { s.values = {{100, ~std::uint64_t{0}}}; }, "2^64");
  refused(
      good, [](State& s) { s.values.clear(), s.values.resize(9, {100, 1}); }, "at most 8 values");
  refused({}, [](State& s) { s.zeros = 1; }, "no counts");
  refused({}, [](State& s) { s.exponent = 1; }, "no counts");
  refused({}, [](State& s) { s.first = 1; }, "no counts");
  refused({}, [](State& s) { s.min = nan_value; }, "no counts");
  refused({}, [](State& s) { s.counts = {1}; }, "exponent");  // zeros have the finest bins
  State everything{3, 0, std::vector<std::uint64_t>(1126), 1, 9000,
                   0, 0};  // nothing was kept apart
  everything.counts.front() = 2;
  everything.counts.back() = 1;
  CHECK(tq::Histogram::from_state(everything).state() == everything);
  refused(everything, [](State& s) { s.max = s.min; }, "expected");
  const Small pair = whole<Small>({0.0f, smallest, -100.0f, -100.5f});
  CHECK(Small::from_state(pair.state()) == pair);

  State magnitudes = whole<tq::AbsHistogram>({-1, 2, -3}).state();
  CHECK(magnitudes.values == std::vector<tq::ValueCount>{{1, 1}, {2, 1}, {3, 1}});
  CHECK(tq::AbsHistogram::from_state(magnitudes).state() == magnitudes);
  magnitudes.values[0].value = -1;
  test::raises(tq::errc::malformed, {"from_state", "beyond"},
               [&] { (void)tq::AbsHistogram::from_state(magnitudes); });
  State binned = whole<tq::AbsHistogram>(normal_values(3000, r)).state();
  binned.min = -1;
  test::raises(tq::errc::malformed, {"from_state", "min <= max"},
               [&] { (void)tq::AbsHistogram::from_state(binned); });
}
