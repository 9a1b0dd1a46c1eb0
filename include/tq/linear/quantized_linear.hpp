// SPDX-License-Identifier: MIT
#pragma once
// QuantizedLinear: a linear layer with integer weights that takes and gives floats.

#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/checks.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// y = x * transposed weights + bias, where each row of x becomes int8 with a scale of its own
/// first, and products are summed as integers: y[m, n] = float(sum) * (scale of row m * scale of
/// output n) + bias[n], every operation rounded once.
class QuantizedLinear {
 public:
  /// Weights of shape [outputs, inputs], with parameters per tensor or for each output; `bias`:
  /// none, or one for each output. Throws: as `PackedWeights`; `errc::shape_mismatch` for another
  /// number of biases; `errc::bad_argument` for sums that might leave 32 bits.
  template <ByteParams Params, class Pack>
  explicit QuantizedLinear(const QuantizedTensor<Params, Pack>& weights,
                           std::span<const float> bias = {})
      : weights_(weights), bias_(bias.begin(), bias.end()) {
    if (!bias_.empty() && bias_.size() != weights_.outputs())
      raise(errc::shape_mismatch, "tq::QuantizedLinear: expected 0 or " +
                                      std::to_string(weights_.outputs()) + " biases, got " +
                                      std::to_string(bias_.size()));
    if (!detail::fits_32_bits(weights_))
      raise(errc::bad_argument, "tq::QuantizedLinear: expected sums of 32 bits, got " +
                                    std::to_string(weights_.inputs()) +
                                    " inputs with weights whose magnitudes sum to " +
                                    std::to_string(weights_.reach()));
    const auto& scales = weights.params().scales();
    for (std::size_t n = 0; n < weights_.outputs(); ++n)
      scales_.push_back(scales[scales.size() == 1 ? 0 : n]);
  }

  [[nodiscard]] const PackedWeights& weights() const noexcept { return weights_; }

  /// `x`: [rows, inputs], `y`: [rows, outputs], of any strides. Throws: `errc::shape_mismatch`,
  /// before anything is written.
  template <class Arch = arch::native, Executor E = Serial>
  void forward(const ConstTensorView& x, const TensorView<float>& y,
               const E& executor = serial) const {
    if (x.shape().rank() != 2 || x.shape()[1] != weights_.inputs())
      raise(errc::shape_mismatch, "tq::QuantizedLinear: expected rows of " +
                                      std::to_string(weights_.inputs()) + " values, got shape " +
                                      to_string(x.shape()));
    detail::require_shape("tq::QuantizedLinear", "an output",
                          Shape{x.shape()[0], weights_.outputs()}, y.shape());
    const auto tokens = quantize_dynamic<QuantParams<int8, PerChannel<0>, Symmetric>, Unpacked>(
        x, {}, {}, executor);
    const auto scales = tokens.params().scales();
    const detail::GemmRows<std::int8_t> rows{{tokens.codes().data(), x.shape()}, {}};
    const auto store = [&](std::size_t row, std::size_t column, std::size_t count,
                           const std::int32_t* sums) {
      float* to = y.data() + static_cast<std::ptrdiff_t>(row) * y.stride(0);
      for (std::size_t c = 0; c < count; ++c) {
        const std::size_t n = column + c;
        float value =
            detail::uncontracted(static_cast<float>(sums[c]) * (scales[row] * scales_[n]));
        if (!bias_.empty()) value += bias_[n];
        to[static_cast<std::ptrdiff_t>(n) * y.stride(1)] = value;
      }
    };
    detail::multiply<Arch, std::int32_t>(rows, weights_, store, executor);
  }

 private:
  PackedWeights weights_;
  std::vector<float> scales_;  // one for each output
  std::vector<float> bias_;
};

}  // namespace tq
