// SPDX-License-Identifier: MIT
#include <tq/model/quant_config.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <random>
#include <string>
#include <vector>

using namespace tq;

namespace {

QuantSpec scheme(const char* name) { return scheme_of(name); }

std::string decided(const QuantConfig& config, const char* name, NodeKind kind = NodeKind::linear) {
  const NodeDecision decision = decide(config, name, kind);
  return (decision.scheme ? decision.scheme->type : "float") + " by " + decision.decided_by;
}

}  // namespace

TEST_CASE("presets are the schemes of their names, calibrated from 100 samples") {
  CHECK(QuantConfig::int8().scheme == scheme("int8"));
  CHECK(QuantConfig::int4().scheme == scheme("int4"));
  CHECK(QuantConfig::fp8().scheme == scheme("fp8_e4m3"));
  CHECK(QuantConfig::mxfp4().scheme == scheme("mxfp4"));
  CHECK(QuantConfig::nvfp4().scheme == scheme("nvfp4"));
  CHECK(QuantConfig::nf4().scheme == scheme("nf4"));
  CHECK(QuantConfig::qat("int4").mode == QuantMode::qat);
  CHECK(QuantConfig::qat("int4").scheme == scheme("int4"));
  for (const QuantConfig& config :
       {QuantConfig{}, QuantConfig::int8(), QuantConfig::int4(), QuantConfig::fp8(),
        QuantConfig::mxfp4(), QuantConfig::nvfp4(), QuantConfig::nf4()}) {
    CHECK(config.mode == QuantMode::static_);
    CHECK(config.minimum_samples == 100);
    CHECK(config.skip.empty());
    CHECK_NOTHROW(validate(config));
  }
  CHECK_NOTHROW(validate(QuantConfig::qat()));
  test::raises(errc::unknown_name, {"did you mean \"mxfp4\""},
               [] { (void)QuantConfig::of("mxfp-4"); });
}

TEST_CASE("the builder changes copies") {
  const QuantConfig plain = QuantConfig::int8();
  const QuantConfig config = plain.per_channel(1)
                                 .asymmetric()
                                 .with_calibration("percentile")
                                 .with_minimum_samples(7)
                                 .skip_kind(NodeKind::norm)
                                 .skip_name("head")
                                 .skip_pattern("*.gate");
  CHECK(plain == QuantConfig::int8());
  CHECK(to_string(config.scheme) == "int8 per_channel(axis 1) asymmetric");
  CHECK(config.calibrator == "percentile");
  CHECK(config.minimum_samples == 7);
  CHECK(config.skip.size() == 3);
  CHECK_NOTHROW(validate(config));
  CHECK(to_string(plain.per_group(64).symmetric().scheme) ==
        "int8 per_group(64, axis -1) symmetric");
  CHECK(plain.per_channel(1).per_tensor() == plain.per_tensor());
  CHECK(QuantConfig::of("float8_e5m2").scheme.is_cast());
  CHECK_FALSE(QuantConfig::of("float8_e5m2").per_tensor().scheme.is_cast());
  CHECK(plain.with_mode(QuantMode::dynamic_).mode == QuantMode::dynamic_);
}

TEST_CASE("a name comes before skip, skip before patterns, patterns before kinds") {
  QuantConfig config = QuantConfig::int8();
  CHECK(decided(config, "a") == "int8 by default");
  config = config.with_scheme(NodeSelector::kind(NodeKind::linear), scheme("int6"));
  CHECK(decided(config, "a") == "int6 by nodes[0]: kind linear");
  CHECK(decided(config, "a", NodeKind::attention) == "int6 by nodes[0]: kind linear");
  CHECK(decided(config, "a", NodeKind::conv) == "int8 by default");
  config = config.with_scheme(NodeSelector::pattern("a*"), scheme("int4"));
  config = config.with_scheme(NodeSelector::kind(NodeKind::linear), scheme("int3"));
  CHECK(decided(config, "a") == "int4 by nodes[1]: pattern a*");
  CHECK(decided(config, "b") == "int3 by nodes[2]: kind linear");
  const QuantConfig skipping = config.skip_pattern("a*").skip_kind(NodeKind::norm);
  CHECK(decided(skipping, "a") == "float by skip[0]: pattern a*");
  CHECK(decided(skipping, "n", NodeKind::norm) == "float by skip[1]: kind norm");
  CHECK(decided(skipping, "b") == "int3 by nodes[2]: kind linear");
  const QuantConfig named = skipping.with_scheme(NodeSelector::name("a"), scheme("nf4"));
  CHECK(decided(named, "a") == "nf4 by nodes[3]: name a");
  CHECK(decided(named, "ab") == "float by skip[0]: pattern a*");
}

TEST_CASE("heads, routers and positions stay in float unless a rule gives them a scheme") {
  const QuantConfig plain = QuantConfig::int8();
  CHECK(decided(plain, "h", NodeKind::head) == "float by float_kinds: kind head");
  CHECK(decided(plain, "r", NodeKind::router) == "float by float_kinds: kind router");
  CHECK(decided(plain, "p", NodeKind::position) == "float by float_kinds: kind position");
  CHECK(decided(plain, "e", NodeKind::embedding) == "int8 by default");
  for (const NodeSelector& which :
       {NodeSelector::name("h"), NodeSelector::pattern("h*"), NodeSelector::kind(NodeKind::head)}) {
    const QuantConfig config = plain.with_scheme(which, scheme("int6"));
    CHECK(decided(config, "h", NodeKind::head) ==
          "int6 by nodes[0]: " + std::string(which.key()) + " " + which.text());
    CHECK(decided(config, "r", NodeKind::router) == "float by float_kinds: kind router");
  }
  const auto linear = plain.with_scheme(NodeSelector::kind(NodeKind::linear), scheme("int6"));
  CHECK(decided(linear, "h", NodeKind::head) == "float by float_kinds: kind head");
  // A rule that says nothing of a scheme leaves it so, and skip says why before float_kinds does.
  const auto observed = plain.with_rule({.which = NodeSelector::name("h"), .minimum_samples = 3});
  CHECK(decided(observed, "h", NodeKind::head) == "float by float_kinds: kind head");
  CHECK(decided(plain.skip_name("h"), "h", NodeKind::head) == "float by skip[0]: name h");
  const QuantConfig other = plain.with_float_kinds({NodeKind::conv});
  CHECK(decided(other, "h", NodeKind::head) == "int8 by default");
  CHECK(decided(other, "c", NodeKind::conv) == "float by float_kinds: kind conv");
  CHECK_FALSE(other == plain);
}

TEST_CASE("of several rules of a sort the last counts, field by field") {
  QuantConfig config = QuantConfig::int8();
  config = config.with_rule({.which = NodeSelector::pattern("*"),
                             .scheme = scheme("int4"),
                             .observer = "histogram",
                             .minimum_samples = 3});
  config = config.with_rule(
      {.which = NodeSelector::pattern("head"), .is_float = true, .reason = "wide"});
  CHECK(decided(config, "head") == "float by nodes[1]: pattern head (wide)");
  CHECK(decide(config, "head", NodeKind::linear).minimum_samples == 3);
  config = config.with_rule({.which = NodeSelector::pattern("h*"), .scheme = scheme("int6")});
  CHECK(decided(config, "head") == "int6 by nodes[2]: pattern h*");
  const NodeDecision decision = decide(config, "head", NodeKind::linear);
  CHECK(decision.observer == "histogram");
  CHECK(decision.calibrator == "mse");  // the one that suits it
  CHECK(decision.minimum_samples == 3);
}

TEST_CASE("a rule without a scheme does not bring a skipped node back") {
  const QuantConfig config = QuantConfig::int8().skip_name("a").with_rule(
      {.which = NodeSelector::name("a"), .minimum_samples = 3});
  CHECK(decided(config, "a") == "float by skip[0]: name a");
  CHECK_NOTHROW(validate(config));
}

TEST_CASE("observers and calibrators that are not named suit each other and the scheme") {
  const auto pair = [](const QuantConfig& config) {
    const NodeDecision d = decide(config, "a", NodeKind::linear);
    return d.observer + ", " + d.calibrator;
  };
  CHECK(pair(QuantConfig::int8()) == "min_max, min_max");
  CHECK(pair(QuantConfig::of("ternary")) == "mean_abs, mean_abs");
  CHECK(pair(QuantConfig::int8().with_calibration("percentile")) == "percentile, percentile");
  CHECK(pair(QuantConfig::int8().with_calibration("", "moving_average")) ==
        "moving_average, min_max");
  CHECK(pair(QuantConfig::int8().with_calibration("percentile", "histogram")) ==
        "histogram, percentile");
}

TEST_CASE("impossible configurations are refused with their place") {
  const auto refused = [](const QuantConfig& config, errc code,
                          std::initializer_list<const char*> parts) {
    test::raises(code, parts, [&] { validate(config, "c.json"); });
  };
  refused(QuantConfig::fp8().asymmetric(), errc::unsupported, {"c.json: default: ", "asymmetric"});
  refused(QuantConfig::int8().per_group(0), errc::bad_group_size, {"c.json: default: ", "got 0"});
  refused(QuantConfig::int8().with_calibration("mse", "min_max"), errc::bad_argument,
          {"c.json: calibrator: ", "expected observer histogram, percentile, got min_max"});
  refused(QuantConfig::int8().with_calibration("best"), errc::unknown_name,
          {"c.json: calibrator: "});
  refused(QuantConfig::int8().with_mode(QuantMode::dynamic_).with_calibration("mse"),
          errc::bad_argument, {"c.json: calibrator: ", "dynamic"});
  QuantSpec token = scheme("int8");
  token.granularity = "per_token";
  QuantConfig by_token;
  by_token.scheme = token;
  refused(by_token, errc::bad_argument, {"per_token", "got mode \"static\""});
  CHECK_NOTHROW(validate(by_token.with_minimum_samples(0)));
  CHECK_NOTHROW(validate(by_token.with_mode(QuantMode::dynamic_)));
  const QuantConfig plain = QuantConfig::int8();
  refused(plain.with_scheme(NodeSelector::name("a"), token), errc::bad_argument,
          {"c.json: nodes[0].scheme: ", "per_token"});
  refused(plain.with_rule(
              {.which = NodeSelector::name("a"), .observer = "min_max", .calibrator = "kl"}),
          errc::bad_argument, {"c.json: nodes[0].calibrator: "});
  refused(plain.skip_name("b").skip_name("a").with_scheme(NodeSelector::name("a"), scheme("int4")),
          errc::bad_argument, {"c.json: nodes[0].name: ", "skip[1]"});
  QuantSpec broken = scheme("int8");
  broken.type = "int9";
  refused(plain.with_scheme(NodeSelector::name("a"), broken), errc::unknown_name,
          {"c.json: nodes[0].scheme: ", "int9"});
}

TEST_CASE("names and patterns that match nothing are refused, kinds are not") {
  const std::vector<std::string> names{"encoder.fc1", "encoder.fc2", "head"};
  const QuantConfig plain = QuantConfig::int8().skip_kind(NodeKind::norm);
  CHECK_NOTHROW(require_matches(plain, names));
  CHECK_NOTHROW(require_matches(plain.skip_pattern("encoder.*").skip_name("head"), names));
  test::raises(
      errc::bad_argument,
      {"c.json: skip[1].name: ", "one of the 3 nodes", "\"haed\"", "did you mean \"head\""},
      [&] { require_matches(plain.skip_name("haed"), names, "c.json"); });
  test::raises(errc::bad_argument, {"c.json: nodes[0].pattern: ", "\"decoder.*\""}, [&] {
    require_matches(plain.with_scheme(NodeSelector::pattern("decoder.*"), scheme("int4")), names,
                    "c.json");
  });
}

TEST_CASE("decisions are those of a plain reading of the rules") {
  // The order of precedence as a list of candidates, the first that says something wins.
  std::mt19937 random(3);
  const std::vector<std::string> names{"a", "ab", "b", "ba"};
  const std::vector<std::string> types{"int2", "int3", "int4", "int5", "int6"};
  for (int round = 0; round < 300; ++round) {
    QuantConfig config = QuantConfig::int8();
    const auto selector = [&] {
      switch (random() % 3) {
        case 0: return NodeSelector::name(names[random() % 4]);
        case 1: return NodeSelector::pattern(std::string("ab"[random() % 2] + std::string("*")));
        default: return NodeSelector::kind(random() % 2 == 0 ? NodeKind::linear : NodeKind::conv);
      }
    };
    for (std::size_t i = random() % 6; i > 0; --i)
      config = config.with_scheme(selector(), scheme(types[random() % 5].c_str()));
    for (std::size_t i = random() % 3; i > 0; --i) config.skip.push_back(selector());
    for (const std::string& name : names)
      for (const NodeKind kind : {NodeKind::linear, NodeKind::conv}) {
        std::string expected;
        const auto look = [&](const char* key) {
          for (std::size_t i = config.nodes.size(); expected.empty() && i-- > 0;)
            if (config.nodes[i].which.key() == key && config.nodes[i].which.matches(name, kind))
              expected = config.nodes[i].scheme->type;
        };
        look("name");
        for (const NodeSelector& skip : config.skip)
          if (expected.empty() && skip.matches(name, kind)) expected = "float";
        look("pattern");
        look("kind");
        if (expected.empty()) expected = "int8";
        const NodeDecision decision = decide(config, name, kind);
        CHECK((decision.scheme ? decision.scheme->type : "float") == expected);
      }
  }
}
