// SPDX-License-Identifier: MIT
#pragma once
// NodeDecider: what a configuration decides on the nodes of a model, however many it names.

#include <tq/bodies.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/quant_config.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tq {

/// A configuration that decides as `decide` does, and finds the rules that have a node's very name
/// without a look at those of others. Patterns and kinds are tried one after the other.
class NodeDecider {
 public:
  TQ_API explicit NodeDecider(QuantConfig config);

  [[nodiscard]] const QuantConfig& config() const noexcept { return config_; }

  /// The decision of the configuration on the node of that name and kind. Throws: as `decide`.
  [[nodiscard]] NodeDecision operator()(const std::string& name, NodeKind kind) const {
    const auto found = named_.find(name);
    const Named& named = found == named_.end() ? nobody() : found->second;
    return detail::decide_by(
        config_, name, kind,
        [&](detail::SelectorSort sort, auto&& f) {
          const bool by_name = sort == detail::SelectorSort::name;
          for (const std::size_t i : by_name ? named.rules : rules_[static_cast<std::size_t>(sort)])
            f(i);
        },
        [&](auto&& f) {  // both lists in one order
          auto own = named.skips.begin();
          for (const std::size_t i : skips_) {
            for (; own != named.skips.end() && *own < i; ++own) f(*own);
            f(i);
          }
          for (; own != named.skips.end(); ++own) f(*own);
        });
  }

  /// True if a rule has that very name.
  [[nodiscard]] TQ_API bool has_rule_named(const std::string& name) const;

 private:
  // Numbers of rules and of entries of `skip`, in ascending order.
  struct Named {
    std::vector<std::size_t> rules, skips;
  };
  [[nodiscard]] TQ_API static const Named& nobody();

  QuantConfig config_;
  std::map<std::string, Named, std::less<>> named_;
  std::array<std::vector<std::size_t>, 2> rules_;  // those of kinds and of patterns
  std::vector<std::size_t> skips_;                 // those of kinds and of patterns
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/node_decider.ipp>
#endif
