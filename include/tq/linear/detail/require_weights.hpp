// SPDX-License-Identifier: MIT
#pragma once
// require_weights: the refusal of layers that were moved from.

#include <tq/error.hpp>

#include <string>

namespace tq::detail {

// Throws: `errc::shape_mismatch` for a layer whose weights another one has taken.
inline void require_weights(const char* layer, bool has_weights) {
  if (!has_weights)
    raise(errc::shape_mismatch,
          std::string(layer) + ": expected a layer with weights, got one that was moved from");
}

}  // namespace tq::detail
