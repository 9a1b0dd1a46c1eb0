// SPDX-License-Identifier: MIT
#include "scheme_choice.hpp"

#include "common/encoding.hpp"
#include "schemes.hpp"

#include <tq/json/quant_config_json.hpp>
#include <tq/model/node_decider.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/quant_config.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace tool {

SchemeChoice::SchemeChoice(const QuantizeOptions& options, const StoredModel& model)
    : options_(options), takes_all_kinds_(options.all || !options.names.include.empty()) {
  if (options.config.empty()) return;
  auto config = tq::io::read_quant_config<examples::Types, examples::Scales>(options.config);
  if (takes_all_kinds_) config.float_kinds.clear();
  std::vector<std::string> names;
  for (const StoredTensor& tensor : model.tensors()) names.push_back(tensor.name);
  tq::require_matches(config, names, options.config);
  decide_ = std::make_unique<const tq::NodeDecider>(std::move(config));
}

SchemeChoice::~SchemeChoice() = default;

SchemeChoice::Choice SchemeChoice::of(const StoredTensor& tensor) const {
  Choice choice = decide_ ? decided(tensor) : Choice{options_.spec, "", ""};
  // A tensor that the configuration names is meant, whatever its rank.
  if (choice.left_alone.empty() && !options_.all &&
      !(decide_ && decide_->has_rule_named(tensor.name)))
    choice.left_alone = too_few_axes(tensor);
  if (choice.left_alone.empty() && !decide_ && !takes_all_kinds_)
    choice.left_alone = kept_kind(tensor);
  choice.spec = spec_for(choice.spec, tensor.shape.size());
  return choice;
}

SchemeChoice::Choice SchemeChoice::decided(const StoredTensor& tensor) const {
  const tq::NodeKind kind = tq::guess_node_kind(tensor.name, tensor.shape.size());
  const tq::NodeDecision decision = (*decide_)(tensor.name, kind);
  if (decision.is_skipped()) return {{}, decision.decided_by, decision.decided_by};
  return {*decision.scheme, "", decision.decided_by};
}

}  // namespace tool
