// SPDX-License-Identifier: MIT
// Configurations, and expressions over names: what is read is written as a document that means the
// same, decides on any name, and an expression takes no more steps than its size allows.
#include <tq/json/quant_config_json.hpp>
#include <tq/model/name_expression.hpp>
#include <tq/model/quant_config.hpp>

#include <algorithm>

#include "fuzz.hpp"

namespace {

using namespace tq;
using tq::io::Json;

void check_config(const std::string& text) {
  fuzz::accepts([&] {
    const QuantConfig config = io::quant_config_from_json(io::parse_json(text));
    const Json json = io::quant_config_to_json(config);
    fuzz::require(
        io::quant_config_to_json(io::quant_config_from_json(io::parse_json(json.dump()))) == json,
        "a configuration that is read as it was written");
    for (const char* name : {"fc1", "model.layers.0.attn.q_proj.weight", ""})
      for (const NodeKind kind : {NodeKind::linear, NodeKind::head, NodeKind::other})
        fuzz::accepts([&] {
          const NodeDecision decision = decide(config, name, kind);
          fuzz::require(!decision.decided_by.empty(), "a decision with its reason");
        });
    fuzz::accepts([&] { require_matches(config, {"fc1", "fc2", "model.embed"}); });
  });
}

// An expression, and behind the first line a name.
void check_expression(const std::string& text) {
  const auto end = std::find(text.begin(), text.end(), '\n');
  const std::string name(end == text.end() ? end : end + 1, text.end());
  fuzz::accepts([&] {
    const NameExpression expression(std::string(text.begin(), end));
    const detail::ExpressionProgram program(expression.text());
    detail::ExpressionMatcher matcher(program, name);
    const bool whole = matcher.whole(), part = matcher.part();
    fuzz::require(part || !whole, "a match of the whole name to be one of a part");
    fuzz::require(program.steps().size() <= 2 * NameExpression::most_steps, "a small program");
    fuzz::require(matcher.visits() <=
                      (2 + program.ahead().size()) * program.steps().size() * (name.size() + 1),
                  "no step to be taken twice at a place");
    fuzz::accepts([&] {
      fuzz::require(expression.matches(name) == whole && expression.is_in(name) == part,
                    "the same answer again");
    });
  });
}

const fuzz::Target config_target("config", [](fuzz::Bytes bytes) {
  const std::string text(bytes.begin(), bytes.end());
  if (text.starts_with("{")) check_config(text);
  else check_expression(text);
});

}  // namespace
