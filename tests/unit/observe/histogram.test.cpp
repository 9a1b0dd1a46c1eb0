// SPDX-License-Identifier: MIT
#include <tq/observe/histogram.hpp>
#include <tq/observe/observer.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"
#include "support/thread_executor.hpp"

static_assert(tq::HistogramAccumulator<tq::Histogram> &&
              tq::HistogramAccumulator<tq::AbsHistogram>);
static_assert(tq::QuantileAccumulator<tq::Histogram> && !tq::MomentAccumulator<tq::Histogram>);
static_assert(!tq::Histogram::is_absolute && tq::AbsHistogram::is_absolute);
static_assert(std::is_trivially_copyable_v<tq::Histogram>);

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max(),
                smallest = std::numeric_limits<float>::denorm_min();

using Small = tq::BasicHistogram<8>;
using SmallAbs = tq::BasicHistogram<16, true>;

double index_of(float x, int exponent) {
  const double steps = std::floor(std::ldexp(std::fabs(static_cast<double>(x)), -exponent));
  return x < 0 ? -1 - steps : steps;
}

// The state by its definition: the least exponent that will do is searched from below.
template <std::size_t Bins, bool Absolute>
typename tq::BasicHistogram<Bins, Absolute>::State wanted(const std::vector<float>& x,
                                                          tq::BasicHistogram<Bins, Absolute>*) {
  typename tq::BasicHistogram<Bins, Absolute>::State s;
  std::vector<float> finite;
  for (const float v : x) {
    if (std::isnan(v)) ++s.nan;
    else if (std::isinf(v)) ++s.infinite;
    else finite.push_back(Absolute ? std::fabs(v) : v);
  }
  // Values kept apart: whole octaves from above, as long as there are at most eight different
  // values.
  std::map<float, std::uint64_t> times;
  for (const float v : finite)
    if (v != 0) ++times[v];
  int limit = -149;
  if (times.size() > 8) {  // the octave of the ninth is the first that has too many
    std::vector<float> magnitudes;
    for (const auto& [v, n] : times) magnitudes.push_back(std::fabs(v));
    std::nth_element(magnitudes.begin(), magnitudes.begin() + 8, magnitudes.end(),
                     std::greater<>{});
    limit = std::ilogb(magnitudes[8]) + 1;
  }
  const double least_apart = std::ldexp(1.0, limit);
  const auto is_apart = [&](float v) { return std::fabs(static_cast<double>(v)) >= least_apart; };
  for (const auto& [v, n] : times)
    if (is_apart(v)) s.values.push_back({v, n});
  std::erase_if(finite, is_apart);
  s.zeros = static_cast<std::uint64_t>(std::count(finite.begin(), finite.end(), 0.0f));
  if (finite.empty()) return s;
  s.min = s.max = finite[0];
  for (const float v : finite) {
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
  }
  if (s.min == 0) s.min = 0;  // never -0
  if (s.max == 0) s.max = 0;
  const double top =
      std::max(std::fabs(static_cast<double>(s.min)), std::fabs(static_cast<double>(s.max)));
  for (s.exponent = -149;; ++s.exponent) {
    if (top != 0 && s.exponent < std::floor(std::log2(top)) - 23) continue;
    if (index_of(s.max, s.exponent) - index_of(s.min, s.exponent) < static_cast<double>(Bins))
      break;
  }
  s.first = static_cast<std::int64_t>(index_of(s.min, s.exponent));
  const auto place = [&](float v) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(index_of(v, s.exponent)) - s.first);
  };
  s.counts.resize(place(s.max) + 1);
  for (const float v : finite) ++s.counts.at(place(v));
  return s;
}
template <class H>
auto wanted(const std::vector<float>& x) {
  return wanted(x, static_cast<H*>(nullptr));
}

template <class H>
bool same_bytes(const H& a, const H& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class H>
H whole(const std::vector<float>& x) {
  H h;
  h.add(x);
  return h;
}

// Kinds of data that need wide, narrow, shifted and growing windows.
std::vector<float> data(int kind, std::size_t n, inputs::Random& r) {
  std::vector<float> x(n);
  const auto normal = [&] { return static_cast<float>(r.normal()); };
  for (std::size_t i = 0; i < n; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(n);
    switch (kind) {
      case 0: x[i] = normal(); break;
      case 1: x[i] = std::max(0.0f, normal()); break;
      case 2: x[i] = inputs::value(r, 1.0f); break;    // all magnitudes, NaN, infinity
      case 3: x[i] = 1000 + 0.001f * normal(); break;  // far from zero
      case 4: x[i] = -7 - std::fabs(normal()); break;  // negative
      case 5: x[i] = static_cast<float>(r.between(-3000, 3000)) * smallest; break;  // denormal
      case 6: x[i] = r.chance(50) ? biggest : -biggest; break;
      case 7: x[i] = 0.1f; break;
      case 8: x[i] = r.chance(50) ? 0.0f : -0.0f; break;
      case 9:
        x[i] = std::ldexp(normal(), static_cast<int>(270 * share) - 145);
        break;  // doubling all the way
      case 10: x[i] = static_cast<float>(100 * share * (r.chance(50) ? 1 : 1.5)); break;  // rising
      case 11: x[i] = -static_cast<float>(100 * share); break;                            // falling
      case 12: x[i] = r.chance(1) ? (r.chance(50) ? nan_value : -inf) : normal(); break;
      case 13: x[i] = share < 0.5 ? 0 : normal(); break;  // nothing but zeros at first
      case 14:
        x[i] = std::ldexp(r.chance(50) ? 1.0f : -1.0f, r.between(-30, 3));
        break;  // on edges
      case 15: x[i] = r.chance(50) ? nan_value : inf; break;
      case 16:
        x[i] = static_cast<float>(r.between(-3000, 3000)) * (share < 0.9 ? 0 : smallest);
        break;
      case 17:
        x[i] = r.chance(50) ? -65504.0f : r.chance(1) ? 3 * normal() : normal();
        break;  // a mask
      case 18:
        x[i] = static_cast<float>(r.below(1 + static_cast<std::size_t>(40 * share))) - 3;
        break;  // few, and more
      default: x[i] = static_cast<float>(r.between(-128, 127)) * 0.25f; break;
    }
  }
  return x;
}
constexpr int kinds = 20;

// Checks the views of a histogram: all values in bins of one width, or values with their counts and
// the others in bins.
template <class H>
void check_views(const H& h, const typename H::State& s) {
  std::uint64_t in_bins = 0, known = 0, in_all = 0;
  const tq::BinCounts bins = h.bins();
  for (const std::uint64_t c : bins.counts) in_bins += c;
  std::vector<tq::ValueCount> points = s.values;
  if (s.zeros != 0) points.push_back({0, s.zeros});
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.value < b.value; });
  CHECK(h.points() == points);
  for (const tq::ValueCount& v : points) known += v.count;
  CHECK(in_bins + known == h.finite_count());
  if (!bins.counts.empty()) {
    CHECK(bins.range == tq::Range{s.min, s.max});
    CHECK(bins.width == std::ldexp(1.0, s.exponent));
    CHECK(bins.origin == std::ldexp(static_cast<double>(s.first), s.exponent));
    std::vector<std::uint64_t> without_zeros = s.counts;
    if (s.zeros != 0) without_zeros.at(static_cast<std::size_t>(-s.first)) -= s.zeros;
    CHECK((bins.counts == without_zeros));
  }
  const std::vector<std::uint64_t> all = h.counts();
  CHECK(all.empty() == h.empty());
  if (h.empty()) return;
  for (const std::uint64_t c : all) in_all += c;
  CHECK(in_all == h.finite_count());
  CHECK(all.front() != 0);
  CHECK(all.back() != 0);
  tq::Range whole{s.min, s.max};
  if (s.counts.empty()) whole = {s.values.front().value, s.values.front().value};
  for (const tq::ValueCount& v : s.values)
    whole = {std::min(whole.min, v.value), std::max(whole.max, v.value)};
  CHECK(h.range() == whole);
  CHECK(h.origin() <= static_cast<double>(whole.min));
  CHECK(h.origin() + h.bin_width() * static_cast<double>(all.size()) >=
        static_cast<double>(whole.max));
  if (!bins.counts.empty()) CHECK(h.bin_width() >= bins.width);
}

template <class H>
void check_cuts(const std::vector<float>& x, inputs::Random& r) {
  const auto state = wanted<H>(x);
  const H all = whole<H>(x);
  REQUIRE(all.state() == state);
  const auto same = [&](const H& h) {
    return same_bytes(h, all) && h == all && h.state() == state;
  };
  {
    H scalar;
    scalar.template add<tq::backend::native<tq::arch::scalar>>(x);
    CHECK(same(scalar));
  }
  for (const std::size_t batches : {3u, 1000u}) {
    H h;
    for (std::size_t i = 0; i < x.size();) {
      const std::size_t n = std::min(x.size() - i, 1 + r.below(2 * x.size() / batches + 1));
      h.add(std::span(x).subspan(i, n));
      i += n;
    }
    CHECK(same(h));
  }
  std::vector<float> shuffled = x;
  for (std::size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[r.below(i)]);
  CHECK(same(whole<H>(shuffled)));
  std::vector<H> parts(8);
  for (const float v : x) {
    H& part = parts[r.below(8)];
    part.add(std::span(&v, 1));
  }
  for (; parts.size() > 1; parts.pop_back()) {
    const std::size_t into = r.below(parts.size() - 1), from = parts.size() - 1;
    parts[into].merge(parts[from]);
    if (r.chance(50)) std::swap(parts[0], parts[into]);
  }
  CHECK(same(parts[0]));
  const std::size_t first = r.below(x.size() + 1);
  H begun = whole<H>({x.begin(), x.begin() + static_cast<std::ptrdiff_t>(first)});
  std::vector<H> shares(3, begun.share());
  for (std::size_t i = first; i < x.size(); ++i)
    shares[r.below(2)].add(std::span(&x[i], 1));  // the last one stays empty
  for (const H& share : shares) begun.merge(share);
  CHECK(same(begun));
  CHECK(same(H::from_state(state)));
  CHECK(all.count() == x.size());
  CHECK(all.finite_count() == x.size() - state.nan - state.infinite);
  CHECK(all.nan_count() == state.nan);
  CHECK(all.infinite_count() == state.infinite);
  CHECK(all.empty() == (state.counts.empty() && state.values.empty()));
  check_views(all, state);
}

}  // namespace

TEST_CASE("a histogram is a function of the values, not of their order or cuts", "[histogram]") {
  inputs::Random r(1);
  test::Share share;
  for (int kind = 0; kind < kinds; ++kind)
    for (const std::size_t n : {1u, 2u, 63u, 500u, 9000u, 70000u}) {
      if (n > 500 && !share.takes()) continue;
      INFO("kind " << kind << ", " << n << " values");
      const std::vector<float> x = data(kind, n, r);
      check_cuts<tq::Histogram>(x, r);
      if (n > 10000) continue;
      check_cuts<tq::AbsHistogram>(x, r);
      check_cuts<Small>(x, r);
      check_cuts<SmallAbs>(x, r);
      check_cuts<tq::BasicHistogram<8192>>(x, r);
    }
}

TEST_CASE("data of many kinds one after the other", "[histogram]") {
  inputs::Random r(2);
  test::Share share;
  for (int round = 0; round < 20; ++round) {
    if (!share.takes()) continue;
    std::vector<float> x;
    for (int i = 0; i < 6; ++i) {
      const std::vector<float> more =
          data(static_cast<int>(r.below(kinds)), 1 + r.below(round < 3 ? 90000 : 3000), r);
      x.insert(x.end(), more.begin(), more.end());
    }
    check_cuts<tq::Histogram>(x, r);
    check_cuts<SmallAbs>(x, r);
  }
}

TEST_CASE("counts in bins of one width are those of all values", "[histogram]") {
  inputs::Random r(8);
  for (int kind = 0; kind < kinds; ++kind) {
    const std::vector<float> x = data(kind, 3000, r);
    const auto h = whole<tq::Histogram>(x);
    if (h.empty()) continue;
    const int exponent = std::ilogb(h.bin_width());
    const auto first = static_cast<std::int64_t>(h.origin() / h.bin_width());
    std::vector<std::uint64_t> counts(h.counts().size());
    for (const float v : x)
      if (std::isfinite(v))
        ++counts.at(
            static_cast<std::size_t>(static_cast<std::int64_t>(index_of(v, exponent)) - first));
    INFO("kind " << kind);
    CHECK(h.counts() == counts);
  }
}

TEST_CASE("one value far out leaves the bins of the others as they are", "[histogram]") {
  inputs::Random r(9);
  std::vector<float> x = data(0, 10000, r);
  const tq::BinCounts before = whole<tq::Histogram>(x).bins();
  const float half = whole<tq::Histogram>(x).quantile(0.75);
  x.insert(x.begin() + 5000, {1e6f, -biggest, 1e6f});
  const auto h = whole<tq::Histogram>(x);
  CHECK(h.bins().counts == before.counts);
  CHECK(h.bins().width == before.width);
  CHECK(h.range() == tq::Range{-biggest, 1e6f});
  CHECK(h.quantile(1) == 1e6f);
  CHECK(std::fabs(h.quantile(0.75) - half) < 0.01f);
  CHECK(h.points().front() == tq::ValueCount{-biggest, 1});
  CHECK(h.points().back() == tq::ValueCount{1e6f, 2});
}

TEST_CASE("no data, and nothing that counts", "[histogram]") {
  tq::Histogram h;
  CHECK(h.empty());
  CHECK(h.counts().empty());
  h.add({});
  h.add(std::vector<float>{nan_value, inf, -inf});
  CHECK(h.empty());
  CHECK(h.count() == 3);
  CHECK(h.nan_count() == 1);
  CHECK(h.infinite_count() == 2);
  CHECK(h.state() == tq::Histogram::State{0, 0, {}, 0, 0, 1, 2});
  tq::Histogram other;
  other.merge(h);
  CHECK(same_bytes(h, other));
  other.add(std::vector<float>{2, 1});
  h.merge(other);
  CHECK(h.range() == tq::Range{1, 2});
  CHECK(h.count() == 8);
}

TEST_CASE("single values have the finest bins", "[histogram]") {
  for (const float v :
       {1.0f, -1.5f, 0.1f, biggest, -biggest, 3 * smallest, std::numeric_limits<float>::min()}) {
    const tq::Histogram h = whole<tq::Histogram>({v, v, v});
    CHECK(h.counts().size() == 1);
    CHECK(h.counts()[0] == 3);
    CHECK(h.bin_width() == std::max(std::ldexp(1.0, std::ilogb(v) - 23), std::ldexp(1.0, -149)));
    for (const double p : {0.0, 0.3, 1.0}) CHECK(h.quantile(p) == v);
  }
  CHECK(whole<tq::Histogram>({0.0f}).bin_width() == std::ldexp(1.0, -149));
}

TEST_CASE("counts have no ceiling that data could reach", "[histogram]") {
  inputs::Random r(3);
  tq::Histogram h = whole<tq::Histogram>(data(0, 3000, r));
  h.add(std::vector<float>{nan_value, inf});
  const tq::Histogram::State before = h.state();
  for (int i = 0; i < 40; ++i) h.merge(h);
  CHECK(h.count() == std::uint64_t{3002} << 40);
  CHECK(h.nan_count() == std::uint64_t{1} << 40);
  const tq::Histogram::State after = h.state();
  for (std::size_t i = 0; i < before.counts.size(); ++i)
    REQUIRE(after.counts[i] == before.counts[i] << 40);
  for (std::size_t i = 0; i < before.values.size(); ++i)
    REQUIRE(after.values[i].count == before.values[i].count << 40);
  const std::uint64_t least = h.counts()[0];
  h.add(std::vector<float>{h.range().min});
  CHECK(h.counts()[0] == least + 1);
  h.add(std::vector<float>{100});  // eight times as wide or more
  CHECK(h.finite_count() == (std::uint64_t{3000} << 40) + 2);
  CHECK(same_bytes(tq::Histogram::from_state(h.state()), h));

  tq::Histogram equal;
  equal.add(std::vector<float>(1000000, 0.0f));
  CHECK(equal.counts()[0] == 1000000);
  equal.add(data(0, 100, r));
  CHECK(equal.finite_count() == 1000100);
  CHECK(equal.counts()[static_cast<std::size_t>(-equal.origin() / equal.bin_width())] >= 1000000);
}

TEST_CASE("quantiles come from the bin they fall into", "[histogram][slow]") {
  inputs::Random r(4);
  for (int kind = 0; kind < kinds; ++kind) {
    std::vector<float> x = data(kind, 5000, r);
    const auto h = whole<tq::Histogram>(x);
    if (h.empty()) continue;
    std::erase_if(x, [](float v) { return !std::isfinite(v); });
    std::sort(x.begin(), x.end());
    CHECK(h.quantile(0) == x.front());
    CHECK(h.quantile(1) == x.back());
    const auto n = static_cast<double>(x.size());
    float last = x.front();
    for (int i = 0; i <= 1000; ++i) {
      const double p = i % 2 == 0 ? i / 1000.0 : r.unit() * 0.001 + i / 1000.0;
      if (p > 1) continue;
      const float q = h.quantile(p);
      const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(p * n)));
      const float wanted_value = x[rank - 1];
      INFO("kind " << kind << ", p = " << p);
      const auto points = h.points();
      const bool is_known = std::any_of(points.begin(), points.end(),
                                        [&](const auto& v) { return v.value == wanted_value; });
      if (is_known) {
        REQUIRE(q == wanted_value);
      } else {
        // The formula, over the values: those below the bin that the p * N-th value is in, and
        // those of that bin.
        const tq::BinCounts bins = h.bins();
        const int exponent = std::ilogb(bins.width);
        const double k = index_of(wanted_value, exponent);
        double below = 0, inside = 0;
        for (const float v : x) {
          const double at = index_of(v, exponent);
          const bool in_bin = at == k && v != 0;
          below += at < k || (at == k && v == 0) ? 1 : 0;
          inside += in_bin ? 1 : 0;
        }
        const double value = bins.width * (k + (p * n - below) / inside);
        const double clamped = std::min(std::max(value, static_cast<double>(bins.range.min)),
                                        static_cast<double>(bins.range.max));
        const double slack =
            1e-6 * std::fabs(clamped) + 1e-6 * bins.width + static_cast<double>(smallest);
        REQUIRE(std::fabs(static_cast<double>(q) - clamped) <= slack);
        REQUIRE(std::fabs(static_cast<double>(q) - static_cast<double>(wanted_value)) <=
                1.000001 * bins.width);
      }
      if (i % 2 == 0) {
        REQUIRE(q >= last);
        last = q;
      }
    }
  }
}

TEST_CASE("observers on threads begin with the bins that there are", "[histogram]") {
  inputs::Random r(7);
  for (const bool parallel : {true, false}) {
    const test::Awkward executor{{3}, parallel};
    tq::Observer<tq::Histogram, tq::PerChannel<0>> one, many;
    for (const float spread :
         {1.0f, 0.5f, 3.0f}) {  // bins that fit, that fit again, and that do not
      std::vector<float> x = data(0, 2 * 300000, r);
      for (float& v : x) v *= spread;
      one.observe(tq::ConstTensorView(x.data(), {2, 300000}));
      many.observe(tq::ConstTensorView(x.data(), {2, 300000}), executor);
      for (std::size_t i = 0; i < 2; ++i) REQUIRE(many.accumulators()[i] == one.accumulators()[i]);
    }
  }
}

TEST_CASE("observers keep a histogram per slot", "[histogram]") {
  inputs::Random r(6);
  const std::vector<float> x = data(12, 7 * 300, r);
  tq::Observer<tq::Histogram, tq::PerChannel<0>> rows;
  tq::Observer<tq::AbsHistogram, tq::PerChannel<-1>> columns;
  rows.observe(tq::ConstTensorView(x.data(), {7, 300}));
  columns.observe(tq::ConstTensorView(x.data(), {7, 300}));
  for (std::size_t i = 0; i < 7; ++i)
    REQUIRE(rows.accumulators()[i].state() ==
            wanted<tq::Histogram>({x.begin() + static_cast<std::ptrdiff_t>(300 * i),
                                   x.begin() + static_cast<std::ptrdiff_t>(300 * (i + 1))}));
  for (std::size_t c = 0; c < 300; ++c) {
    std::vector<float> column;
    for (std::size_t i = 0; i < 7; ++i) column.push_back(x[300 * i + c]);
    REQUIRE(columns.accumulators()[c].state() == wanted<tq::AbsHistogram>(column));
  }
}
