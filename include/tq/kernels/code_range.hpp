// SPDX-License-Identifier: MIT
#pragma once
// Codes: those in use.

#include <tq/config.hpp>

#include <cstdint>

namespace tq::kernels {

/// The codes in use, both ends included.
struct Codes {
  std::int32_t min, max;
};

}  // namespace tq::kernels
