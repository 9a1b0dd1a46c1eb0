// SPDX-License-Identifier: MIT
#pragma once
// NonFinite: the treatment of NaN and infinities by encoding.

#include <tq/config.hpp>

#include <cstdint>

namespace tq {

/// Treatment of NaN and infinities by `encode`.
enum class NonFinite : std::uint8_t {
  error,  ///< throws
  skip,  ///< ranges ignore them; infinities saturate, and NaN stays NaN in formats that have it and
         ///< becomes the code of 0 in the others
};

}  // namespace tq
