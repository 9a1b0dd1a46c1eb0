// SPDX-License-Identifier: MIT
#include <tq/model/node_decider.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace tq;

namespace {

const std::vector<std::string> names{"a", "b", "a.b", "a.c", "head", ""};
const std::vector<NodeKind> kinds{NodeKind::linear, NodeKind::head, NodeKind::norm};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }

  NodeSelector selector() {
    switch (below(3)) {
      case 0: return NodeSelector::name(names[below(names.size() - 1)]);
      case 1: return NodeSelector::kind(kinds[below(kinds.size())]);
      default: break;
    }
    const std::vector<const char*> patterns{"a*", "*", "?", "re:.*[bc]", "re:h.*", "none"};
    return NodeSelector::pattern(patterns[below(patterns.size())]);
  }
  NodeRule rule() {
    NodeRule rule{selector()};
    if (below(2) == 0) rule.scheme = scheme_of(below(2) == 0 ? "int8" : "int4");
    else rule.is_float = below(3) == 0;
    if (below(3) == 0) rule.calibrator = below(2) == 0 ? "mse" : "percentile";
    if (below(3) == 0) rule.minimum_samples = below(5);
    if (below(3) == 0) rule.reason = "why";
    return rule;
  }
  QuantConfig config() {
    QuantConfig config = QuantConfig::int8();
    for (std::size_t n = below(8); n > 0; --n) config.nodes.push_back(rule());
    for (std::size_t n = below(6); n > 0; --n) config.skip.push_back(selector());
    if (below(2) == 0) config.float_kinds.clear();
    return config;
  }

 private:
  std::mt19937 random_;
};

bool is_pattern(const NodeSelector& which) { return !which.is_name() && !which.is_kind(); }

// By the order that QuantConfig describes, from the strongest word to the weakest one.
NodeDecision by_description(const QuantConfig& config, const std::string& name, NodeKind kind) {
  const auto last = [&](auto&& is_meant, auto&& says) -> std::optional<std::size_t> {
    for (std::size_t i = config.nodes.size(); i-- > 0;)
      if (is_meant(config.nodes[i].which) && config.nodes[i].which.matches(name, kind) &&
          says(config.nodes[i]))
        return i;
    return std::nullopt;
  };
  const auto strongest = [&](auto&& says) {
    auto found = last([](const NodeSelector& w) { return w.is_name(); }, says);
    if (!found) found = last(is_pattern, says);
    if (!found) found = last([](const NodeSelector& w) { return w.is_kind(); }, says);
    return found;
  };
  const auto has_scheme = [](const NodeRule& r) { return r.scheme || r.is_float; };
  NodeDecision out{config.scheme, "", "", config.minimum_samples, "default"};
  if (const auto i = strongest([](const NodeRule& r) { return r.minimum_samples.has_value(); }))
    out.minimum_samples = *config.nodes[*i].minimum_samples;
  if (const auto i = strongest([](const NodeRule& r) { return !r.calibrator.empty(); }))
    out.calibrator = config.nodes[*i].calibrator;

  const auto from_rule = [&](std::size_t i) {
    const NodeRule& rule = config.nodes[i];
    out.scheme = rule.scheme;
    out.decided_by = "nodes[" + std::to_string(i) + "]: " + std::string(rule.which.key()) + " " +
                     rule.which.text() + (rule.reason.empty() ? "" : " (" + rule.reason + ")");
  };
  if (const auto i = last([](const NodeSelector& w) { return w.is_name(); }, has_scheme)) {
    from_rule(*i);
    return out;
  }
  for (std::size_t i = config.skip.size(); i-- > 0;)
    if (config.skip[i].matches(name, kind)) {
      out.scheme.reset();
      out.decided_by = "skip[" + std::to_string(i) + "]: " + std::string(config.skip[i].key()) +
                       " " + config.skip[i].text();
      return out;
    }
  if (const auto i = strongest(has_scheme)) {
    from_rule(*i);
  } else if (std::ranges::count(config.float_kinds, kind) != 0) {
    out.scheme.reset();
    out.decided_by = "float_kinds: kind " + std::string(to_string(kind));
  }
  return out;
}

}  // namespace

TEST_CASE("an index of names decides as the rules one after the other do") {
  Draw draw(5);
  std::size_t skipped = 0, by_name = 0, by_default = 0;
  for (int i = 0; i < 600; ++i) {
    const QuantConfig config = draw.config();
    const NodeDecider decider(config);
    CHECK(decider.config() == config);
    for (const std::string& name : names)
      for (const NodeKind kind : kinds) {
        const NodeDecision expected = by_description(config, name, kind);
        const NodeDecision plain = decide(config, name, kind), indexed = decider(name, kind);
        INFO("\"" << name << "\": " << expected.decided_by << ", got " << indexed.decided_by);
        REQUIRE(indexed.decided_by == expected.decided_by);
        REQUIRE(indexed.scheme == expected.scheme);
        REQUIRE(indexed.minimum_samples == expected.minimum_samples);
        if (expected.scheme && !expected.calibrator.empty())
          REQUIRE(indexed.calibrator == expected.calibrator);
        REQUIRE(plain.decided_by == indexed.decided_by);
        REQUIRE(plain.scheme == indexed.scheme);
        REQUIRE(plain.calibrator == indexed.calibrator);
        REQUIRE(plain.observer == indexed.observer);
        skipped += expected.decided_by.starts_with("skip") ? 1 : 0;
        by_name += expected.decided_by.find(": name") != std::string::npos ? 1 : 0;
        by_default += expected.decided_by == "default" ? 1 : 0;
      }
  }
  CHECK(skipped > 500);
  CHECK(by_name > 500);
  CHECK(by_default > 500);
}

TEST_CASE("a rule of a name is found") {
  QuantConfig config = QuantConfig::int8().skip_name("b");
  config.nodes.push_back({NodeSelector::name("a"), scheme_of("int4")});
  config.nodes.push_back({NodeSelector::pattern("b"), scheme_of("int4")});
  NodeDecider first(config);
  const NodeDecider decider(std::move(first));
  CHECK(decider.has_rule_named("a"));
  CHECK_FALSE(decider.has_rule_named("b"));
  CHECK_FALSE(decider.has_rule_named(""));
  CHECK(decider("a", NodeKind::linear).decided_by == "nodes[0]: name a");
}

TEST_CASE("the time to decide on all names of a configuration grows as these") {
  const std::size_t count = 20000;
  QuantConfig config = QuantConfig::int8();
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back("model.layers.0.mlp.experts." + std::to_string(i) + ".up_proj.weight");
    if (i % 2 == 0) config.nodes.push_back({NodeSelector::name(all.back()), scheme_of("int4")});
    else config.skip.push_back(NodeSelector::name(all.back()));
  }
  const auto begin = std::chrono::steady_clock::now();
  validate(config);
  require_matches(config, all);
  const NodeDecider decider(std::move(config));
  std::size_t skipped = 0;
  for (const std::string& name : all)
    skipped += decider(name, NodeKind::linear).is_skipped() ? 1 : 0;
  CHECK(skipped == count / 2);
  // Seconds in the slowest build; a scan of all names for each takes minutes in any.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}
