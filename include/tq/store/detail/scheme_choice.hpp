// SPDX-License-Identifier: MIT
#pragma once
// Which scheme a tensor gets: that of the options, or what a configuration decides.

#include <tq/error.hpp>
#include <tq/json/quant_config_json.hpp>
#include <tq/model/node_decider.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/convert_options.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/option_error.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Where the schemes of a model come from: one for all, or a configuration.
struct SchemeSource {
  QuantSpec spec{};
  WeightAlgorithm algorithm{};
  std::function<QuantConfig()> read_config{};  // empty without a configuration
  std::string label{};                         // of the configuration, for messages
  std::string file{};                          // that it is read from, or empty

  [[nodiscard]] bool has_config() const { return read_config != nullptr; }
};

class SchemeChoice {
 public:
  // Throws: error, with the place in the configuration that is at fault, be it a name or a
  // pattern that no tensor of the model has.
  SchemeChoice(const SchemeSource& source, const ConvertOptions& options,
               const ModelContents& model, const NameFilter& filter);
  SchemeChoice(const SchemeChoice&) = delete;
  SchemeChoice& operator=(const SchemeChoice&) = delete;
  ~SchemeChoice();

  struct Choice {
    QuantSpec spec;
    WeightAlgorithm algorithm;
    std::string left_alone;  // why the tensor is copied, or empty
    std::string decided_by;  // what of the configuration, if there is one
    bool is_named = false;   // by a rule of the configuration: it is meant, whatever it is
  };
  [[nodiscard]] Choice of(const StoredTensor& tensor) const;
  // Rules and exclusions of the configuration by kinds that no tensor is of, with their places.
  [[nodiscard]] const std::vector<std::string>& unused() const { return unused_; }

 private:
  [[nodiscard]] Choice decided(const StoredTensor& tensor) const;
  [[nodiscard]] bool is_asked_for(const StoredTensor& tensor) const;
  void find_unused(const ModelContents& model);

  const SchemeSource& source_;
  const ConvertOptions& options_;
  const NameFilter& filter_;
  std::vector<std::string> unused_;
  // The configuration, and the same with no kinds that stay in float; null without a configuration.
  std::unique_ptr<const NodeDecider> decide_, decide_all_;
};

inline SchemeChoice::SchemeChoice(const SchemeSource& source, const ConvertOptions& options,
                                  const ModelContents& model, const NameFilter& filter)
    : source_(source), options_(options), filter_(filter) {
  tq::validate(source.algorithm);
  if (!source.has_config()) return;
  if (options.algorithm != WeightAlgorithm{})
    raise_option("`algorithm`: expected none beside a configuration, which has the algorithms");
  QuantConfig config = source.read_config();
  std::vector<std::string> names;
  for (const StoredTensor& tensor : model.tensors()) names.push_back(tensor.name);
  tq::require_matches(config, names, source.label);
  decide_all_ = std::make_unique<const NodeDecider>(config.with_float_kinds({}));
  decide_ = std::make_unique<const NodeDecider>(std::move(config));
  find_unused(model);
}

inline SchemeChoice::~SchemeChoice() = default;

inline void SchemeChoice::find_unused(const ModelContents& model) {
  const auto look = [&](const NodeSelector& which, std::string_view list, std::size_t index) {
    if (!which.is_kind()) return;
    for (const StoredTensor& tensor : model.tensors())
      if (which.matches(tensor.name, tensor.kind)) return;
    unused_.push_back(source_.label + ": " + tq::detail::place_in(list, index) + ": none of the " +
                      std::to_string(model.tensors().size()) + " tensors is of kind " +
                      which.text());
  };
  const QuantConfig& config = decide_->config();
  for (std::size_t i = 0; i < config.skip.size(); ++i) look(config.skip[i], "skip", i);
  for (std::size_t i = 0; i < config.nodes.size(); ++i) look(config.nodes[i].which, "nodes", i);
}

inline bool SchemeChoice::is_asked_for(const StoredTensor& tensor) const {
  return options_.all || filter_.asks_for(tensor.name) ||
         std::ranges::find(options_.kinds, tensor.kind) != options_.kinds.end();
}

inline SchemeChoice::Choice SchemeChoice::of(const StoredTensor& tensor) const {
  Choice choice = decide_ ? decided(tensor) : Choice{source_.spec, source_.algorithm, "", ""};
  // A tensor that the configuration names is meant, whatever its rank.
  choice.is_named = decide_ && decide_->has_rule_named(tensor.name);
  if (choice.left_alone.empty() && !options_.all && !choice.is_named)
    choice.left_alone = too_few_axes(tensor);
  if (choice.left_alone.empty() && !decide_ && !is_asked_for(tensor))
    choice.left_alone = kept_kind(tensor);
  choice.spec = tq::spec_for(choice.spec, tensor.shape, tensor.axes);
  return choice;
}

inline SchemeChoice::Choice SchemeChoice::decided(const StoredTensor& tensor) const {
  const NodeDecider& decide = is_asked_for(tensor) ? *decide_all_ : *decide_;
  const NodeDecision decision = decide(tensor.name, tensor.kind);
  if (decision.is_skipped()) return {{}, {}, decision.decided_by, decision.decided_by};
  return {*decision.scheme, decision.algorithm, "", decision.decided_by};
}

}  // namespace tq::store::detail
