// SPDX-License-Identifier: MIT
#pragma once
// GptqResult: quantized weights, and how they were found.

#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace tq {

/// Losses are the mean squared errors of outputs over tokens, summed over outputs: that of every
/// row is (w - w') H (w - w')^T.
template <AnyParams Params>
struct GptqResult {
  QuantizedTensor<Params> tensor;
  double loss;               ///< at most `loss_of_rounding`
  double loss_of_rounding;   ///< that of rounding to nearest, under the same kind of parameters
  double damped_loss;        ///< that of the tensor under H + lambda I
  std::size_t rounded_rows;  ///< rows that keep the codes of rounding, where feedback was worse
  std::uint64_t tokens;
  std::size_t dead_columns;  ///< columns whose input is always 0: they are rounded to nearest
  double damping;            ///< lambda
};

}  // namespace tq
