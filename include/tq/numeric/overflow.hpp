// SPDX-License-Identifier: MIT
#pragma once
// Overflow policies: what becomes of a value beyond the largest finite one of a float format.

#include <tq/config.hpp>

#include <concepts>
#include <string_view>

namespace tq {

/// The largest finite value of the same sign, also for infinities (ONNX `saturate=1`, OCP
/// saturating mode).
struct Saturate {
  static constexpr std::string_view name = "saturate";
};

/// Infinity where the format has one, else NaN, else as `Saturate` (ml_dtypes; PyTorch `Tensor.to`
/// up to 2.11).
struct NonSaturate {
  static constexpr std::string_view name = "non_saturate";
};

/// As `Saturate` in formats without infinity whose highest code is NaN (E4M3 "fn"), else as
/// `NonSaturate`; E8M0 takes magnitudes, 0 for the lowest (PyTorch `Tensor.to` from 2.12 on).
struct SaturateFn {
  static constexpr std::string_view name = "saturate_fn";
};

template <class O>
concept OverflowPolicy =
    std::same_as<O, Saturate> || std::same_as<O, NonSaturate> || std::same_as<O, SaturateFn>;

}  // namespace tq
