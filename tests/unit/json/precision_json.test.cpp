// SPDX-License-Identifier: MIT
// Selections as configurations, and profiles of times.
#include <tq/json/precision_json.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <string>
#include <vector>

namespace {

using tq::errc;
using tq::io::Json;

Json profile() {
  return Json::parse(R"({"version": 2, "machine": "m", "threads": 2, "rows": 16, "times": [
    {"shape": [4, 8], "scheme": "int8", "work": "int8_product", "seconds": 0.5},
    {"shape": [4, 8], "scheme": "int8", "work": "lookup", "seconds": 0.25},
    {"shape": [], "scheme": "float", "work": "decode", "seconds": 1e-9}]})");
}

}  // namespace

TEST_CASE("a selection becomes a configuration of exact names") {
  tq::PrecisionSelection s;
  s.nodes = {{"a", 4, {"float", 16, 0}, 1, "why a"},
             {"b", 4, {"nf4", 16, 0}, 1, "why b"},
             {"c", 4, {"mine", 16, 0}, 1, "why c"}};
  tq::QuantSpec mine;
  mine.type = "int5";
  const Json json = tq::io::precision_to_json(s, {"d"}, {{"mine", mine}});
  CHECK(
      json ==
      Json::parse(
          R"({"version": 1, "mode": "static", "default": "int8", "skip": [{"name": "d"}], "nodes": [
    {"name": "a", "scheme": "float", "reason": "why a"},
    {"name": "b", "scheme": "nf4", "reason": "why b"},
    {"name": "c", "scheme": {"type": "int5", "granularity": "per_channel",
      "symmetry": "symmetric", "scale_type": "float32", "numerics": "onnx"}, "reason": "why c"}]})"));
  test::raises(errc::unknown_name, {"mine"}, [&] { (void)tq::io::precision_to_json(s); });
}

TEST_CASE("profiles come back as they were written") {
  const tq::io::TimeProfile p = tq::io::time_profile_from_json(profile());
  CHECK(p.machine == "m");
  CHECK(p.threads == 2);
  CHECK(p.rows == 16);
  using Time = tq::io::TimeProfile::Time;
  REQUIRE(p.times.size() == 3);
  CHECK(*p.find({{4, 8}, "int8"}) == Time{0.5, tq::TimedWork::int8_product});
  CHECK(*p.find({{4, 8}, "int8", true}) == Time{0.25, tq::TimedWork::lookup});
  CHECK(*p.find({{}, "float"}) == Time{1e-9, tq::TimedWork::decode});
  CHECK(p.find({{8, 4}, "int8"}) == nullptr);
  const tq::io::TimeProfile again = tq::io::time_profile_from_json(tq::io::time_profile_to_json(p));
  CHECK(again.times == p.times);
  CHECK(again.rows == p.rows);
  CHECK(again.machine == p.machine);
}

TEST_CASE("profiles that say nothing, or something twice, are refused") {
  const auto refused = [](errc code, const char* part, auto&& change) {
    Json json = profile();
    change(json);
    test::raises(code, {part}, [&] { (void)tq::io::time_profile_from_json(json); });
  };
  refused(errc::unsupported, "version", [](Json& j) { j["version"] = 1; });
  refused(errc::malformed, "machine", [](Json& j) { j.erase("machine"); });
  refused(errc::malformed, "threads", [](Json& j) { j["threads"] = 0; });
  refused(errc::malformed, "rows", [](Json& j) { j["rows"] = 0; });
  refused(errc::malformed, "int8_product", [](Json& j) { j["times"][0]["work"] = "none"; });
  refused(errc::malformed, "int8_product", [](Json& j) { j["times"][0]["work"] = "guess"; });
  refused(errc::malformed, "work", [](Json& j) { j["times"][0].erase("work"); });
  refused(errc::malformed, "above 0", [](Json& j) { j["times"][0]["seconds"] = 0; });
  refused(errc::malformed, "a number", [](Json& j) { j["times"][0]["seconds"] = "1"; });
  refused(errc::malformed, "extra", [](Json& j) { j["times"][0]["extra"] = 1; });
  refused(errc::malformed, "once", [](Json& j) { j["times"].push_back(j["times"][0]); });
  refused(errc::malformed, "shape", [](Json& j) { j["times"][0]["shape"] = {-1}; });
}
