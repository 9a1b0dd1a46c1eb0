// SPDX-License-Identifier: MIT
#pragma once
// FloatOutput: a layer gives floats.

#include <tq/linear/output/clamp.hpp>
#include <tq/linear/output/detail/float_stage.hpp>

namespace tq {

/// A layer gives floats: float(sum) * (scale of x * scale of weights) + bias, rounded after every
/// operation, as ONNX Runtime and FBGEMM's AVX2 code have it, and clamped.
struct FloatOutput {
  using value_type = float;
  using stage_type = detail::FloatStage;
  Clamp clamp{};
};

}  // namespace tq
