// SPDX-License-Identifier: MIT
#include "scheme_choice.hpp"

#include "common/encoding.hpp"
#include "schemes.hpp"

#include <tq/json/quant_config_json.hpp>
#include <tq/model/node_decider.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/store/missing_file.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

SchemeChoice::SchemeChoice(const QuantizeOptions& options, const StoredModel& model,
                           const NameFilter& filter)
    : options_(options), filter_(filter) {
  if (options.config.empty()) return;
  tq::store::require_there(options.config);
  auto config = tq::io::read_quant_config<examples::Types, examples::Scales>(options.config);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : model.tensors()) names.push_back(tensor.name);
  tq::require_matches(config, names, options.config);
  decide_all_ = std::make_unique<const tq::NodeDecider>(config.with_float_kinds({}));
  decide_ = std::make_unique<const tq::NodeDecider>(std::move(config));
  find_unused(model);
}

SchemeChoice::~SchemeChoice() = default;

void SchemeChoice::find_unused(const StoredModel& model) {
  const auto look = [&](const tq::NodeSelector& which, std::string_view list, std::size_t index) {
    if (!which.is_kind()) return;
    for (const StoredTensor& tensor : model.tensors())
      if (which.matches(tensor.name, tensor.kind)) return;
    unused_.push_back(options_.config + ": " + tq::detail::place_in(list, index) +
                      ": none of the " + std::to_string(model.tensors().size()) +
                      " tensors is of kind " + which.text());
  };
  const tq::QuantConfig& config = decide_->config();
  for (std::size_t i = 0; i < config.skip.size(); ++i) look(config.skip[i], "skip", i);
  for (std::size_t i = 0; i < config.nodes.size(); ++i) look(config.nodes[i].which, "nodes", i);
}

bool SchemeChoice::is_asked_for(const StoredTensor& tensor) const {
  return options_.all || filter_.asks_for(tensor.name) || asks_for(options_.kinds, tensor.kind);
}

SchemeChoice::Choice SchemeChoice::of(const StoredTensor& tensor) const {
  Choice choice = decide_ ? decided(tensor) : Choice{options_.spec, "", ""};
  // A tensor that the configuration names is meant, whatever its rank.
  choice.is_named = decide_ && decide_->has_rule_named(tensor.name);
  if (choice.left_alone.empty() && !options_.all && !choice.is_named)
    choice.left_alone = too_few_axes(tensor);
  if (choice.left_alone.empty() && !decide_ && !is_asked_for(tensor))
    choice.left_alone = kept_kind(tensor);
  choice.spec = spec_for(choice.spec, tensor);
  return choice;
}

SchemeChoice::Choice SchemeChoice::decided(const StoredTensor& tensor) const {
  const tq::NodeDecider& decide = is_asked_for(tensor) ? *decide_all_ : *decide_;
  const tq::NodeDecision decision = decide(tensor.name, tensor.kind);
  if (decision.is_skipped()) return {{}, decision.decided_by, decision.decided_by};
  return {*decision.scheme, "", decision.decided_by};
}

}  // namespace tool
