// SPDX-License-Identifier: MIT
#pragma once
// WeightCoder: an algorithm that chooses parameters and codes of a weight for a format.

#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <functional>
#include <span>

namespace tq::io {

/// An algorithm that chooses codes of weights, for `quantize` of a format. Without one, ranges of
/// the values are those of parameters, and codes the nearest.
class WeightCoder {
 public:
  /// The parameters that the format stores for ranges, of one block or of all: a tensor without
  /// codes. The last call is with those of all.
  using Parameters = std::function<EncodedTensor(std::span<const Range> ranges)>;

  WeightCoder() = default;
  WeightCoder(const WeightCoder&) = delete;
  WeightCoder& operator=(const WeightCoder&) = delete;
  virtual ~WeightCoder() = default;

  /// The weight [outputs, inputs] in a scheme whose parameters come from `parameters`. `seen` are
  /// the ranges of the blocks of `x`. Throws: `errc::unsupported` for a scheme that the algorithm
  /// does not have; as the algorithm.
  [[nodiscard]] virtual EncodedTensor encode(const ConstTensorView& x, const QuantSpec& spec,
                                             std::span<const Range> seen,
                                             const Parameters& parameters) const = 0;
};

}  // namespace tq::io
