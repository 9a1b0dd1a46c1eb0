// SPDX-License-Identifier: MIT
#pragma once
// Names of norms, positions, tables, attentions and filters, as published models have them.

#include <tq/bodies.hpp>
#include <tq/model/detail/name_parts.hpp>

#include <string>

namespace tq::detail {

// "norm", "layernorm", "ln_1", "bn2": not "layernorm_embedding".
[[nodiscard]] TQ_API bool names_norm(const std::string& part);

// "wpe", "position_embeddings", "pos_embed", "inv_freq", "relative_position_bias_table".
[[nodiscard]] TQ_API bool names_position(const NameParts& name);

// "wte", "embed_tokens", "word_embeddings": tables, but for filters of patches and heads.
[[nodiscard]] TQ_API bool names_embedding(const NameParts& name);

[[nodiscard]] TQ_API bool names_attention(const NameParts& name);

[[nodiscard]] TQ_API bool names_conv(const NameParts& name);

// Filters [inputs, outputs, ...]: of transposed convolutions.
[[nodiscard]] TQ_API bool names_transposed_conv(const NameParts& name);

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/kind_names.ipp>
#endif
