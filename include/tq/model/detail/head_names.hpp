// SPDX-License-Identifier: MIT
#pragma once
// Names of heads and routers.

#include <tq/bodies.hpp>
#include <tq/model/detail/name_parts.hpp>

#include <string_view>

namespace tq::detail {

// "lm_head", "lm_heads", "generator_lm_head".
[[nodiscard]] TQ_API bool names_language_head(const NameParts& name);

// True for a component that is a head wherever it stands.
[[nodiscard]] TQ_API bool is_head_component(std::string_view part);

// True for the last products of a model, which make scores of words or classes. `classifier.6` and
// `fc` are not: nothing in their names tells the last of several.
[[nodiscard]] TQ_API bool names_head(const NameParts& name);

enum class RouterName { none, sure, gate };

// "router", "ffn_gate_inp", "gate.wg" are sure; "mlp.gate" is the router of experts or the gate of
// a product, which shapes tell. "att.gate" and "experts.0.gate" are no routers.
[[nodiscard]] TQ_API RouterName router_name(const NameParts& name);

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/head_names.ipp>
#endif
