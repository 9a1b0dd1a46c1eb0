// SPDX-License-Identifier: MIT
// Memory that states take once they are read: a small multiple of their text.
#include <tq/json/any_observer_json.hpp>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace tq;
using tq::io::Json;

namespace {

// An observer read from a document, and the bytes that the text and the observer hold.
struct Read {
  AnyObserver observer;
  std::ptrdiff_t text = 0, held = 0;
};

Read read(const std::string& kind, const std::string& slot, std::size_t count) {
  std::string text =
      R"({"granularity": {"name": "per_channel", "axis": 0}, "name": "x", "batches": 1,
                         "accumulator": ")" +
      kind + R"(", "slots": [)";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + slot;
  text += "]}";
  const std::ptrdiff_t before = test::held;
  Read out{io::any_observer_from_json(io::parse_json(text)), 0, 0};
  out.text = static_cast<std::ptrdiff_t>(text.size());
  out.held = test::held - before;
  return out;
}

const std::string others = R"("nan": 0, "infinite": 0)";
const std::string unseen =
    R"({"exponent": 0, "first": 0, "counts": [], "min": 0, "max": 0, "zeros": 0, "values": [],
        "times": [], )" +
    others + "}";
// Two values, in the first bin and in the last one.
const std::string spread =
    R"({"exponent": -10, "first": -1024, "counts": [1, -2046, 1], "min": -0.9999, "max": 0.9999, )" +
    others + "}";

}  // namespace

TEST_CASE("slots of a stored state take memory of the size of its text") {
  const std::vector<std::pair<std::string, std::string>> slots{
      {"histogram", unseen},
      {"histogram", spread},
      {"percentile", R"({"values": [], )" + others + "}"},
      {"percentile", R"({"values": [0, 1], )" + others + "}"},
      {"min_max", R"({"min": 0, "max": 0, "finite": 0, )" + others + "}"}};
  for (const auto& [kind, slot] : slots) {
    INFO(kind << ' ' << slot);
    Read once = read(kind, slot, 2000);
    CHECK(once.held < 3 * once.text + 20000);
    // Looked at, written and merged, too.
    const std::ptrdiff_t before = test::held;
    {
      const Json json = io::any_observer_to_json(once.observer);
      CHECK(json["slots"].size() == 2000);
      CHECK(io::any_observer_to_json(io::any_observer_from_json(json)) == json);
    }
    const AnyObserver same = once.observer;
    append(once.observer, same);
    CHECK(test::held - before < 3 * once.text + 20000);
    const std::ptrdiff_t merged = test::held;
    AnyObserver fresh = make_observer(kind, granularity_of(same), "x");
    append(fresh, same);
    CHECK(test::held - merged < 3 * once.text + 20000);
  }
}

TEST_CASE("an observer that saw nothing is small") {
  for (const char* kind : {"histogram", "percentile", "min_max"}) {
    INFO(kind);
    const Read none = read(kind, "", 0);
    CHECK(none.held < 1000);
    CHECK(sizeof(AnyObserver) < 500);
  }
}

TEST_CASE("packed slots are those that were stored") {
  const Read once = read("histogram", spread, 3);
  const auto& observer = std::get<ObserverOf<Histogram>>(once.observer);
  CHECK(observer.slot_count() == 3);
  AnyObserver sum = once.observer;
  append(sum, once.observer);
  const auto& both = std::get<ObserverOf<Histogram>>(sum);
  REQUIRE(both.accumulators().size() == 3);
  for (const Histogram& slot : both.accumulators()) {
    Histogram expected = observer.accumulators()[0];
    CHECK(expected.finite_count() == 2);
    expected.merge(observer.accumulators()[1]);
    CHECK(slot == expected);
  }
  // A tensor of another number of slots is refused as it is after values of this process.
  AnyObserver other = once.observer;
  CHECK_THROWS_AS(begin(other, Shape{4, 2}), error);
  begin(other, Shape{3, 2});
  add_part(other, Shape{3, 2}, 0, std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(std::get<ObserverOf<Histogram>>(other).accumulators()[2].finite_count() == 4);
  CHECK(observer.accumulators()[2].finite_count() == 2);
}
