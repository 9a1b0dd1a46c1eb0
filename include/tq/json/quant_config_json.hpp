// SPDX-License-Identifier: MIT
#pragma once
// JSON of configurations. docs/quant-config.schema.json describes the documents.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/json/weight_algorithm_json.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

namespace detail {

inline constexpr std::string_view reading_config = "tq::io::quant_config_from_json";
// Steps of all regular expressions of a configuration: short texts may have many.
inline constexpr std::size_t most_config_steps = 4'000'000;

// Throws where a field of a scheme has a value that no scheme has there, or is not in use.
template <class Types, class ScaleTypes>
void require_scheme_fields(JsonFields& fields) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  QuantSpec spec;
  fields.allow_only({"type", "granularity", "axis", "group_size", "block_rows", "block_cols",
                     "symmetry", "scale_type", "numerics", "calibrator"});
  (void)fields.one_of("type", tq::detail::names_of(Types{}));
  spec.granularity =
      fields.one_of("granularity", tq::detail::names_of(tq::detail::all_granularities{}));
  (void)fields.one_of("symmetry", tq::detail::names_of(tq::detail::all_symmetries{}));
  const auto optional = [&](const char* key, const std::vector<std::string>& known) {
    if (fields.has(key)) (void)fields.one_of(key, known);
  };
  optional("scale_type", tq::detail::names_of(ScaleTypes{}));
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
template <class Types, class ScaleTypes>
[[nodiscard]] QuantSpec config_scheme_from_json(JsonFields& fields, const char* key,
                                                std::string_view path) {
  const Json& value = fields.at(key);
  const std::string place = fields.place(key);
  if (value.is_string())
    return scheme_of<Types>(fields.one_of(key, type_and_scheme_names<Types>()));
  if (!value.is_object()) fields.refuse(key, "a name or an object", JsonFields::got(value));
  JsonFields scheme(value, reading_config, path, place);
  require_scheme_fields<Types, ScaleTypes>(scheme);
  return spec_from_fields(scheme);
}

[[nodiscard]] TQ_API NodeSelector selector_from_json(JsonFields& fields, std::string_view path);

// Observer, calibrator and the least number of samples: `mode` has such or refuses them.
TQ_API void calibration_from_json(JsonFields& fields, bool has_calibration, std::string_view why,
                                  NodeRule& rule);

template <class Types, class ScaleTypes>
[[nodiscard]] NodeRule rule_from_json(const Json& json, QuantMode mode, std::string_view path,
                                      const std::string& place) {
  JsonFields fields(json, reading_config, path, place);
  fields.allow_only({"name", "pattern", "kind", "scheme", "algorithm", "observer", "calibrator",
                     "minimum_samples", "reason"});
  NodeRule rule{selector_from_json(fields, path)};
  if (fields.has("scheme")) {
    const Json& scheme = fields.at("scheme");
    rule.is_float = scheme.is_string() && scheme.get_ref<const std::string&>() == "float";
    if (!rule.is_float)
      rule.scheme = config_scheme_from_json<Types, ScaleTypes>(fields, "scheme", path);
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

}  // namespace detail

/// {"version": 1, "mode": "static", "default": "int8", "algorithm": "gptq", "observer":
/// "histogram", "calibrator": "mse",
///  "minimum_samples": 100, "float_kinds": ["head", "router"], "skip": [{"kind":
///  "norm"}], "nodes": [{"name": "fc1", "scheme": "float", "reason": "..."}]}
/// Schemes that have a name are written by it, `float_kinds` where they are not the default. In
/// mode "dynamic" there is nothing to observe.
[[nodiscard]] TQ_API Json quant_config_to_json(const QuantConfig& config);

/// The configuration of such an object, of which all but "version" may be absent; a scheme may be
/// the name of an element type as well. `path` names the document in messages, which say where in
/// it the fault is: `config.json: nodes[3].scheme.group_size: expected ..., got ...`. Throws:
/// `errc::malformed` for a field that is unknown, in contradiction to another, or of the wrong
/// type; `errc::unknown_name`; `errc::unsupported` for another version; as `validate`.
template <class Types = all_elements, class ScaleTypes = all_scales>
[[nodiscard]] QuantConfig quant_config_from_json(const Json& json,
                                                 std::string_view path = "config") {
  JsonFields fields(json, detail::reading_config, path);
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
    config.scheme = detail::config_scheme_from_json<Types, ScaleTypes>(fields, "default", path);
  if (fields.has("algorithm"))
    config.algorithm =
        detail::algorithm_from_field(fields, "algorithm", detail::reading_config, path);
  NodeRule base{NodeSelector::kind(NodeKind::other)};
  detail::calibration_from_json(fields, config.mode != QuantMode::dynamic_, "mode \"dynamic\"",
                                base);
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
    if (steps > detail::most_config_steps)
      fields.refuse(place,
                    "regular expressions of at most " + std::to_string(detail::most_config_steps) +
                        " steps in all",
                    "more");
  };
  const auto each = [&](const char* key, auto&& read) {
    if (!fields.has(key)) return;
    const Json::array_t& list = fields.array(key);
    for (std::size_t i = 0; i < list.size(); ++i) read(list[i], tq::detail::place_in(key, i));
  };
  each("skip", [&](const Json& entry, const std::string& place) {
    JsonFields selector(entry, detail::reading_config, path, place);
    selector.allow_only({"name", "pattern", "kind"});
    config.skip.push_back(detail::selector_from_json(selector, path));
    count(config.skip.back(), place);
  });
  each("nodes", [&](const Json& entry, const std::string& place) {
    config.nodes.push_back(
        detail::rule_from_json<Types, ScaleTypes>(entry, config.mode, path, place));
    count(config.nodes.back().which, place);
  });
  validate<Types, ScaleTypes>(config,
                              std::string(detail::reading_config) + ": " + std::string(path));
  return config;
}

/// The configuration of a file. Throws: `errc::io_failure`; as `quant_config_from_json`.
template <class Types = all_elements, class ScaleTypes = all_scales>
[[nodiscard]] QuantConfig read_quant_config(const std::filesystem::path& file) {
  const std::string path = file.string();
  return quant_config_from_json<Types, ScaleTypes>(parse_json(read_text(file), path), path);
}

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/quant_config_json.ipp>
#endif
