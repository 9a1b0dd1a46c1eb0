// SPDX-License-Identifier: MIT
#pragma once
// JSON of quantizers: what their nodes saw, so that they are stored, continued and merged
// elsewhere.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/json/any_observer_json.hpp>
#include <tq/json/quant_config_json.hpp>
#include <tq/model/quantizer.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

namespace detail {
[[nodiscard]] TQ_API NodeState node_state_from_json(const Json& json, std::string_view where,
                                                    std::string_view path,
                                                    const std::string& place);
}  // namespace detail

/// {"version": 1, "config": {...}, "nodes": [{"name": "relu1", "kind": "activation", "bits": 32,
///  "inputs": ["conv1"], "observer": {...}}]}, with the "shape" of weights where it is known, as
///  `quant_config_to_json` and `observer_to_json` have
/// it; parameters are made anew. Equal states give equal documents.
template <class Types, class ScaleTypes, Backend B>
[[nodiscard]] Json quantizer_to_json(const Quantizer<Types, ScaleTypes, B>& quantizer) {
  Json nodes = Json::array();
  for (const NodeState& state : quantizer.state()) {
    Json entry{{"name", state.node.name},
               {"kind", std::string(to_string(state.node.kind))},
               {"bits", state.node.bits},
               {"inputs", state.node.inputs}};
    if (!state.node.shape.empty()) entry["shape"] = state.node.shape;
    if (state.observer) entry["observer"] = any_observer_to_json(*state.observer);
    nodes.push_back(std::move(entry));
  }
  return {{"version", 1},
          {"config", quant_config_to_json(quantizer.config())},
          {"nodes", std::move(nodes)}};
}

/// The quantizer of such an object, to continue or to merge; `path` names it in messages.
/// Throws: `errc::malformed`; `errc::unsupported` for another version; as `quant_config_from_json`,
/// `any_observer_from_json` and the constructor.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend>
[[nodiscard]] Quantizer<Types, ScaleTypes, B> quantizer_from_json(
    const Json& json, std::string_view path = "quantizer") {
  constexpr std::string_view where = "tq::io::quantizer_from_json";
  JsonFields fields(json, where, path);
  fields.allow_only({"version", "config", "nodes"});
  fields.require_version(1);
  QuantConfig config = quant_config_from_json<Types, ScaleTypes>(fields.at("config"),
                                                                 std::string(path) + ": config");
  std::vector<NodeState> states;
  for (const Json& entry : fields.array("nodes"))
    states.push_back(detail::node_state_from_json(entry, where, path,
                                                  tq::detail::place_in("nodes", states.size())));
  return detail::in_document(where, path, [&] {
    return Quantizer<Types, ScaleTypes, B>(std::move(config), std::move(states));
  });
}

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/quantizer_json.ipp>
#endif
