// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/node_decider.hpp.

#include <tq/model/node_decider.hpp>

#include <utility>

namespace tq {

TQ_API NodeDecider::NodeDecider(QuantConfig config) : config_(std::move(config)) {
  for (std::size_t i = 0; i < config_.nodes.size(); ++i) {
    const NodeSelector& which = config_.nodes[i].which;
    if (which.is_name()) named_[which.text()].rules.push_back(i);
    else rules_[static_cast<std::size_t>(detail::sort_of(which))].push_back(i);
  }
  for (std::size_t i = 0; i < config_.skip.size(); ++i) {
    const NodeSelector& which = config_.skip[i];
    if (which.is_name()) named_[which.text()].skips.push_back(i);
    else skips_.push_back(i);
  }
}

TQ_API bool NodeDecider::has_rule_named(const std::string& name) const {
  const auto found = named_.find(name);
  return found != named_.end() && !found->second.rules.empty();
}

TQ_API const NodeDecider::Named& NodeDecider::nobody() {
  static const Named none;
  return none;
}

}  // namespace tq
