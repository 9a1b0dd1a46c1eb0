// SPDX-License-Identifier: MIT
#include <tq/json/quant_config_json.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/files/io_test.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace tq;
using tq::io::Json;

namespace {

// Validates documents by the published schema, with the keywords that it uses; no part of the
// reader is used.
class Schema {
 public:
  Schema()
      : root_(
            Json::parse(io_test::slurp(io_test::golden / "../../docs/quant-config.schema.json"))) {}

  [[nodiscard]] bool accepts(const Json& document) const { return accepts(root_, document); }
  [[nodiscard]] const Json& definition(const char* name) const {
    return root_.at("$defs").at(name);
  }
  [[nodiscard]] const Json& root() const { return root_; }

  [[nodiscard]] bool accepts(const Json& schema, const Json& value) const {
    for (const auto& [keyword, rule] : schema.items())
      if (!keeps(keyword, rule, schema, value)) return false;
    return true;
  }

 private:
  [[nodiscard]] std::size_t count(const Json& schemas, const Json& value) const {
    return static_cast<std::size_t>(std::count_if(
        schemas.begin(), schemas.end(), [&](const Json& s) { return accepts(s, value); }));
  }

  [[nodiscard]] static bool has_type(const std::string& type, const Json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    FAIL("type " << type);
    return false;
  }

  [[nodiscard]] bool keeps(const std::string& keyword, const Json& rule, const Json& schema,
                           const Json& value) const {
    static const std::set<std::string> silent{"$schema", "title", "description",
                                              "default", "$defs", "then"};
    if (silent.contains(keyword)) return true;
    if (keyword == "$ref") {
      const std::string path = rule.get<std::string>();
      REQUIRE(path.starts_with("#/$defs/"));
      return accepts(definition(path.substr(8).c_str()), value);
    }
    if (keyword == "type") return has_type(rule.get<std::string>(), value);
    if (keyword == "const") return value == rule;
    if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (keyword == "oneOf") return count(rule, value) == 1;
    if (keyword == "anyOf") return count(rule, value) >= 1;
    if (keyword == "not") return !accepts(rule, value);
    if (keyword == "if") return !accepts(rule, value) || accepts(schema.at("then"), value);
    if (keyword == "minimum") return !value.is_number() || value >= rule;
    if (keyword == "exclusiveMinimum") return !value.is_number() || value > rule;
    if (keyword == "maximum") return !value.is_number() || value <= rule;
    if (keyword == "minLength")
      return !value.is_string() || value.get<std::string>().size() >= rule.get<std::size_t>();
    if (keyword == "items")
      return !value.is_array() || std::all_of(value.begin(), value.end(),
                                              [&](const Json& v) { return accepts(rule, v); });
    if (keyword == "minProperties")
      return !value.is_object() || value.size() >= rule.get<std::size_t>();
    if (keyword == "maxProperties")
      return !value.is_object() || value.size() <= rule.get<std::size_t>();
    if (keyword == "required")
      return !value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const Json& k) {
        return value.contains(k.get<std::string>());
      });
    if (keyword == "properties") {
      if (value.is_object())
        for (const auto& [key, each] : rule.items())
          if (value.contains(key) && !accepts(each, value.at(key))) return false;
      return true;
    }
    if (keyword == "additionalProperties") {
      REQUIRE(rule == false);
      if (value.is_object())
        for (const auto& [key, each] : value.items())
          if (!schema.at("properties").contains(key)) return false;
      return true;
    }
    FAIL("the test does not know the keyword " << keyword);
    return false;
  }

  Json root_;
};

QuantConfig read(const std::string& text) {
  return io::quant_config_from_json(io::parse_json(text, "config.json"), "config.json");
}

const char* const full =
    R"({"version": 1, "mode": "static", "default": "int8", "observer": "histogram",
  "calibrator": "mse", "minimum_samples": 20,
  "skip": [{"kind": "norm"}, {"pattern": "re:.*\\.gate"}, {"name": "lm_head"}],
  "nodes": [{"kind": "attention", "scheme": "int6"},
    {"pattern": "layers.*.mlp.*", "scheme": {"type": "int4", "granularity": "per_group", "group_size": 64,
      "axis": -1, "symmetry": "symmetric", "scale_type": "float16", "numerics": "onnx"}},
    {"name": "layers.0.fc1", "scheme": "mxfp4", "minimum_samples": 0, "reason": "wide"},
    {"name": "layers.1.fc1", "scheme": "float", "reason": "measured"},
    {"name": "relu", "observer": "percentile", "calibrator": "percentile"}]})";

std::vector<QuantConfig> good_configs() {
  return {
      QuantConfig{},
      QuantConfig::int8(),
      QuantConfig::int4(),
      QuantConfig::fp8(),
      QuantConfig::mxfp4(),
      QuantConfig::nvfp4(),
      QuantConfig::nf4(),
      QuantConfig::qat(),
      QuantConfig::qat("int4_g32"),
      QuantConfig::int8()
          .per_channel(1)
          .asymmetric()
          .with_calibration("percentile")
          .skip_kind(NodeKind::norm),
      QuantConfig::int4().per_group(64).with_minimum_samples(0).skip_pattern("*.gate").skip_name(
          "head"),
      QuantConfig::int8()
          .with_mode(QuantMode::dynamic_)
          .with_scheme(NodeSelector::name("a"), scheme_of("nf4")),
      QuantConfig::int8().with_scheme(NodeSelector::name("a"), {.type = "uint4",
                                                                .granularity = "per_group",
                                                                .symmetry = "float_offset",
                                                                .scale_type = "float16"}),
      QuantConfig::int8().with_calibration("", "moving_average"),
      QuantConfig::of("float16"),
      QuantConfig::of("uint4"),
      QuantConfig::int4().with_float_kinds({}),
      QuantConfig::int4().with_algorithm({.name = "gptq"}),
      QuantConfig::int4().with_algorithm({.name = "hqq", .norm = 0.5, .fallback = "rtn"}),
      QuantConfig::int4()
          .with_algorithm({.name = "rtn-weighted", .damping = 0.5, .fallback = "rtn"})
          .with_rule({.which = NodeSelector::name("a"),
                      .algorithm = WeightAlgorithm{.name = "gptq",
                                                   .order = "group",
                                                   .scales = "min_max",
                                                   .sweeps = 0,
                                                   .allow_few_tokens = true,
                                                   .inputs = "b"}})
          .with_rule(
              {.which = NodeSelector::kind(NodeKind::embedding), .algorithm = WeightAlgorithm{}}),
      QuantConfig::int4().with_float_kinds({NodeKind::embedding, NodeKind::head}),
      read(full)};
}

}  // namespace

TEST_CASE("a configuration is read as the format says") {
  const QuantConfig config = read(full);
  CHECK(config.mode == QuantMode::static_);
  CHECK(config.scheme == scheme_of("int8"));
  CHECK(config.observer == "histogram");
  CHECK(config.calibrator == "mse");
  CHECK(config.minimum_samples == 20);
  REQUIRE(config.skip.size() == 3);
  CHECK(config.skip[0] == NodeSelector::kind(NodeKind::norm));
  CHECK(config.skip[1] == NodeSelector::pattern("re:.*\\.gate"));
  CHECK(config.skip[2] == NodeSelector::name("lm_head"));
  REQUIRE(config.nodes.size() == 5);
  CHECK(config.nodes[0].scheme == scheme_of("int6"));
  CHECK(to_string(*config.nodes[1].scheme) ==
        "int4 per_group(64, axis -1) symmetric scales float16");
  CHECK(config.nodes[2].scheme == scheme_of("mxfp4"));
  CHECK(config.nodes[2].minimum_samples == 0);
  CHECK(config.nodes[3].is_float);
  CHECK(config.nodes[3].reason == "measured");
  CHECK(config.nodes[4].observer == "percentile");
  CHECK_FALSE(config.nodes[4].scheme);
  CHECK(read(R"({"version": 1})") == QuantConfig{});
  CHECK(read(R"({"version": 1, "float_kinds": ["conv", "head"]})").float_kinds ==
        std::vector<NodeKind>{NodeKind::conv, NodeKind::head});
  CHECK(read(R"({"version": 1, "float_kinds": []})").float_kinds.empty());
  CHECK(read(R"({"version": 1, "default": "uint7"})").scheme.symmetry == "asymmetric");
}

TEST_CASE("what is written is read back, and the schema accepts it") {
  const Schema schema;
  for (const QuantConfig& config : good_configs()) {
    const Json json = io::quant_config_to_json(config);
    INFO(json.dump(1));
    CHECK(io::quant_config_from_json(json) == config);
    CHECK(schema.accepts(json));
  }
  CHECK(schema.accepts(Json::parse(full)));
  CHECK(schema.accepts(Json::parse(R"({"version": 1})")));
  CHECK(io::quant_config_to_json(QuantConfig::mxfp4())["default"] == "mxfp4");
}

TEST_CASE("the schema has the fields and the names that there are") {
  const Schema schema;
  const auto names = [](const Json& list) {
    return std::set<std::string>(list.begin(), list.end());
  };
  const auto known = [](const std::vector<std::string>& list) {
    return std::set<std::string>(list.begin(), list.end());
  };
  std::vector<std::string> schemes = detail::names_of(all_elements{});
  const std::vector<std::string> named = scheme_names();
  CHECK(names(schema.definition("type")["enum"]) == known(schemes));
  schemes.insert(schemes.end(), named.begin(), named.end());
  CHECK(names(schema.definition("scheme_name")["enum"]) == known(schemes));
  const Json& fields = schema.definition("scheme_object")["properties"];
  CHECK(names(fields["granularity"]["enum"]) ==
        known(detail::names_of(detail::all_granularities{})));
  CHECK(names(fields["symmetry"]["enum"]) == known(detail::names_of(detail::all_symmetries{})));
  CHECK(names(fields["scale_type"]["enum"]) == known(detail::names_of(all_scales{})));
  CHECK(names(fields["numerics"]["enum"]) == known(detail::names_of(detail::all_numerics{})));
  CHECK(names(fields["calibrator"]["enum"]) == known(detail::names_of(detail::all_calibrators{})));
  CHECK(fields["axis"]["minimum"] == -max_rank);
  CHECK(fields["axis"]["maximum"] == max_rank - 1);
  CHECK(names(schema.definition("algorithm_name")["enum"]) == known(weight_algorithm_names()));
  const Json& settings = schema.definition("algorithm")["oneOf"][1]["properties"];
  CHECK(names(settings["order"]["enum"]) == known(weight_order_names()));
  CHECK(names(settings["scales"]["enum"]) == known(weight_scales_names()));
  CHECK(names(schema.definition("observer")["enum"]) == known(observer_kinds()));
  CHECK(names(schema.definition("calibrator")["enum"]) == known(calibrator_kinds()));
  CHECK(names(schema.definition("kind")["enum"]) == known(node_kinds()));
}

TEST_CASE("bad configurations are refused with the place of the fault") {
  struct Bad {
    const char* text;    // of the document, after the version
    const char* place;   // what comes after the file
    const char* wanted;  // in the message
    bool by_schema;      // also refused by the schema, which does not know what goes together
  };
  const Schema schema;
  for (
      const Bad& bad : {
          Bad{R"("mod": "qat")", "mod: ", "did you mean \"mode\"", true},
          Bad{R"("Default": "int8")", "Default: ", "did you mean \"default\"", true},
          Bad{R"("preset": "int8")", "preset: ", "one of the fields version, mode", true},
          Bad{R"("mode": "statik")", "mode: ", "did you mean \"static\"", true},
          Bad{R"("mode": 1)", "mode: ", "expected a string, got \"1\" (number)", true},
          Bad{R"("float_kinds": "head")", "float_kinds: ", "expected an array", true},
          Bad{R"("float_kinds": ["head", "hed"])", "float_kinds[1]: ", "did you mean \"head\"",
              true},
          Bad{R"("float_kinds": [{"kind": "head"}])",
              "float_kinds[0]: ", "expected a string, got an object", true},
          Bad{R"("mode": null)", "mode: ", "expected a string", true},
          Bad{R"("default": "int9")", "default: ", "expected one of int2, int3", true},
          Bad{R"("default": "mxpf4")", "default: ", "did you mean \"mxfp4\"", true},
          Bad{R"("default": "float")", "default: ", "got \"float\"", true},
          Bad{R"("default": 8)", "default: ", "expected a name or an object", true},
          Bad{R"("default": {})", "default.type: ", "expected a value, got none", true},
          Bad{R"("default": {"type": "int4"})",
              "default.granularity: ", "expected a value, got none", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor"})",
              "default.symmetry: ", "got none", true},
          Bad{R"("default": {"type": "in4", "granularity": "per_tensor", "symmetry": "symmetric"})",
              "default.type: ", "did you mean \"int4\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_row", "symmetry": "symmetric"})",
              "default.granularity: ", "did you mean \"per_channel\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "symmetry": "affine"})",
              "default.symmetry: ", "did you mean \"asymmetric\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "symmetry": "symmetric", "bits": 4})",
              "default.bits: ", "one of the fields type, granularity", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_group", "group_sise": 32, "symmetry": "symmetric"})",
              "default.group_sise: ", "did you mean \"group_size\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_group", "symmetry": "symmetric"})",
              "default.group_size: ", "expected a value, got none", false},
          Bad{R"("default": {"type": "int4", "granularity": "per_group", "group_size": 0, "symmetry": "symmetric"})",
              "default.group_size: ", "expected an integer in [1, 2147483647], got \"0\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_group", "group_size": "32", "symmetry": "symmetric"})",
              "default.group_size: ", "expected an integer", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_group", "group_size": 32.5, "symmetry": "symmetric"})",
              "default.group_size: ", "expected an integer", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "group_size": 32, "symmetry": "symmetric"})",
              "default.group_size: ", "expected none with granularity per_tensor", false},
          Bad{R"("default": {"type": "int4", "granularity": "per_channel", "axis": 8, "symmetry": "symmetric"})",
              "default.axis: ", "expected an integer in [-8, 7], got \"8\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "axis": 0, "symmetry": "symmetric"})",
              "default.axis: ", "expected none with granularity per_tensor", false},
          Bad{R"("default": {"type": "int4", "granularity": "per_block", "block_rows": 0, "block_cols": 8, "symmetry": "symmetric"})",
              "default.block_rows: ", "expected an integer in [1", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "symmetry": "symmetric", "scale_type": "fp16"})",
              "default.scale_type: ", "did you mean \"float16\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "symmetry": "symmetric", "numerics": "pytorch"})",
              "default.numerics: ", "did you mean \"torch\"", true},
          Bad{R"("default": {"type": "int4", "granularity": "per_tensor", "symmetry": "symmetric", "calibrator": "mse"})",
              "default.calibrator: ", "expected one of min_max, mean_abs", true},
          Bad{R"("default": {"type": "float8_e4m3fn", "granularity": "per_tensor", "symmetry": "asymmetric"})",
              "default: ", "expected a symmetry that type float8_e4m3fn can have", false},
          Bad{R"("default": {"type": "nf4", "granularity": "per_tensor", "symmetry": "float_offset"})",
              "default: ", "expected a symmetry that type nf4 can have", false},
          Bad{R"("default": {"type": "uint4", "granularity": "per_tensor", "symmetry": "float_offset", "scale_type": "float8_e8m0fnu"})",
              "default: ", "float32, float16, bfloat16 for symmetry float_offset", false},
          Bad{R"("calibrator": "kl", "default": {"type": "uint4", "granularity": "per_tensor", "symmetry": "float_offset"})",
              "calibrator: ", "expected a symmetry without offsets", false},
          Bad{R"("default": {"type": "int8", "granularity": "per_channel", "symmetry": "symmetric", "scale_type": "none"})",
              "default: ", "expected granularity per_tensor for scale_type none", false},
          Bad{R"("default": {"type": "nf4", "granularity": "per_tensor", "symmetry": "symmetric", "numerics": "torch"})",
              "default: ", "expected numerics", false},
          Bad{R"("observer": "histogramm")", "observer: ", "did you mean \"histogram\"", true},
          Bad{R"("observer": ["min_max"])", "observer: ", "expected a string, got an array", true},
          Bad{R"("calibrator": "KL-divergence")", "calibrator: ", "did you mean \"kl\"", true},
          Bad{R"("observer": "min_max", "calibrator": "mse")",
              "calibrator: ", "expected observer histogram", false},
          Bad{R"("algorithm": "gptk")", "algorithm: ", "did you mean \"gptq\"", true},
          Bad{R"("algorithm": 4)", "algorithm: ", "expected a name or an object", true},
          Bad{R"("algorithm": {"order": "natural"})", "algorithm.name: ", "got none", true},
          Bad{R"("algorithm": {"name": "gptq", "ordre": "natural"})",
              "algorithm.ordre: ", "did you mean \"order\"", true},
          Bad{R"("algorithm": {"name": "gptq", "order": "random"})",
              "algorithm.order: ", "expected one of activation, group, natural", true},
          Bad{R"("algorithm": {"name": "gptq", "damping": -0.5})",
              "algorithm.damping: ", "expected a number in [0, 1000000]", true},
          Bad{R"("algorithm": {"name": "gptq", "sweeps": 1.5})",
              "algorithm.sweeps: ", "expected an integer", true},
          Bad{R"("algorithm": {"name": "hqq", "norm": 0})",
              "algorithm.norm: ", "expected a number above 0 and at most 1", true},
          Bad{R"("algorithm": {"name": "hqq", "damping": 0.5})",
              "algorithm.damping: ", "expected one of the fields name, norm, fallback", false},
          Bad{R"("mode": "dynamic", "algorithm": "hqq")",
              "algorithm: ", "expected none but \"rtn\" in mode \"dynamic\"", false},
          Bad{R"("algorithm": {"name": "gptq", "fallback": "gptq"})",
              "algorithm.fallback: ", "expected one of rtn", true},
          Bad{R"("algorithm": {"name": "rtn", "order": "natural"})",
              "algorithm.order: ", "expected one of the fields name", false},
          Bad{R"("mode": "dynamic", "algorithm": "gptq")",
              "algorithm: ", "expected none but \"rtn\" in mode \"dynamic\"", false},
          Bad{R"("nodes": [{"name": "a", "algorithm": {"name": "gptq", "scales": "mse"}}])",
              "nodes[0].algorithm.scales: ", "expected one of weighted, min_max", true},
          Bad{R"("nodes": [{"name": "a", "scheme": "float", "algorithm": "gptq"}])",
              "nodes[0].algorithm: ", "expected none beside scheme \"float\"", false},
          Bad{R"("minimum_samples": -1)", "minimum_samples: ", "expected an integer in [0", true},
          Bad{R"("minimum_samples": 1.5)", "minimum_samples: ", "expected an integer in [0", true},
          Bad{R"("minimum_samples": "many")", "minimum_samples: ", "got \"many\"", true},
          Bad{R"("mode": "dynamic", "observer": "min_max")",
              "observer: ", "expected none beside mode \"dynamic\"", true},
          Bad{R"("mode": "dynamic", "minimum_samples": 3)",
              "minimum_samples: ", "expected none beside", true},
          Bad{R"("default": {"type": "int8", "granularity": "per_token", "symmetry": "symmetric"})",
              "default: ", "per_token", false},
          Bad{R"("skip": {"name": "a"})", "skip: ", "expected an array, got an object", true},
          Bad{R"("skip": ["a"])", "skip[0]: ", "expected an object, got \"a\"", true},
          Bad{R"("skip": [{"name": "a"}, {}])",
              "skip[1]: ", "expected one of the fields name, pattern and kind, got none", true},
          Bad{R"("skip": [{"name": "a", "kind": "norm"}])", "skip[0]: ", "got name and kind", true},
          Bad{R"("skip": [{"nam": "a"}])", "skip[0].nam: ", "did you mean \"name\"", true},
          Bad{R"("skip": [{"name": ""}])", "skip[0].name: ", "expected a name, got an empty one",
              true},
          Bad{R"("skip": [{"name": 3}])", "skip[0].name: ", "expected a string", true},
          Bad{R"("skip": [{"kind": "norms"}])", "skip[0].kind: ", "did you mean \"norm\"", true},
          Bad{R"("skip": [{"pattern": ""}])", "skip[0].pattern: ", "expected a pattern", true},
          Bad{R"("skip": [{"pattern": "re:("}])",
              "skip[0].pattern: ", "expected a regular expression", false},
          Bad{R"("nodes": 1)", "nodes: ", "expected an array", true},
          Bad{R"("nodes": [{"name": "a", "scheme": "int4"}, {"scheme": "int4"}])",
              "nodes[1]: ", "got none", true},
          Bad{R"("nodes": [{"name": "a"}])", "nodes[0]: ", "expected scheme, algorithm", true},
          Bad{R"("nodes": [{"name": "a", "reason": "none"}])", "nodes[0]: ", "got none of them",
              true},
          Bad{R"("nodes": [{"name": "a", "shceme": "int4"}])",
              "nodes[0].shceme: ", "did you mean \"scheme\"", true},
          Bad{R"("nodes": [{"name": "a", "scheme": "int-99"}])",
              "nodes[0].scheme: ", "expected one of int2", true},
          Bad{R"("nodes": [{"name": "a", "scheme": null}])",
              "nodes[0].scheme: ", "expected a name or an object", true},
          Bad{R"("nodes": [{"name": "a", "scheme": "float", "observer": "min_max"}])",
              "nodes[0].observer: ", "expected none beside scheme \"float\"", false},
          Bad{R"("nodes": [{"name": "a", "scheme": "float", "minimum_samples": 2}])",
              "nodes[0].minimum_samples: ", "expected none beside scheme \"float\"", false},
          Bad{R"("nodes": [{}, {}, {}, {"kind": "linear"}])", "nodes[0]: ", "got none", true},
          Bad{R"("nodes": [{"kind": "a"}])", "nodes[0].kind: ", "expected one of linear, conv",
              true},
          Bad{R"("nodes": [{"name": "a", "scheme": {"type": "int4", "granularity": "per_group", "group_size": -3, "symmetry": "symmetric"}}])",
              "nodes[0].scheme.group_size: ", "expected an integer in [1, 2147483647], got \"-3\"",
              true},
          Bad{R"("nodes": [{"name": "a", "observer": "abs_max", "calibrator": "percentile"}])",
              "nodes[0].calibrator: ", "expected observer percentile, histogram, got abs_max",
              false},
          Bad{R"("nodes": [{"name": "a", "minimum_samples": -2}])",
              "nodes[0].minimum_samples: ", "expected an integer", true},
          Bad{R"("nodes": [{"name": "a", "scheme": "int4", "reason": 3}])",
              "nodes[0].reason: ", "expected a string", true},
          Bad{R"("mode": "dynamic", "nodes": [{"name": "a", "calibrator": "mse"}])",
              "nodes[0].calibrator: ", "expected none beside mode \"dynamic\"", false},
          Bad{R"("skip": [{"name": "a"}], "nodes": [{"name": "a", "scheme": "int4"}])",
              "nodes[0].name: ", "expected a node that skip does not name", false},
      }) {
    const std::string text = std::string(R"({"version": 1, )") + bad.text + "}";
    INFO(text);
    const io_test::Outcome outcome = io_test::outcome([&] { return read(text); });
    INFO(outcome.text);
    CHECK(outcome.code != errc::ok);
    CHECK(outcome.text.find(std::string("config.json: ") + bad.place) != std::string::npos);
    CHECK(outcome.text.find(bad.wanted) != std::string::npos);
    CHECK(schema.accepts(Json::parse(text)) == !bad.by_schema);
  }
}

TEST_CASE("documents that are none, and other versions, are refused") {
  test::raises(errc::malformed, {"config.json: version: ", "got none"}, [] { (void)read("{}"); });
  test::raises(errc::unsupported, {"config.json: version: expected 1, got 2"},
               [] { (void)read(R"({"version": 2})"); });
  test::raises(errc::malformed, {"config.json: version: expected an integer"},
               [] { (void)read(R"({"version": "1"})"); });
  test::raises(errc::malformed, {"config.json: expected an object, got an array"},
               [] { (void)read("[]"); });
  test::raises(errc::malformed, {"config.json: expected a JSON document"}, [] { (void)read("{"); });
  test::raises(errc::malformed, {"every key once"},
               [] { (void)read(R"({"version": 1, "version": 1})"); });
  const Schema schema;
  for (const char* text : {"{}", R"({"version": 2})", "[]"})
    CHECK_FALSE(schema.accepts(Json::parse(text)));
}

TEST_CASE("a configuration comes from a file") {
  const io_test::TempDir folder;
  io_test::spill(folder / "c.json", full);
  CHECK(io::read_quant_config(folder / "c.json") == read(full));
  io_test::spill(folder / "bad.json", R"({"version": 1, "skip": [{"kind": "nrom"}]})");
  test::raises(errc::unknown_name, {"bad.json: skip[0].kind: ", "did you mean \"norm\""},
               [&] { (void)io::read_quant_config(folder / "bad.json"); });
  test::raises(errc::io_failure, {"none.json"},
               [&] { (void)io::read_quant_config(folder / "none.json"); });
}

TEST_CASE("regular expressions of a configuration have a size in all") {
  // 2001 steps of 11 bytes each.
  const auto config = [](std::size_t count) {
    std::string text = R"({"version": 1, "default": "int8", "skip": [)";
    for (std::size_t i = 0; i < count; ++i)
      text += std::string(i == 0 ? "" : ",") + R"({"pattern": "re:.{0,1000}"})";
    return io::parse_json(text + "]}");
  };
  CHECK(io::quant_config_from_json(config(1990)).skip.size() == 1990);
  test::raises(errc::malformed,
               {"config: skip[1999]", "regular expressions of at most 4000000 steps in all"},
               [&] { (void)io::quant_config_from_json(config(2100)); });
}
