// SPDX-License-Identifier: MIT
#pragma once
// CodeRange: which codes of a type are in use.

#include <tq/config.hpp>

#include <cstdint>

namespace tq {

/// The codes a scheme uses, both ends included.
struct CodeRange {
  std::int32_t min, max;
  friend constexpr bool operator==(const CodeRange&, const CodeRange&) = default;
};

}  // namespace tq
