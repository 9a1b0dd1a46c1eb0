// SPDX-License-Identifier: MIT
#pragma once
// The sizes of a model from its config.json.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>
#include <tq/model/model_sizes.hpp>

#include <cstddef>
#include <filesystem>
#include <set>

namespace tq::io {

namespace detail {

// Adds a count, or a list of counts. Values that are none are ignored.
TQ_API void take_size(const Json& value, std::set<std::size_t>& sizes);

}  // namespace detail

/// The sizes that a `config.json` of a model gives, also in the configurations that it holds
/// ("text_config"): "vocab_size", "num_experts", "n_routed_experts", "num_local_experts",
/// "hidden_size", "num_labels" and their like. Fields of other types are ignored.
[[nodiscard]] TQ_API ModelSizes model_sizes_from_json(const Json& config);

/// The sizes that `config.json` in the folder of a model gives; none where it is absent or no JSON.
[[nodiscard]] TQ_API ModelSizes read_model_sizes(const std::filesystem::path& folder);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/model_sizes_json.ipp>
#endif
