// SPDX-License-Identifier: MIT
#include <tq/json/quantizer_json.hpp>
#include <tq/json/summary_json.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <random>
#include <string>
#include <vector>

using namespace tq;
using tq::io::Json;

namespace {

using Types = TypeList<int8, int4>;
using TestQuantizer = Quantizer<Types>;

QuantConfig config(const char* observer) {
  return QuantConfig::int8()
      .per_tensor()
      .asymmetric()
      .with_minimum_samples(9)
      .with_calibration("", observer)
      .skip_kind(NodeKind::norm);
}

TestQuantizer watching(const QuantConfig& by) {
  TestQuantizer quantizer(by);
  quantizer.add({"relu", NodeKind::activation, {"fc"}, 16});
  quantizer.add({"ln", NodeKind::norm});
  return quantizer;
}

void observe(TestQuantizer& quantizer, unsigned first, unsigned last) {
  for (unsigned seed = first; seed < last; ++seed) {
    std::mt19937 random(seed);
    std::vector<float> x(40);
    for (float& v : x) v = static_cast<float>(random()) * 0x1p-30f - 2.0f;
    quantizer.observe("relu", x);
  }
}

TestQuantizer read(const std::string& text) {
  return io::quantizer_from_json<Types>(io::parse_json(text, "q.json"), "q.json");
}

}  // namespace

TEST_CASE("three processes that store what they saw give what one saw, resumed on the way") {
  for (const char* observer : {"min_max", "moving_average", "percentile"}) {
    INFO(observer);
    const QuantConfig by = config(observer);
    TestQuantizer all = watching(by);
    observe(all, 0, 9);
    std::vector<std::string> files;
    for (unsigned process = 0; process < 3; ++process) {
      TestQuantizer part = watching(by);
      observe(part, 3 * process, 3 * process + 1);
      TestQuantizer resumed = read(io::quantizer_to_json(part).dump());
      observe(resumed, 3 * process + 1, 3 * process + 3);
      files.push_back(io::quantizer_to_json(resumed).dump());
    }
    TestQuantizer merged = read(files[0]);
    merged.merge(read(files[1]));
    merged.merge(read(files[2]));
    CHECK(io::quantizer_to_json(merged) == io::quantizer_to_json(all));
    all.finalize();
    merged.finalize();
    CHECK(merged.params("relu").scales == all.params("relu").scales);
    CHECK(merged.params("relu").zero_points == all.params("relu").zero_points);
    CHECK(merged.state().at(0).node == QuantNode{"relu", NodeKind::activation, {"fc"}, 16});
    CHECK_FALSE(merged.state().at(1).observer);
  }
}

TEST_CASE("damaged states are refused with their place") {
  TestQuantizer quantizer = watching(config("min_max"));
  observe(quantizer, 0, 1);
  const Json good = io::quantizer_to_json(quantizer);
  const auto refused = [&](errc code, std::initializer_list<const char*> parts, auto&& change) {
    Json bad = good;
    change(bad);
    test::raises(code, parts, [&] { (void)read(bad.dump()); });
  };
  refused(errc::unsupported, {"q.json: version: expected 1, got 2"},
          [](Json& j) { j["version"] = 2; });
  refused(errc::malformed, {"q.json: extra: "}, [](Json& j) { j["extra"] = 2; });
  refused(errc::unknown_name, {"q.json: config: default: ", "did you mean \"int8\""},
          [](Json& j) { j["config"]["default"] = "imt8"; });
  refused(errc::malformed, {"q.json: nodes[0].name: expected a string"},
          [](Json& j) { j["nodes"][0]["name"] = 1; });
  refused(errc::unknown_name, {"q.json: nodes[1].kind: ", "did you mean \"norm\""},
          [](Json& j) { j["nodes"][1]["kind"] = "nrm"; });
  refused(errc::malformed, {"q.json: nodes[0].inputs: expected strings"},
          [](Json& j) { j["nodes"][0]["inputs"] = {1}; });
  refused(errc::malformed, {"q.json: nodes[0].bits: expected an integer in [1, 64]"},
          [](Json& j) { j["nodes"][0]["bits"] = 0; });
  refused(errc::unknown_name, {"q.json: nodes[0].observer: accumulator: expected one of min_max"},
          [](Json& j) { j["nodes"][0]["observer"]["accumulator"] = "best"; });
  refused(errc::bad_argument,
          {"q.json: ", "\"relu\"", "expected observer min_max per_tensor, got none"},
          [](Json& j) { j["nodes"][0].erase("observer"); });
  refused(errc::bad_argument, {"every node once"},
          [](Json& j) { j["nodes"].push_back(j["nodes"][0]); });
}

TEST_CASE("summaries as JSON say what the summary says") {
  TestQuantizer quantizer(
      QuantConfig::int4().per_tensor().with_mode(QuantMode::dynamic_).skip_kind(NodeKind::norm));
  for (const char* name : {"w", "exact", "later"}) quantizer.add({name, NodeKind::linear});
  quantizer.add({"ln", NodeKind::norm});
  (void)quantizer.quantize("w", std::vector<float>{1, 0.5f, 0.3f});
  (void)quantizer.quantize("exact", std::vector<float>{0, 0});
  const Json json = io::summary_to_json(quantizer.summary());
  const Json& w = json["nodes"][0];
  CHECK(w["name"] == "w");
  CHECK(w["kind"] == "linear");
  CHECK(w["scheme"] == "int4 per_tensor symmetric");
  CHECK(w["decided_by"] == "default");
  CHECK(w["bytes_before"] == 12);
  CHECK(w["bytes_after"] == 6);
  CHECK(w["padding_bits"] == 4);
  CHECK(w["sqnr_db"] == quantizer.summary().nodes[0].error.sqnr_db);
  CHECK(json["nodes"][1]["sqnr_db"].is_null());
  CHECK(json["nodes"][1]["max_error"] == 0);
  CHECK(json["nodes"][2]["mse"].is_null());
  CHECK(json["nodes"][3]["scheme"].is_null());
  CHECK(json["nodes"][3]["decided_by"] == "skip[0]: kind norm");
  CHECK(json["types"] == Json{{"int4", 3}, {"float", 1}});
  CHECK(json["bytes_before"] == 20);
  CHECK(json["bytes_after"] == 6 + 5);
}
