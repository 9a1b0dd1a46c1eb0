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

// The lists of types of a program as values: what reads a configuration is compiled once.
struct SchemeLists {
  std::vector<std::string> types, scale_types;
  std::vector<std::string> names;  // of types and of schemes
  QuantSpec (*scheme_of)(std::string_view name);
  void (*validate)(const QuantSpec& spec);
};
template <class Types, class ScaleTypes>
[[nodiscard]] SchemeLists scheme_lists() {
  return {tq::detail::names_of(Types{}), tq::detail::names_of(ScaleTypes{}),
          type_and_scheme_names<Types>(), &scheme_of<Types>, &validate_encoding<Types, ScaleTypes>};
}

[[nodiscard]] TQ_API QuantConfig config_from_json(const Json& json, std::string_view path,
                                                  const SchemeLists& lists);

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
  return detail::config_from_json(json, path, detail::scheme_lists<Types, ScaleTypes>());
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
