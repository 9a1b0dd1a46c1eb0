// SPDX-License-Identifier: MIT
#pragma once
// Names of parameters that are used one by one: gains, decays, tokens, stacked biases, masks.

#include <tq/bodies.hpp>
#include <tq/model/detail/name_parts.hpp>

#include <cstddef>
#include <span>

namespace tq::detail {

// True for values that are used one by one, by name.
[[nodiscard]] TQ_API bool names_elementwise(const NameParts& name);

// True where a shape shows values that are used one by one: one axis is longer than 1, or a
// parameter with a name of its own has one entry along its first axis, or filters are short.
[[nodiscard]] TQ_API bool is_elementwise_shape(const NameParts& name,
                                               std::span<const std::size_t> extents);

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/elementwise_names.ipp>
#endif
