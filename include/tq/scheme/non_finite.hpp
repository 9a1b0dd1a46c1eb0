// SPDX-License-Identifier: MIT
#pragma once
// NonFinite: what encoding does with NaN and infinities.

#include <tq/config.hpp>

#include <cstdint>

namespace tq {

/// What `encode` does with NaN and infinities.
enum class NonFinite : std::uint8_t {
  error,  ///< throws
  skip,  ///< ranges ignore them; infinities saturate, and NaN stays NaN in formats that have it and
         ///< becomes the code of 0 in the others
};

}  // namespace tq
