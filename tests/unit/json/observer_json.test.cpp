// SPDX-License-Identifier: MIT
#include <tq/json/observer_json.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

using tq::errc;
using namespace tq;
using namespace tq::io;
using test::has;
using test::refused;

namespace {

const Shape shape{3, 4, 6};

std::vector<float> batch(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(shape.size());
  for (float& v : x) v = static_cast<float>(random() % 2001) / 300 - 3;
  x[seed % x.size()] = std::numeric_limits<float>::quiet_NaN();
  x[seed * 7 % x.size()] = -std::numeric_limits<float>::infinity();
  return x;
}

template <class Obs>
void observe(Obs& observer, unsigned seed) {
  const std::vector<float> x = batch(seed);
  observer.observe(ConstTensorView(x.data(), shape));
}

template <class Obs>
Obs restored(const Obs& observer) {
  return observer_from_json<Obs>(parse_json(observer_to_json(observer).dump()));
}

template <class Acc>
bool same_slots(std::span<const Acc> a, std::span<const Acc> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Stored and restored between batches, an observer ends where one does that is not.
template <class Acc, class Gran>
void continues(const Gran& granularity, const Acc& prototype = Acc{}) {
  using Obs = Observer<Acc, Gran>;
  Obs whole(granularity, prototype, "blocks.3/relu \"1\" \xc3\xa9"), stored = restored(whole);
  CHECK(stored.accumulators().empty());
  for (unsigned seed = 1; seed <= 3; ++seed) {
    observe(whole, seed);
    observe(stored, seed);
    stored = restored(stored);
  }
  CHECK(stored.batches() == 3);
  CHECK(stored.name() == whole.name());
  CHECK(stored.granularity() == whole.granularity());
  CHECK(stored.prototype() == whole.prototype());
  CHECK(same_slots(stored.accumulators(), whole.accumulators()));
  const std::string text = observer_to_json(whole).dump();
  CHECK(observer_to_json(stored).dump() == text);

  // Shards, merged in either order.
  Obs first(granularity, prototype, whole.name()), second = first;
  observe(first, 1);
  second.set_next_batch(1);
  observe(second, 2);
  observe(second, 3);
  for (const auto& [a, b] : {std::pair(&first, &second), std::pair(&second, &first)}) {
    Obs merged = restored(*a);
    merged.merge(restored(*b));
    CHECK(observer_to_json(merged).dump() == text);
  }
}

template <class Obs>
std::string refuse(errc code, const Obs& observer, const char* key, const Json& value) {
  Json json = observer_to_json(observer);
  if (value.is_discarded()) json.erase(key);
  else json[key] = value;
  return refused(code, [&] { (void)observer_from_json<Obs>(json, "s.json"); });
}
const Json none(Json::value_t::discarded);

}  // namespace

TEST_CASE(
    "an observer of any granularity is stored, continued and merged as if it never had been") {
  continues<MinMax>(PerTensor{});
  continues<MinMax>(PerChannel<1>{});
  continues<MinMax>(PerChannel<>(-1));
  continues<MinMax>(PerGroup<4>{});
  continues<MinMax>(PerGroup<dynamic, dynamic>(2, 1));
  continues<MinMax>(PerToken{});
  continues<MinMax>(PerBlock<2, 3>{});
  continues<MinMax>(PerBlock<>(4, 4));
  for (const char* name : {"per_tensor", "per_channel", "per_group", "per_token", "per_block"}) {
    QuantSpec spec;
    spec.granularity = name;
    continues<MinMax>(AnyGranularity(spec));
  }
}

TEST_CASE(
    "an observer of any accumulator is stored, continued and merged as if it never had been") {
  const PerChannel<> channels(1);
  continues<AbsMax>(channels);
  continues<MeanAbs>(channels);
  continues<MeanStd>(channels);
  const auto keeps = MovingAverageMinMax::Keeps::batches;
  continues<MovingAverageMinMax>(channels, MovingAverageMinMax(0.3, keeps));
  continues<MovingAverageMinMax>(channels, MovingAverageMinMax(0.01, keeps));
  continues<Histogram>(channels);
  continues<AbsHistogram>(channels);
  continues<Percentile>(channels);
  continues<Percentile>(PerTensor{});
}

TEST_CASE("the documents of observers are these, whether the granularity is in the type or not") {
  Observer<MinMax, PerGroup<2>> typed({}, {}, "relu1");
  QuantSpec spec;
  spec.granularity = "per_group";
  spec.group_size = 2;
  Observer<MinMax, AnyGranularity> any(AnyGranularity(spec), {}, "relu1");
  const std::vector<float> x{1, -2, 0.5f};
  typed.observe(x);
  any.observe(x);
  const Json expected = Json::parse(R"({
    "accumulator": "min_max", "granularity": {"name": "per_group", "group_size": 2, "axis": -1},
    "name": "relu1", "batches": 1,
    "slots": [{"min": -2.0, "max": 1.0, "finite": 2, "nan": 0, "infinite": 0},
              {"min": 0.5, "max": 0.5, "finite": 1, "nan": 0, "infinite": 0}]})");
  CHECK(observer_to_json(typed) == expected);
  CHECK(observer_to_json(any) == expected);
  CHECK(observer_from_json<Observer<MinMax, AnyGranularity>>(expected).accumulators().size() == 2);
  CHECK(observer_from_json<Observer<MinMax, PerGroup<2>, RaiseNonFinite>>(expected).batches() == 1);
  const Observer<MovingAverageMinMax> moving({}, MovingAverageMinMax(0.5));
  CHECK(observer_to_json(moving) == Json::parse(R"({
    "accumulator": "moving_average", "granularity": {"name": "per_tensor"}, "name": "", "batches": 0,
    "prototype": {"constant": 0.5, "batches": [], "min": [], "max": [], "finite": 0, "nan": 0,
                  "infinite": 0, "keeps": "average"},
    "slots": []})"));
  CHECK(observer_to_json(Observer<MinMax, PerBlock<2, 3>>{})["granularity"] ==
        Json::parse(R"({"name": "per_block", "block_rows": 2, "block_cols": 3})"));
}

TEST_CASE(
    "an observer of moving averages alone continues, and documents of before keep all batches") {
  Observer<MovingAverageMinMax, PerChannel<1>> whole, stored;
  for (unsigned batch = 1; batch < 5; ++batch) {
    observe(whole, batch);
    observe(stored, batch);
    stored = restored(stored);
  }
  CHECK(same_slots(stored.accumulators(), whole.accumulators()));
  CHECK(observer_to_json(stored) == observer_to_json(whole));

  const Json before =
      Json::parse(R"({"accumulator": "moving_average", "granularity": {"name": "per_tensor"},
    "name": "", "batches": 2, "slots": [{"constant": 0.01, "batches": [0, 1], "min": [-1, -2], "max": [1, 3],
    "finite": 4, "nan": 0, "infinite": 0}]})");
  auto old = observer_from_json<Observer<MovingAverageMinMax>>(before);
  CHECK(old.accumulators()[0].batches().size() == 2);
  old.observe(std::vector<float>{5});
  CHECK(old.accumulators()[0].batches().size() == 3);
}

TEST_CASE("a thousand channels take no absurd room") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(std::size_t{1000} * 512);
  for (float& v : x) v = normal(random);
  const ConstTensorView view(x.data(), {1000, 512});
  Observer<Histogram, PerChannel<0>> bins;
  bins.observe(view);
  CHECK(observer_to_json(bins).dump().size() < 4'000'000);
  Observer<MeanStd, PerChannel<0>> moments;
  moments.observe(view);
  CHECK(observer_to_json(moments).dump().size() < 600'000);
}

TEST_CASE("a document that is not an observer's state is refused by key, expected and got") {
  Observer<MovingAverageMinMax, PerChannel<1>> seen({}, MovingAverageMinMax(0.5), "relu1");
  observe(seen, 1);
  CHECK(has(refuse(errc::bad_argument, seen, "accumulator", "min_max"),
            "s.json: accumulator: expected moving_average, got \"min_max\""));
  CHECK(has(refuse(errc::malformed, seen, "accumulator", 3), "accumulator: expected a string"));
  CHECK(
      has(refuse(errc::malformed, seen, "name", none), "s.json: name: expected a value, got none"));
  CHECK(has(refuse(errc::malformed, seen, "batches", -1),
            "batches: expected an integer in [0, 2^64)"));
  CHECK(has(refuse(errc::malformed, seen, "slots", Json::object()), "slots: expected an array"));
  CHECK(has(refuse(errc::malformed, seen, "slots", Json::array({1})),
            "slots[0]: expected an object"));
  CHECK(has(refuse(errc::malformed, seen, "extra", 1), "\"extra\": expected only the fields"));
  // Slots with a constant of 0.5 are not what the default prototype, of 0.01, becomes.
  CHECK(has(refuse(errc::bad_argument, seen, "prototype", none), "s.json: slots[0]: "));
  Json slots = observer_to_json(seen)["slots"];
  slots[2].erase("finite");
  CHECK(has(refuse(errc::malformed, seen, "slots", slots),
            "s.json: slots[2]: finite: expected a value"));
  slots = observer_to_json(seen)["slots"];
  slots[3]["min"] = Json::array({1000});
  CHECK(has(refuse(errc::malformed, seen, "slots", slots),
            "s.json: slots[3]: tq::MovingAverageMinMax::from_state: expected"));

  const auto granularity = [&](errc code, const Json& value) {
    return refuse(code, seen, "granularity", value);
  };
  CHECK(
      has(granularity(errc::malformed, "per_channel"), "s.json: granularity: expected an object"));
  CHECK(
      has(granularity(errc::malformed, {{"name", "per_channel"}}), "granularity: axis: expected"));
  CHECK(has(granularity(errc::malformed, {{"name", "per_tensor"}, {"axis", 1}}), "\"axis\""));
  CHECK(has(granularity(errc::bad_argument, {{"name", "per_tensor"}}), "per_channel"));
  CHECK(has(granularity(errc::bad_argument, {{"name", "per_channel"}, {"axis", 0}}),
            R"(expected the granularity {"axis":1,"name":"per_channel"}, got {"axis":0,)"));
  CHECK(has(granularity(errc::unknown_name, {{"name", "per_row"}}), "per_tensor, per_channel"));
  CHECK(has(granularity(errc::bad_axis, {{"name", "per_channel"}, {"axis", 9}}), "[-8, 8)"));
  using Any = Observer<MinMax, AnyGranularity>;
  CHECK(has(refuse(errc::bad_group_size, Any{}, "granularity",
                   {{"name", "per_group"}, {"axis", 0}, {"group_size", 0}}),
            "at least 1"));
}
