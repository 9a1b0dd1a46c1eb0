// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/weight_algorithm_json.hpp.

#include <tq/error.hpp>
#include <tq/json/weight_algorithm_json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tq::io {

namespace detail {

TQ_API WeightAlgorithm algorithm_from_field(JsonFields& fields, const char* key,
                                            std::string_view where, std::string_view path) {
  WeightAlgorithm out;
  const Json& value = fields.at(key);
  if (value.is_string()) {
    out.name = fields.one_of(key, weight_algorithm_names());
    return out;
  }
  if (!value.is_object()) fields.refuse(key, "a name or an object", JsonFields::got(value));
  JsonFields given(value, where, path, fields.place(key));
  out.name = given.one_of("name", weight_algorithm_names());
  std::vector<std::string> known = weight_algorithm_fields(out.name);
  known.insert(known.begin(), "name");
  given.allow_only(known);
  if (given.has("order")) out.order = given.one_of("order", weight_order_names());
  if (given.has("scales")) out.scales = given.one_of("scales", weight_scales_names());
  if (given.has("damping")) {
    out.damping = given.number("damping");
    if (!(out.damping >= 0 && out.damping <= 1e6))
      given.refuse("damping", "a number in [0, 1000000]", JsonFields::got(value["damping"]));
  }
  if (given.has("sweeps"))
    out.sweeps = static_cast<std::size_t>(given.integer("sweeps", 0, WeightAlgorithm::most_sweeps));
  if (given.has("allow_few_tokens")) out.allow_few_tokens = given.boolean("allow_few_tokens");
  if (given.has("norm")) {
    out.norm = given.number("norm");
    if (!(out.norm > 0 && out.norm <= 1))
      given.refuse("norm", "a number above 0 and at most 1", JsonFields::got(value["norm"]));
  }
  if (given.has("fallback")) out.fallback = given.one_of("fallback", {"rtn"});
  if (given.has("inputs")) out.inputs = given.string("inputs");
  given.finish();
  return out;
}

}  // namespace detail

TQ_API Json algorithm_to_json(const WeightAlgorithm& algorithm) {
  Json out{{"name", algorithm.name}};
  const WeightAlgorithm usual;
  const Json all{{"order", algorithm.order},
                 {"scales", algorithm.scales},
                 {"damping", algorithm.damping},
                 {"sweeps", algorithm.sweeps},
                 {"allow_few_tokens", algorithm.allow_few_tokens},
                 {"norm", algorithm.norm},
                 {"fallback", algorithm.fallback},
                 {"inputs", algorithm.inputs}},
      defaults{{"order", usual.order},
               {"scales", usual.scales},
               {"damping", usual.damping},
               {"sweeps", usual.sweeps},
               {"allow_few_tokens", usual.allow_few_tokens},
               {"norm", usual.norm},
               {"fallback", usual.fallback},
               {"inputs", usual.inputs}};
  for (const std::string& key : weight_algorithm_fields(algorithm.name))
    if (all[key] != defaults[key]) out[key] = all[key];
  return out.size() == 1 ? out["name"] : out;
}

TQ_API WeightAlgorithm algorithm_from_json(const Json& json, std::string_view path) {
  constexpr std::string_view where = "tq::io::algorithm_from_json";
  const Json document{{"algorithm", json}};
  JsonFields fields(document, where, path);
  return detail::algorithm_from_field(fields, "algorithm", where, path);
}

}  // namespace tq::io
