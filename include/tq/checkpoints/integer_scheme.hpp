// SPDX-License-Identifier: MIT
#pragma once
// IntegerScheme: integers in groups of inputs, as formats of other programs are asked for them.

#include <tq/checkpoints/linear_weight.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <string>

namespace tq::io {

/// Integer codes with one scale for `group_size` inputs of an output; 0: one for each output.
struct IntegerScheme {
  int bits = 4;
  std::size_t group_size = 128;
  bool is_symmetric = true;  ///< the zero point is half of the codes

  /// Scales of an output.
  [[nodiscard]] std::size_t groups(const LinearWeight& layer) const {
    return group_size == 0 ? 1 : layer.inputs / group_size;
  }
  /// Inputs of a group.
  [[nodiscard]] std::size_t group_inputs(const LinearWeight& layer) const {
    return group_size == 0 ? layer.inputs : group_size;
  }
  /// Unsigned codes; symmetric ones have the largest magnitude half a step above the highest code,
  /// as the quantizers of the engines have it.
  [[nodiscard]] QuantSpec spec(const LinearWeight& layer) const {
    QuantSpec out;
    out.type = "uint" + std::to_string(bits);
    out.granularity = PerGroup<>::name;
    out.group_size = static_cast<int>(group_inputs(layer));
    out.symmetry = is_symmetric ? SymmetricHalf::name : Asymmetric::name;
    return out;
  }
};

}  // namespace tq::io
