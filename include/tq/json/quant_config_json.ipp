// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/quant_config_json.hpp.

#include <tq/json/detail/accumulator_json.hpp>
#include <tq/json/quant_config_json.hpp>

#include <utility>

namespace tq::io {

namespace detail {

// A scheme by its name where it has one.
TQ_API Json config_scheme_to_json(const QuantSpec& spec) {
  const bool has_channels = spec.granularity == PerChannel<>::name;
  for (const NamedScheme& scheme : named_schemes())
    if (scheme.spec == spec && !(has_channels && spec.axis)) return scheme.name;
  Json out = spec_to_json(spec);
  if (!spec.axis) out.erase("axis");  // its default depends on the tensor
  return out;
}

TQ_API NodeSelector selector_from_json(JsonFields& fields, std::string_view path) {
  std::string given;
  const char* only = nullptr;
  for (const char* key : {"name", "pattern", "kind"}) {
    if (!fields.has(key)) continue;
    given.append(given.empty() ? "" : " and ").append(key);
    only = key;
  }
  if (only == nullptr || given != only)
    fields.refuse("", "one of the fields name, pattern and kind", given.empty() ? "none" : given);
  if (given == "kind") return NodeSelector::kind(node_kind(fields.one_of(only, node_kinds())));
  std::string text = fields.string(only);
  if (given == "name") {
    if (text.empty()) fields.refuse(only, "a name", "an empty one");
    return NodeSelector::name(std::move(text));
  }
  const std::string place = std::string(path) + ": " + fields.place(only);
  return in_document(reading_config, place, [&] { return NodeSelector::pattern(std::move(text)); });
}

TQ_API Json selector_to_json(const NodeSelector& which) {
  return {{std::string(which.key()), which.text()}};
}

TQ_API void calibration_from_json(JsonFields& fields, bool has_calibration, std::string_view why,
                                  NodeRule& rule) {
  for (const char* key : {"observer", "calibrator", "minimum_samples"})
    if (!has_calibration && fields.has(key))
      fields.refuse(key, "none beside " + std::string(why), JsonFields::got(fields.at(key)));
  if (fields.has("observer")) rule.observer = fields.one_of("observer", observer_kinds());
  if (fields.has("calibrator")) rule.calibrator = fields.one_of("calibrator", calibrator_kinds());
  if (fields.has("minimum_samples")) rule.minimum_samples = fields.count("minimum_samples");
}

}  // namespace detail

TQ_API Json quant_config_to_json(const QuantConfig& config) {
  Json out{{"version", 1},
           {"mode", std::string(to_string(config.mode))},
           {"default", detail::config_scheme_to_json(config.scheme)}};
  const auto put = [](Json& to, const char* key, const std::string& text) {
    if (!text.empty()) to[key] = text;
  };
  put(out, "observer", config.observer);
  put(out, "calibrator", config.calibrator);
  if (config.mode != QuantMode::dynamic_) out["minimum_samples"] = config.minimum_samples;
  if (config.algorithm != WeightAlgorithm{}) out["algorithm"] = algorithm_to_json(config.algorithm);
  if (config.float_kinds != QuantConfig{}.float_kinds) {
    out["float_kinds"] = Json::array();
    for (const NodeKind kind : config.float_kinds)
      out["float_kinds"].push_back(std::string(to_string(kind)));
  }
  for (const NodeSelector& which : config.skip)
    out["skip"].push_back(detail::selector_to_json(which));
  for (const NodeRule& rule : config.nodes) {
    Json entry = detail::selector_to_json(rule.which);
    if (rule.is_float) entry["scheme"] = "float";
    else if (rule.scheme) entry["scheme"] = detail::config_scheme_to_json(*rule.scheme);
    put(entry, "observer", rule.observer);
    put(entry, "calibrator", rule.calibrator);
    if (rule.minimum_samples) entry["minimum_samples"] = *rule.minimum_samples;
    if (rule.algorithm) entry["algorithm"] = algorithm_to_json(*rule.algorithm);
    put(entry, "reason", rule.reason);
    out["nodes"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace tq::io
