// SPDX-License-Identifier: MIT
#pragma once
// require_weights: the refusal of layers that were moved from.

#include <tq/error.hpp>

namespace tq::detail {

// Throws: `errc::shape_mismatch` for a layer whose weights another one has taken.
inline void require_weights(const char* layer, bool has_weights) {
  if (!has_weights)
    raise_expected(errc::shape_mismatch, layer, {"a layer with weights"},
                   {"one that was moved from"});
}

}  // namespace tq::detail
