// SPDX-License-Identifier: MIT
#include <tq/json/detail/accumulator_json.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

using tq::errc;
using namespace tq::io;
using test::has;
using test::refused;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN(),
                most = std::numeric_limits<float>::max();

// Values of every size, both zeros, and what is skipped.
std::vector<float> awkward(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x;
  for (const float v : {0.0f, -0.0f, nan_value, inf, -inf, 0x1p-149f, -0x1p-126f, 0.1f})
    x.push_back(v);
  while (x.size() < n) {
    const float v = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    x.push_back(x.size() % 3 == 0 ? v : static_cast<float>(random() % 1000) / 300 - 1);
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

template <class A>
A seen(std::span<const float> x) {
  A a;
  a.add(x);
  return a;
}

template <class A>
A restored(const A& a) {
  return accumulator_from_json<A>(parse_json(accumulator_to_json(a).dump()));
}

// Stored, restored, continued and merged, an accumulator is what it would have been without.
template <class A>
void survives() {
  INFO(AccumulatorJson<A>::name());
  CHECK(restored(A{}) == A{});
  CHECK(restored(seen<A>(std::vector<float>{nan_value, inf, nan_value})).nan_count() == 2);
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const std::vector<float> x = awkward(seed < 8 ? 40 * seed : 20000, seed);
    const std::span<const float> all(x);
    const A whole = seen<A>(all);
    const std::string text = accumulator_to_json(whole).dump();
    CHECK(restored(whole) == whole);
    CHECK(accumulator_to_json(restored(whole)).dump() == text);
    std::mt19937 random(seed);
    for (int cuts = 0; cuts < 4; ++cuts) {
      const std::size_t at = random() % x.size();
      A part = restored(seen<A>(all.first(at)));
      part.add(all.subspan(at));
      CHECK(part == whole);
      CHECK(accumulator_to_json(part).dump() == text);
      A merged = restored(seen<A>(all.subspan(at)));
      merged.merge(restored(seen<A>(all.first(at))));
      CHECK(merged == whole);
      CHECK(accumulator_to_json(merged).dump() == text);
    }
    std::vector<float> backwards(x.rbegin(), x.rend());
    CHECK(accumulator_to_json(seen<A>(backwards)).dump() == text);
  }
}

template <class A>
std::string refuse(errc code, Json json, const char* key, const Json& value) {
  if (value.is_discarded()) json.erase(key);
  else json[key] = value;
  return refused(code, [&] { (void)accumulator_from_json<A>(json, "relu1.json"); });
}
const Json none(Json::value_t::discarded);

// A user's own.
struct Count {
  std::uint64_t n = 0;
  void add(std::span<const float> x) { n += x.size(); }
  void merge(const Count& o) { n += o.n; }
  [[nodiscard]] bool empty() const { return n == 0; }
  struct State {
    std::uint64_t n;
  };
  [[nodiscard]] State state() const { return {n}; }
  [[nodiscard]] static Count from_state(const State& s) { return {s.n}; }
};

}  // namespace

template <>
struct tq::io::AccumulatorJson<Count> {
  static std::string name() { return "count"; }
  static Json fields(const Count::State& s) { return {{"n", s.n}}; }
  static Count::State state(JsonFields& json) { return {json.count("n")}; }
};

TEST_CASE("every accumulator comes back exactly and continues, however the data were cut") {
  survives<tq::MinMax>();
  survives<tq::AbsMax>();
  survives<tq::MeanAbs>();
  survives<tq::MeanStd>();
  survives<tq::Histogram>();
  survives<tq::AbsHistogram>();
  survives<tq::BasicHistogram<8>>();
  survives<tq::Percentile>();
}

TEST_CASE("a moving average comes back with its constant and every batch") {
  using tq::MovingAverageMinMax;
  const MovingAverageMinMax empty(0.3, MovingAverageMinMax::Keeps::batches);
  MovingAverageMinMax whole = empty, front = empty, back = empty;
  for (std::uint64_t b = 0; b < 20; ++b) {
    const std::vector<float> x = awkward(20 + b, static_cast<unsigned>(b));
    for (MovingAverageMinMax* a : {&whole, b % 3 == 0 ? &front : &back}) {
      a->begin_batch(b * 0x123456789abcdefu % 1000000007u);
      a->add(x);
    }
  }
  CHECK(restored(whole) == whole);
  CHECK(restored(whole).range() == whole.range());
  MovingAverageMinMax merged = restored(front);
  merged.merge(restored(back));
  CHECK(merged == whole);
  CHECK(accumulator_to_json(merged).dump() == accumulator_to_json(whole).dump());
  CHECK(restored(MovingAverageMinMax(1.0 / 3)).constant() == 1.0 / 3);
  MovingAverageMinMax average(0.3);
  for (std::uint64_t b = 0; b < 20; ++b) {
    average.begin_batch(b);
    average.add(awkward(20 + b, static_cast<unsigned>(b)));
    CHECK(restored(average) == average);
  }
}

TEST_CASE("an accumulator of the user's is stored by its model") {
  static_assert(StorableAccumulator<Count> && StorableAccumulator<tq::Histogram>);
  CHECK(accumulator_to_json(Count{~0ull}).dump() ==
        R"({"accumulator":"count","n":18446744073709551615})");
  CHECK(restored(Count{~0ull}).n == ~0ull);
}

TEST_CASE("the documents of accumulators are these") {
  const std::vector<float> x{0.1f, -1.5f, -0.0f, nan_value, 2, -inf};
  CHECK(accumulator_to_json(seen<tq::MinMax>(x)).dump() ==
        R"({"accumulator":"min_max","finite":4,"infinite":1,"max":2.0,"min":-1.5,"nan":1})");
  CHECK(accumulator_to_json(seen<tq::AbsMax>(x)).dump() ==
        R"({"abs_max":2.0,"accumulator":"abs_max","finite":4,"infinite":1,"nan":1})");
  CHECK(
      accumulator_to_json(seen<tq::MeanAbs>(std::vector<float>{0x1p-149f, -0x1p-117f})).dump() ==
      R"({"accumulator":"mean_abs","finite":2,"infinite":0,"nan":0,"sum":[1,1,0,0,0,0,0,0,0,0,0]})");
  const Json mean_std = accumulator_to_json(seen<tq::MeanStd>(std::vector<float>{1, -3}));
  CHECK(mean_std["min"] == -3.0);
  CHECK(mean_std["positive"][4] == 1u << 21);  // 2^149
  CHECK(mean_std["negative"][4] == 3u << 21);
  CHECK(mean_std["squares"][9] == 10u << 10);  // 10 * 2^298
  tq::MovingAverageMinMax moving(0.25);
  moving.begin_batch(7);
  moving.add(x);
  CHECK(accumulator_to_json(moving) ==
        Json::parse(R"({"accumulator": "moving_average", "constant": 0.25, "batches": [7],
                        "min": [-1.5], "max": [2.0], "finite": 4, "nan": 1, "infinite": 1,
                        "keeps": "average"})"));
  moving.begin_batch(9);
  moving.add(std::vector<float>{1});
  CHECK(accumulator_to_json(moving) ==
        Json::parse(R"({"accumulator": "moving_average", "constant": 0.25, "batches": [9],
                        "min": [1.0], "max": [1.0], "finite": 5, "nan": 1, "infinite": 1,
                        "keeps": "average", "average": [-1.5, 2.0]})"));
  // 2^-4 wide bins of 8: nine values below 1, of which 0.4 is in bin 6; the others are not in bins.
  std::vector<float> y(9, 0.0f);
  for (int i = 1; i <= 9; ++i) y.push_back(0.26f + 0.02f * static_cast<float>(i - 1));
  for (const float v : {1.2f, -9.0f, 1.2f}) y.push_back(v);
  CHECK(
      accumulator_to_json(seen<tq::BasicHistogram<8>>(y)) ==
      Json::parse(
          R"({"accumulator": "histogram_8", "exponent": -4, "first": 0, "counts": [9, -3, 3, 3, 3],
                        "min": 0.0, "max": 0.42, "nan": 0, "infinite": 0, "zeros": 9,
                        "values": [-9.0, 1.2], "times": [1, 2]})"));
  CHECK(accumulator_to_json(seen<tq::Percentile>(x)) ==
        Json::parse(R"({"accumulator": "percentile", "values": [-1.5, 0.0, 0.1, 2.0], "nan": 1,
                        "infinite": 1})"));
  const std::vector<float> many(5000, 0.75f);
  CHECK(accumulator_to_json(seen<tq::Percentile>(many)) ==
        Json::parse(R"({"accumulator": "percentile", "nan": 0, "infinite": 0, "histogram":
                        {"exponent": 0, "first": 0, "counts": [], "min": 0.0, "max": 0.0,
                         "nan": 0, "infinite": 0, "zeros": 0, "values": [0.75], "times": [5000]}})"));
  CHECK(accumulator_to_json(seen<tq::AbsHistogram>(x))["accumulator"] == "abs_histogram");
}

TEST_CASE(
    "documents from before zeros were counted, and values kept apart, are read and continued") {
  const Json old = Json::parse(
      R"({"accumulator": "histogram_8", "exponent": -2, "first": -2, "counts": [2, -5, 1],
          "min": -0.49, "max": 1.2, "nan": 0, "infinite": 0})");
  using H = tq::BasicHistogram<8>;
  H h = accumulator_from_json<H>(old);
  CHECK(h.counts() == std::vector<std::uint64_t>{2, 0, 0, 0, 0, 0, 1});
  CHECK(h.range() == tq::Range{-0.49f, 1.2f});
  CHECK(h.points().empty());
  h.add(std::vector<float>{0, 7, 0, 7});
  CHECK(h.points() == std::vector<tq::ValueCount>{{0, 2}, {7, 2}});
  CHECK(h.finite_count() == 7);
  H later = seen<H>(std::vector<float>{0, 7, 0, 7});
  later.merge(accumulator_from_json<H>(old));
  CHECK(later == h);
  Json moments = accumulator_to_json(seen<tq::MeanStd>(std::vector<float>{0, 1, -3}));
  CHECK(moments["zeros"] == 1);
  moments.erase("zeros");
  CHECK(accumulator_from_json<tq::MeanStd>(moments).zero_count() == 0);
}

TEST_CASE("floats are written in few digits that mean exactly them") {
  for (const float x : {0.1f, -0.3f, 1.0f / 3, 123456.78f, 16777216.0f, 1e-7f, 0x1p-149f, most,
                        -most, 0x1p-126f, 3.0f, 1e10f, 1e22f}) {
    const tq::MinMax one = seen<tq::MinMax>(std::vector<float>{x});
    CHECK(restored(one).range().min == x);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(x)) REQUIRE(static_cast<float>(detail::short_number(x)) == x);
  }
  CHECK(Json(detail::short_number(0.1f)).dump() == "0.1");
  CHECK(Json(detail::short_number(-1.0f / 3)).dump() == "-0.33333334");
  CHECK(Json(detail::short_number(1e-7f)).dump() == "1e-07");
  CHECK(Json(detail::short_number(-0.0f)).dump() == "0.0");
}

TEST_CASE("a histogram takes no more room than it has to say") {
  tq::Histogram wide = seen<tq::Histogram>(std::vector<float>{-1e30f, 1e30f, 0});
  CHECK(accumulator_to_json(wide).dump().size() < 200);
  std::vector<float> x(100000);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& v : x) v = normal(random);
  CHECK(accumulator_to_json(seen<tq::Histogram>(x)).dump().size() < 8192);
}

TEST_CASE(
    "a document that is not the state of an accumulator is refused by key, expected and got") {
  using tq::Histogram, tq::MeanAbs, tq::MeanStd, tq::MinMax, tq::MovingAverageMinMax;
  const std::vector<float> x{0.1f, -1.5f, 2};
  const Json plain = accumulator_to_json(seen<MinMax>(x));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "min", "x"),
            "relu1.json: min: expected a number in the range of float32, got \"x\""));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "min", nullptr), "got \"null\" (null)"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "max", 1e39), "range of float32"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "finite", -1),
            "finite: expected an integer in [0, 2^64)"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "nan", 0.5), "nan: expected an integer"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "nan", 1e20), "nan: expected an integer"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "infinite", none),
            "infinite: expected a value, got none"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "extra", 1),
            "\"extra\": expected only the fields"));
  CHECK(has(refuse<MinMax>(errc::bad_argument, plain, "accumulator", "abs_max"),
            "accumulator: expected min_max, got \"abs_max\""));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "accumulator", none),
            "accumulator: expected a value"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "min", 3),
            "relu1.json: tq::MinMax::from_state: expected"));
  CHECK(has(refuse<MinMax>(errc::malformed, plain, "finite", 0), "relu1.json: tq::MinMax"));
  CHECK(has(refused(errc::malformed, [] { (void)accumulator_from_json<MinMax>(Json::array()); }),
            "accumulator: expected an object, got an array"));

  const Json mean = accumulator_to_json(seen<MeanAbs>(x));
  CHECK(has(refuse<MeanAbs>(errc::malformed, mean, "sum", Json::array({1, 2})),
            "sum: expected 11 digits, got 2"));
  Json digits = mean["sum"];
  digits[3] = 0x100000000u;
  CHECK(has(refuse<MeanAbs>(errc::malformed, mean, "sum", digits), "below 2^32"));
  digits[3] = -1;
  CHECK(has(refuse<MeanAbs>(errc::malformed, mean, "sum", digits), "sum[3]: expected an integer"));
  CHECK(has(refuse<MeanStd>(errc::malformed, accumulator_to_json(seen<MeanStd>(x)), "squares", 1),
            "squares: expected an array"));

  const Json moving = accumulator_to_json(seen<MovingAverageMinMax>(x));
  CHECK(has(refuse<MovingAverageMinMax>(errc::bad_argument, moving, "constant", 0), "(0, 1]"));
  CHECK(has(refuse<MovingAverageMinMax>(errc::malformed, moving, "constant", "1"),
            "constant: expected a number"));
  CHECK(has(refuse<MovingAverageMinMax>(errc::malformed, moving, "keeps", "all"),
            "\"average\" or \"batches\""));
  CHECK(has(refuse<MovingAverageMinMax>(errc::malformed, moving, "average", Json::array({1})),
            "two numbers"));
  CHECK(has(refuse<MovingAverageMinMax>(errc::malformed, moving, "max", Json::array()),
            "max: expected as many as batches, 1, got 0"));

  const Json few = accumulator_to_json(seen<Histogram>(x));
  CHECK(has(refuse<Histogram>(errc::malformed, few, "times", Json::array({1})),
            "times: expected as many as values, 3, got 1"));
  CHECK(has(refuse<Histogram>(errc::malformed, few, "times", none), "times: expected a value"));
  CHECK(has(refuse<Histogram>(errc::malformed, few, "values", none), "values: expected a value"));
  CHECK(has(refuse<Histogram>(errc::malformed, few, "zeros", 1), "zeros beside no counts"));
  Json bins{{"exponent", -10},
            {"first", -1537},
            {"counts", Json::array({1, -1792, 1})},
            {"min", -1.5},
            {"max", 0.25},
            {"nan", 0},
            {"infinite", 0},
            {"accumulator", "histogram"}};
  const auto counts = [&](const Json& value) {
    return refuse<Histogram>(errc::malformed, bins, "counts", value);
  };
  CHECK(has(counts(Json::array({1, -3000})),
            "counts[1]: expected an integer, and at most 2048 bins in all, got more"));
  CHECK(has(counts(Json::array({1, std::numeric_limits<std::int64_t>::min()})), "counts[1]"));
  CHECK(has(counts(Json(std::vector<int>(2049, 1))), "counts[2048]"));
  CHECK(has(counts(Json::array({1, "a"})), "counts[1]"));
  CHECK(has(counts(Json::array({1, 1.5})), "counts[1]"));
  CHECK(has(counts(3), "counts: expected an array"));
  CHECK(has(counts(Json::array({1, 1})), "relu1.json: tq::BasicHistogram::from_state: expected"));
  const Json percentile = accumulator_to_json(seen<tq::Percentile>(x));
  CHECK(has(refuse<tq::Percentile>(errc::malformed, percentile, "histogram", bins),
            "\"accumulator\""));
  CHECK(has(refuse<tq::Percentile>(errc::malformed, percentile, "values", Json::array({2, 1})),
            "relu1.json: tq::Percentile::from_state: expected"));
  CHECK(has(refuse<tq::Percentile>(errc::malformed, percentile, "values", none),
            "values: expected a value"));
  CHECK(has(refuse<Histogram>(errc::malformed, bins, "exponent", 1e10),
            "exponent: expected an integer"));
  CHECK(has(refuse<Histogram>(errc::malformed, bins, "first", 7), "first bin"));
}
