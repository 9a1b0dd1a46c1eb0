// SPDX-License-Identifier: MIT
#include "scheme_choice.hpp"

#include "common/encoding.hpp"
#include "schemes.hpp"

#include <tq/io/quant_config_json.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/quant_config.hpp>

#include <algorithm>
#include <vector>

namespace tool {

SchemeChoice::SchemeChoice(const QuantizeOptions& options, const StoredModel& model)
    : options_(options) {
  if (options.config.empty()) return;
  config_ = std::make_unique<tq::QuantConfig>(
      tq::io::read_quant_config<examples::Types, examples::Scales>(options.config));
  std::vector<std::string> names;
  for (const StoredTensor& tensor : model.tensors()) names.push_back(tensor.name);
  tq::require_matches(*config_, names, options.config);
}

SchemeChoice::~SchemeChoice() = default;

SchemeChoice::Choice SchemeChoice::of(const StoredTensor& tensor) const {
  const std::size_t rank = tensor.shape.size();
  Choice choice = config_ ? decided(tensor) : Choice{options_.spec, "", ""};
  // A tensor that the configuration names is meant, whatever its rank.
  const auto names_it = [&](const tq::NodeRule& rule) {
    return rule.which.is_name() && rule.which.text() == tensor.name;
  };
  if (choice.left_alone.empty() && rank < 2 && !options_.all &&
      (!config_ || std::none_of(config_->nodes.begin(), config_->nodes.end(), names_it)))
    choice.left_alone = std::to_string(rank) + "-D";
  choice.spec = spec_for(choice.spec, rank);
  return choice;
}

SchemeChoice::Choice SchemeChoice::decided(const StoredTensor& tensor) const {
  const tq::NodeKind kind = tq::guess_node_kind(tensor.name, tensor.shape.size());
  const tq::NodeDecision decision = tq::decide(*config_, tensor.name, kind);
  if (decision.is_skipped()) return {{}, decision.decided_by, decision.decided_by};
  return {*decision.scheme, "", decision.decided_by};
}

}  // namespace tool
