// SPDX-License-Identifier: MIT
// Selections as configurations, and profiles of times.
#include <tq/io/precision_json.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <string>
#include <vector>

namespace {

using tq::errc;
using tq::io::Json;

Json profile() {
  return Json::parse(R"({"version": 1, "machine": "m", "threads": 2, "times": [
    {"shape": [4, 8], "scheme": "int8", "seconds": 0.5},
    {"shape": [], "scheme": "float", "seconds": 1e-9}]})");
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
    {"name": "c", "scheme": {"type": "int5", "granularity": "per_channel", "axis": 0,
      "symmetry": "symmetric", "scale_type": "float32", "numerics": "onnx"}, "reason": "why c"}]})"));
  test::raises(errc::unknown_name, {"mine"}, [&] { (void)tq::io::precision_to_json(s); });
}

TEST_CASE("profiles come back as they were written") {
  const tq::io::TimeProfile p = tq::io::time_profile_from_json(profile());
  CHECK(p.machine == "m");
  CHECK(p.threads == 2);
  CHECK(p.find({4, 8}, "int8") == 0.5);
  CHECK(p.find({}, "float") == 1e-9);
  CHECK(p.find({8, 4}, "int8") == 0);
  const tq::io::TimeProfile again = tq::io::time_profile_from_json(tq::io::time_profile_to_json(p));
  CHECK(again.seconds == p.seconds);
  CHECK(again.machine == p.machine);
}

TEST_CASE("profiles that say nothing, or something twice, are refused") {
  const auto refused = [](errc code, const char* part, auto&& change) {
    Json json = profile();
    change(json);
    test::raises(code, {part}, [&] { (void)tq::io::time_profile_from_json(json); });
  };
  refused(errc::unsupported, "version", [](Json& j) { j["version"] = 2; });
  refused(errc::malformed, "machine", [](Json& j) { j.erase("machine"); });
  refused(errc::malformed, "threads", [](Json& j) { j["threads"] = 0; });
  refused(errc::malformed, "above 0", [](Json& j) { j["times"][0]["seconds"] = 0; });
  refused(errc::malformed, "a number", [](Json& j) { j["times"][0]["seconds"] = "1"; });
  refused(errc::malformed, "extra", [](Json& j) { j["times"][0]["extra"] = 1; });
  refused(errc::malformed, "once", [](Json& j) { j["times"].push_back(j["times"][0]); });
  refused(errc::malformed, "shape", [](Json& j) { j["times"][0]["shape"] = {-1}; });
}
