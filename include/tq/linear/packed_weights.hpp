// SPDX-License-Identifier: MIT
#pragma once
// PackedWeights: a matrix of integer weights in the order in which multiplication reads it.

#include <tq/core/buffer.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/gemm.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tq {

/// Codes that matrices are multiplied of.
template <class Code>
concept ByteCode = std::same_as<Code, std::int8_t> || std::same_as<Code, std::uint8_t>;

/// Parameters of integers whose codes are such.
template <class Params>
concept ByteParams = IntegerElement<typename Params::type> && ByteCode<typename Params::code_type>;

/// Weights of shape [outputs, inputs], packed once and multiplied many times, on every instruction
/// set: in panels of 16 outputs, a byte each, the two of every pair of inputs beside each other,
/// padded with zeros. Those of uint8 are kept 128 lower, as are their zero points.
class PackedWeights {
 public:
  /// `zero_points`: none, one, or one for each output. Throws: `errc::shape_mismatch` unless the
  /// weights have two axes and the zero points one of these sizes; `errc::bad_zero_point` for one
  /// that is no code.
  template <ByteCode Code>
  explicit PackedWeights(const TensorView<const Code>& weights,
                         std::span<const std::int32_t> zero_points = {})
      : PackedWeights(weights.shape()) {
    constexpr std::int32_t lower = std::is_signed_v<Code> ? 0 : 128;
    take_zero_points<Code>(zero_points, lower);
    for (std::size_t n = 0; n < outputs_; ++n)
      for (std::size_t k = 0; k < inputs_; ++k) {
        const std::int32_t weight =
            weights.data()[static_cast<std::ptrdiff_t>(n) * weights.stride(0) +
                           static_cast<std::ptrdiff_t>(k) * weights.stride(1)] -
            lower;
        codes_[place(n, k)] = static_cast<std::int8_t>(weight);
        reach_[n] += std::abs(weight - zero_point(n));
      }
  }

  /// The codes and zero points of quantized weights, which have parameters per tensor or for each
  /// output. Throws: `errc::shape_mismatch`, `errc::unsupported` for other parameters.
  template <ByteParams Params, class Pack>
  explicit PackedWeights(const QuantizedTensor<Params, Pack>& weights)
      : PackedWeights(codes_of(weights), zero_points_of(weights)) {}

  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::size_t pairs() const noexcept { return (inputs_ + 1) / 2; }
  [[nodiscard]] std::size_t panels() const noexcept {
    return (outputs_ + kernels::panel_columns - 1) / kernels::panel_columns;
  }
  /// 2 * `pairs()` * 16 weights.
  [[nodiscard]] const std::int8_t* panel(std::size_t i) const noexcept {
    return codes_.data() + i * 2 * pairs() * kernels::panel_columns;
  }

  [[nodiscard]] bool has_zero_points() const noexcept { return !zero_points_.empty(); }
  /// Of the weights as they are kept.
  [[nodiscard]] std::int32_t zero_point(std::size_t output) const noexcept {
    return zero_points_.empty() ? 0 : zero_points_[output];
  }
  /// The sum of the magnitudes of the weights of an output, less their zero point: how far its sums
  /// reach for inputs of magnitude 1.
  [[nodiscard]] std::int64_t reach(std::size_t output) const noexcept { return reach_[output]; }
  /// The largest of all outputs.
  [[nodiscard]] std::int64_t reach() const noexcept {
    return reach_.empty() ? 0 : *std::max_element(reach_.begin(), reach_.end());
  }

 private:
  // Codes that were unpacked, and a view of them.
  template <class Code>
  struct Matrix {
    Buffer<Code> codes;
    Shape shape;
  };

  explicit PackedWeights(const Shape& shape) {
    if (shape.rank() != 2)
      raise(errc::shape_mismatch,
            "tq::PackedWeights: expected weights of shape [outputs, inputs], got " +
                to_string(shape));
    outputs_ = shape[0];
    inputs_ = shape[1];
    codes_.assign(panels() * 2 * pairs() * kernels::panel_columns, 0);
    reach_.assign(outputs_, 0);
  }
  template <ByteCode Code>
  PackedWeights(const Matrix<Code>& m, const std::vector<std::int32_t>& zero_points)
      : PackedWeights(TensorView<const Code>(m.codes.data(), m.shape), zero_points) {}

  template <class Code>
  void take_zero_points(std::span<const std::int32_t> zero_points, std::int32_t lower) {
    if (!zero_points.empty() && zero_points.size() != 1 && zero_points.size() != outputs_)
      raise(errc::shape_mismatch, "tq::PackedWeights: expected 0, 1 or " +
                                      std::to_string(outputs_) + " zero points, got " +
                                      std::to_string(zero_points.size()));
    using limits = std::numeric_limits<Code>;
    for (const std::int32_t z : zero_points)
      if (z < limits::min() || z > limits::max())
        raise(errc::bad_zero_point,
              "tq::PackedWeights: expected zero points from " + std::to_string(int{limits::min()}) +
                  " to " + std::to_string(int{limits::max()}) + ", got " + std::to_string(z));
    const auto kept = [&](std::size_t n) {
      return (zero_points.empty()       ? 0
              : zero_points.size() == 1 ? zero_points[0]
                                        : zero_points[n]) -
             lower;
    };
    bool any = false;
    for (std::size_t n = 0; n < outputs_; ++n) any = any || kept(n) != 0;
    if (!any) return;
    zero_points_.resize(outputs_);
    for (std::size_t n = 0; n < outputs_; ++n) zero_points_[n] = kept(n);
  }

  [[nodiscard]] std::size_t place(std::size_t output, std::size_t input) const noexcept {
    constexpr std::size_t columns_of_panel = kernels::panel_columns;
    return 2 * ((output / columns_of_panel * pairs() + input / 2) * columns_of_panel +
                output % columns_of_panel) +
           input % 2;
  }

  template <class Params, class Pack>
  static auto codes_of(const QuantizedTensor<Params, Pack>& weights) {
    Matrix<typename Params::code_type> m{Buffer<typename Params::code_type>(weights.size()),
                                         weights.shape()};
    unpack<typename Params::type, Pack>(weights.bytes(), m.codes.span());
    return m;
  }
  template <class Params, class Pack>
  static std::vector<std::int32_t> zero_points_of(const QuantizedTensor<Params, Pack>& weights) {
    const auto& params = weights.params();
    const Shape& shape = weights.shape();
    const std::size_t count = params.scales().size();
    const bool per_output = shape.rank() == 2 && count == shape[0] &&
                            params.granularity().block(shape) == Shape{1, shape[1]};
    if (count != 1 && !per_output)
      raise(errc::unsupported,
            "tq::PackedWeights: expected one parameter, or one for each output, got " +
                std::to_string(count) + " parameters for shape " + to_string(shape));
    std::vector<std::int32_t> out;
    if constexpr (Params::has_zero_point)
      for (std::size_t i = 0; i < count; ++i) out.push_back(params.zero_points()[i]);
    return out;
  }

  std::size_t outputs_ = 0, inputs_ = 0;
  std::vector<std::int8_t> codes_;
  std::vector<std::int32_t> zero_points_;  // none where all are 0
  std::vector<std::int64_t> reach_;
};

}  // namespace tq
