// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/quant_config_json.hpp.

#include <tq/json/detail/accumulator_json.hpp>
#include <tq/json/quant_config_json.hpp>
#include <tq/model/any_observer.hpp>
#include <tq/model/named_calibrators.hpp>

#include <utility>

namespace tq::io {

namespace detail {

inline constexpr std::string_view reading_config = "tq::io::quant_config_from_json";
// Steps of all regular expressions of a configuration: short texts may have many.
inline constexpr std::size_t most_config_steps = 4'000'000;

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

// Throws where a field of a scheme has a value that no scheme has there, or is not in use.
TQ_API void require_scheme_fields(JsonFields& fields, const SchemeLists& lists) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  QuantSpec spec;
  fields.allow_only({"type", "granularity", "axis", "group_size", "block_rows", "block_cols",
                     "symmetry", "scale_type", "numerics", "calibrator"});
  (void)fields.one_of("type", lists.types);
  spec.granularity =
      fields.one_of("granularity", tq::detail::names_of(tq::detail::all_granularities{}));
  (void)fields.one_of("symmetry", tq::detail::names_of(tq::detail::all_symmetries{}));
  const auto optional = [&](const char* key, const std::vector<std::string>& known) {
    if (fields.has(key)) (void)fields.one_of(key, known);
  };
  optional("scale_type", lists.scale_types);
  optional("numerics", tq::detail::names_of(tq::detail::all_numerics{}));
  optional("calibrator", tq::detail::names_of(tq::detail::all_calibrators{}));
  const auto number = [&](const char* key, bool is_used, std::int64_t low, std::int64_t high) {
    if (!fields.has(key)) return;
    if (!is_used) fields.refuse(key, "none with granularity " + spec.granularity, "one");
    (void)fields.integer(key, low, high);
  };
  number("axis", spec.uses_axis(), -max_rank, max_rank - 1);
  number("group_size", spec.uses_group_size(), 1, most);
  number("block_rows", spec.uses_block(), 1, most);
  number("block_cols", spec.uses_block(), 1, most);
}

// The scheme of a field: a name, or an object as `spec_to_json` writes it.
TQ_API QuantSpec config_scheme_from_json(JsonFields& fields, const char* key, std::string_view path,
                                         const SchemeLists& lists) {
  const Json& value = fields.at(key);
  const std::string place = fields.place(key);
  if (value.is_string()) return lists.scheme_of(fields.one_of(key, lists.names));
  if (!value.is_object()) fields.refuse(key, "a name or an object", JsonFields::got(value));
  JsonFields scheme(value, reading_config, path, place);
  require_scheme_fields(scheme, lists);
  return spec_from_fields(scheme);
}

TQ_API NodeRule rule_from_json(const Json& json, QuantMode mode, std::string_view path,
                               const std::string& place, const SchemeLists& lists) {
  JsonFields fields(json, reading_config, path, place);
  fields.allow_only({"name", "pattern", "kind", "scheme", "algorithm", "observer", "calibrator",
                     "minimum_samples", "reason"});
  NodeRule rule{selector_from_json(fields, path)};
  if (fields.has("scheme")) {
    const Json& scheme = fields.at("scheme");
    rule.is_float = scheme.is_string() && scheme.get_ref<const std::string&>() == "float";
    if (!rule.is_float) rule.scheme = config_scheme_from_json(fields, "scheme", path, lists);
  }
  const bool is_dynamic = mode == QuantMode::dynamic_;
  calibration_from_json(fields, !is_dynamic && !rule.is_float,
                        is_dynamic ? "mode \"dynamic\"" : "scheme \"float\"", rule);
  if (fields.has("algorithm")) {
    if (rule.is_float)
      fields.refuse("algorithm", "none beside scheme \"float\"",
                    JsonFields::got(fields.at("algorithm")));
    rule.algorithm = algorithm_from_field(fields, "algorithm", reading_config, path);
  }
  if (fields.has("reason")) rule.reason = fields.string("reason");
  if (rule == NodeRule{.which = rule.which, .reason = rule.reason})
    fields.refuse("", "scheme, algorithm, observer, calibrator or minimum_samples", "none of them");
  return rule;
}

TQ_API QuantConfig config_from_json(const Json& json, std::string_view path,
                                    const SchemeLists& lists) {
  JsonFields fields(json, reading_config, path);
  fields.allow_only({"version", "mode", "default", "algorithm", "observer", "calibrator",
                     "minimum_samples", "float_kinds", "skip", "nodes"});
  fields.require_version(1);
  QuantConfig config;
  if (fields.has("mode")) {
    constexpr std::array modes{QuantMode::static_, QuantMode::dynamic_, QuantMode::qat};
    const std::string name = fields.one_of("mode", {"static", "dynamic", "qat"});
    for (const QuantMode mode : modes)
      if (to_string(mode) == name) config.mode = mode;
  }
  if (fields.has("default"))
    config.scheme = config_scheme_from_json(fields, "default", path, lists);
  if (fields.has("algorithm"))
    config.algorithm = algorithm_from_field(fields, "algorithm", reading_config, path);
  NodeRule base{NodeSelector::kind(NodeKind::other)};
  calibration_from_json(fields, config.mode != QuantMode::dynamic_, "mode \"dynamic\"", base);
  config.observer = base.observer;
  config.calibrator = base.calibrator;
  config.minimum_samples = base.minimum_samples.value_or(config.minimum_samples);
  if (fields.has("float_kinds")) {
    config.float_kinds.clear();
    for (const std::string& name : fields.some_of("float_kinds", node_kinds()))
      config.float_kinds.push_back(node_kind(name));
  }
  std::size_t steps = 0;  // of all regular expressions
  const auto count = [&](const NodeSelector& which, const std::string& place) {
    steps += which.steps();
    if (steps > most_config_steps)
      fields.refuse(
          place,
          "regular expressions of at most " + std::to_string(most_config_steps) + " steps in all",
          "more");
  };
  const auto each = [&](const char* key, auto&& read) {
    if (!fields.has(key)) return;
    const Json::array_t& list = fields.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) read(list[i], tq::detail::place_in(key, i));
  };
  each("skip", [&](const Json& entry, const std::string& place) {
    JsonFields selector(entry, reading_config, path, place);
    selector.allow_only({"name", "pattern", "kind"});
    config.skip.push_back(selector_from_json(selector, path));
    count(config.skip.back(), place);
  });
  each("nodes", [&](const Json& entry, const std::string& place) {
    config.nodes.push_back(rule_from_json(entry, config.mode, path, place, lists));
    count(config.nodes.back().which, place);
  });
  tq::detail::validate_config(config, std::string(reading_config) + ": " + std::string(path),
                              lists.validate);
  return config;
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
