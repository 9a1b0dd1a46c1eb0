// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/quant_config.hpp.

#include <tq/model/named_calibrators.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <set>
#include <utility>

namespace tq {

TQ_API QuantConfig QuantConfig::qat(std::string_view scheme) {
  return of(scheme).with_mode(QuantMode::qat);
}

TQ_API QuantConfig QuantConfig::of(std::string_view scheme) {
  QuantConfig config;
  config.scheme = scheme_of(scheme);
  return config;
}

TQ_API QuantConfig QuantConfig::per_channel(std::optional<int> axis) const {
  QuantConfig changed = with_granularity(PerChannel<>::name);
  changed.scheme.axis = axis;
  return changed;
}

TQ_API QuantConfig QuantConfig::per_group(int size, std::optional<int> axis) const {
  QuantConfig changed = with_granularity(PerGroup<>::name);
  changed.scheme.group_size = size;
  changed.scheme.axis = axis;
  return changed;
}

TQ_API QuantConfig QuantConfig::symmetric() const {
  return changed([](QuantConfig& c) { c.scheme.symmetry = Symmetric::name; });
}

TQ_API QuantConfig QuantConfig::asymmetric() const {
  return changed([](QuantConfig& c) { c.scheme.symmetry = Asymmetric::name; });
}

TQ_API QuantConfig QuantConfig::with_mode(QuantMode value) const {
  return changed([&](QuantConfig& c) { c.mode = value; });
}

TQ_API QuantConfig QuantConfig::with_calibration(std::string by, std::string from) const {
  return changed([&](QuantConfig& c) {
    c.calibrator = std::move(by);
    c.observer = std::move(from);
  });
}

TQ_API QuantConfig QuantConfig::with_minimum_samples(std::uint64_t count) const {
  return changed([&](QuantConfig& c) { c.minimum_samples = count; });
}

TQ_API QuantConfig QuantConfig::with_float_kinds(std::vector<NodeKind> kinds) const {
  return changed([&](QuantConfig& c) { c.float_kinds = std::move(kinds); });
}

TQ_API QuantConfig QuantConfig::skip_name(std::string name) const {
  return changed([&](QuantConfig& c) { c.skip.push_back(NodeSelector::name(std::move(name))); });
}

TQ_API QuantConfig QuantConfig::skip_pattern(std::string pattern) const {
  return changed(
      [&](QuantConfig& c) { c.skip.push_back(NodeSelector::pattern(std::move(pattern))); });
}

TQ_API QuantConfig QuantConfig::skip_kind(NodeKind kind) const {
  return changed([&](QuantConfig& c) { c.skip.push_back(NodeSelector::kind(kind)); });
}

TQ_API QuantConfig QuantConfig::with_algorithm(WeightAlgorithm value) const {
  return changed([&](QuantConfig& c) { c.algorithm = std::move(value); });
}

TQ_API QuantConfig QuantConfig::with_rule(NodeRule rule) const {
  return changed([&](QuantConfig& c) { c.nodes.push_back(std::move(rule)); });
}

TQ_API QuantConfig QuantConfig::with_scheme(NodeSelector which, QuantSpec spec) const {
  return with_rule({.which = std::move(which), .scheme = std::move(spec)});
}

TQ_API QuantConfig QuantConfig::with_granularity(std::string_view name) const {
  return changed([&](QuantConfig& c) {
    c.scheme.granularity = name;
    c.scheme.axis.reset();
    // A cast that is to have parameters gets scales.
    if (c.scheme.is_cast()) c.scheme.scale_type = QuantSpec{}.scale_type;
  });
}

namespace detail {

TQ_API std::string place_in(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

TQ_API std::string decided_by(std::string_view list, std::size_t index, const NodeSelector& which,
                              std::string_view reason) {
  std::string text = place_in(list, index);
  text.append(": ").append(which.key()).append(" ").append(which.text());
  if (!reason.empty()) text.append(" (").append(reason).append(")");
  return text;
}

TQ_API void apply_rule(const NodeRule& rule, std::size_t index, NodeDecision& decision) {
  if (rule.scheme || rule.is_float) {
    decision.scheme = rule.scheme;
    decision.decided_by = decided_by("nodes", index, rule.which, rule.reason);
  }
  if (!rule.observer.empty() || !rule.calibrator.empty()) {
    decision.observer = rule.observer;
    decision.calibrator = rule.calibrator;
  }
  if (rule.minimum_samples) decision.minimum_samples = *rule.minimum_samples;
  if (rule.algorithm) decision.algorithm = *rule.algorithm;
}

TQ_API void complete_observer(NodeDecision& decision) {
  if (!decision.scheme) return;
  if (decision.observer.empty() && decision.calibrator.empty())
    decision.calibrator = decision.scheme->calibrator;
  const ObserverChoice choice = choose_observer(decision.observer, decision.calibrator);
  require_calibrates(choice.calibrator, *decision.scheme);
  decision.observer = choice.observer;
  decision.calibrator = choice.calibrator;
}

TQ_API void require_calibration(const std::string& by, const std::string& scheme,
                                const QuantConfig& config, NodeDecision decision) {
  if (config.mode == QuantMode::dynamic_) {
    if (!decision.observer.empty() || !decision.calibrator.empty())
      raise_expected(errc::bad_argument, by, {"no observer and no calibrator in mode \"dynamic\""},
                     {in_quotes(decision.observer), " and ", in_quotes(decision.calibrator)});
    return;
  }
  at_place(by, [&] { complete_observer(decision); });
  if (decision.scheme && decision.scheme->granularity == PerToken::name &&
      decision.minimum_samples > 0)
    raise_expected(errc::bad_argument, scheme,
                   {"mode \"dynamic\" or minimum_samples 0 for granularity per_token"},
                   {"mode ", in_quotes(to_string(config.mode))});
}

TQ_API SelectorSort sort_of(const NodeSelector& which) noexcept {
  return which.is_kind()   ? SelectorSort::kind
         : which.is_name() ? SelectorSort::name
                           : SelectorSort::pattern;
}

}  // namespace detail

TQ_API NodeDecision decide(const QuantConfig& config, const std::string& name, NodeKind kind) {
  return detail::decide_by(
      config, name, kind,
      [&](detail::SelectorSort sort, auto&& f) {
        for (std::size_t i = 0; i < config.nodes.size(); ++i)
          if (detail::sort_of(config.nodes[i].which) == sort) f(i);
      },
      [&](auto&& f) {
        for (std::size_t i = 0; i < config.skip.size(); ++i) f(i);
      });
}

namespace detail {

TQ_API void require_algorithm(const std::string& place, QuantMode mode,
                              const WeightAlgorithm& algorithm) {
  at_place(place, [&] { tq::validate(algorithm); });
  if (mode != QuantMode::static_ && algorithm.name != "rtn")
    raise_expected(errc::bad_argument, place,
                   {"none but \"rtn\" in mode ", in_quotes(to_string(mode))},
                   {in_quotes(algorithm.name)});
}

}  // namespace detail

TQ_API bool has_algorithms(const QuantConfig& config) {
  return config.algorithm.name != "rtn" ||
         std::ranges::any_of(config.nodes, [](const NodeRule& rule) {
           return rule.algorithm && rule.algorithm->name != "rtn";
         });
}

TQ_API void require_matches(const QuantConfig& config, const std::vector<std::string>& names,
                            std::string_view path) {
  const std::set<std::string_view> known(names.begin(), names.end());
  const auto require = [&](const NodeSelector& which, std::string_view list, std::size_t index) {
    if (which.is_kind()) return;
    const auto is_meant = [&](const std::string& name) {
      return which.matches(name, NodeKind::other);
    };
    if (which.is_name() ? known.contains(which.text())
                        : std::any_of(names.begin(), names.end(), is_meant))
      return;
    detail::raise_text(
        errc::bad_argument,
        {path, ": ", detail::place_in(list, index), ".", which.key(), ": expected a ", which.key(),
         which.is_name() ? " of" : " that matches", " one of the ", names.size(), " nodes, got ",
         detail::in_quotes(which.text()), did_you_mean(which.text(), names)});
  };
  for (std::size_t i = 0; i < config.skip.size(); ++i) require(config.skip[i], "skip", i);
  for (std::size_t i = 0; i < config.nodes.size(); ++i) require(config.nodes[i].which, "nodes", i);
}

namespace detail {

TQ_API void validate_config(const QuantConfig& config, std::string_view path,
                            void (*validate_spec)(const QuantSpec&)) {
  const std::string in = std::string(path) + ": ";
  const NodeDecision base{
      config.scheme, config.observer, config.calibrator, config.minimum_samples, {}, {}};
  at_place(in + "default", [&] { validate_spec(config.scheme); });
  require_calibration(in + "calibrator", in + "default", config, base);
  require_algorithm(in + "algorithm", config.mode, config.algorithm);
  std::map<std::string, std::size_t> skipped;  // names, with where each is first
  for (std::size_t i = 0; i < config.skip.size(); ++i)
    if (config.skip[i].is_name()) skipped.emplace(config.skip[i].text(), i);
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    const NodeRule& rule = config.nodes[i];
    const std::string place = in + place_in("nodes", i);
    if (rule.scheme) at_place(place + ".scheme", [&] { validate_spec(*rule.scheme); });
    if (rule.scheme && rule.which.is_name())
      if (const auto found = skipped.find(rule.which.text()); found != skipped.end())
        raise_text(errc::bad_argument,
                   {place, ".name: expected a node that skip does not name, got ",
                    in_quotes(found->first), " of ", place_in("skip", found->second)});
    if (rule.algorithm) require_algorithm(place + ".algorithm", config.mode, *rule.algorithm);
    NodeDecision decision = base;
    apply_rule(rule, i, decision);
    const bool says_how = !rule.observer.empty() || !rule.calibrator.empty();
    require_calibration(place + (says_how ? ".calibrator" : ".scheme"), place + ".scheme", config,
                        decision);
  }
}

}  // namespace detail

}  // namespace tq
