// SPDX-License-Identifier: MIT
#pragma once
// NonFinite: the treatment of NaN and infinities by encoding.

#include <tq/config.hpp>

#include <cstdint>

namespace tq {

/// Treatment of NaN and infinities by `encode`. The words are those of observers
/// (`RaiseNonFinite`, `SkipNonFinite`) and of numerics (`RaiseNan`).
enum class NonFinite : std::uint8_t {
  raise,  ///< throws `errc::not_finite`
  skip,  ///< ranges ignore them; infinities saturate, and NaN stays NaN in formats that have it and
         ///< becomes the code of 0 in the others
  error [[deprecated("this is NonFinite::raise")]] = raise,
};

}  // namespace tq
