// SPDX-License-Identifier: MIT
#pragma once
// Overflow policies: what becomes of a value beyond the largest finite one of a float format.

#include <tq/config.hpp>

#include <concepts>
#include <string_view>

namespace tq {

/// The largest finite value of the same sign, also for infinities (ONNX `saturate=1`, OCP saturating mode).
struct Saturate {
  static constexpr std::string_view name = "saturate";
};

/// Infinity where the format has one, else NaN, else as `Saturate` (PyTorch `.to(float8)`, ml_dtypes).
struct NonSaturate {
  static constexpr std::string_view name = "non_saturate";
};

template <class O>
concept OverflowPolicy = std::same_as<O, Saturate> || std::same_as<O, NonSaturate>;

}  // namespace tq
