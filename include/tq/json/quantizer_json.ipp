// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/quantizer_json.hpp.

#include <tq/json/json.hpp>
#include <tq/json/quantizer_json.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::io {

namespace detail {

TQ_API NodeState node_state_from_json(const Json& json, std::string_view where,
                                      std::string_view path, const std::string& place) {
  JsonFields fields(json, where, path, place);
  NodeState state;
  state.node.name = fields.string("name");
  state.node.kind = node_kind(fields.one_of("kind", node_kinds()));
  state.node.bits = static_cast<int>(fields.integer("bits", 1, 64));
  for (const Json& input : fields.array("inputs")) {
    if (!input.is_string()) fields.refuse("inputs", "strings", JsonFields::got(input));
    state.node.inputs.push_back(input.get<std::string>());
  }
  if (fields.has("shape"))
    for (const std::uint64_t extent : fields.counts("shape"))
      state.node.shape.push_back(static_cast<std::size_t>(extent));
  if (fields.has("observer"))
    state.observer = any_observer_from_json(fields.at("observer"),
                                            std::string(path) + ": " + fields.place("observer"));
  fields.finish();
  return state;
}

}  // namespace detail

}  // namespace tq::io
