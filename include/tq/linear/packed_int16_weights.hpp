// SPDX-License-Identifier: MIT
#pragma once
// PackedInt16Weights: a matrix of int16 weights in the order in which multiplication reads it.

#include <tq/core/detail/read.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/packed_weights.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq {

/// Parameters of integers whose codes are int16.
template <class Params>
concept Int16Params = IntegerElement<typename Params::type> &&
                      std::same_as<typename Params::code_type, std::int16_t> && !Params::has_offset;

namespace detail {
// A tensor of int16 codes, of any kind that `tq::as_tensor` takes.
template <class X>
concept Int16Tensor = std::same_as<code_of<X>, std::int16_t>;
}  // namespace detail

/// Weights of shape [outputs, inputs], packed once and multiplied many times: their high and low
/// bytes as two matrices in `pairs_of_16`, which lie the same for every instruction set. A weight
/// is 256 * high + low + 128, so that both are int8; a zero point is one of the low bytes.
class PackedInt16Weights {
 public:
  /// `codes` of any kind that `tq::as_tensor` takes. `zero_points`: none, one, or one for each
  /// output. Throws: `errc::shape_mismatch` unless the weights have two axes and the zero points
  /// one of these sizes; `errc::bad_zero_point` for one that is no code; `errc::bad_argument` for
  /// 2^31 inputs or more, whose sums might leave 64 bits.
  template <detail::Int16Tensor W>
  explicit PackedInt16Weights(const W& codes, std::span<const std::int32_t> zero_points = {})
      : PackedInt16Weights(detail::read_as<std::int16_t>(codes).view(), zero_points,
                           detail::CodesAreRead{}) {}

  /// The codes and zero points of quantized weights with parameters per tensor or for each output.
  /// Throws: as above; `errc::unsupported` for other parameters.
  template <Int16Params Params, class Pack>
  explicit PackedInt16Weights(const QuantizedTensor<Params, Pack>& weights)
      : PackedInt16Weights(TensorView<const std::int16_t>(weights.codes().data(), weights.shape()),
                           zero_points_of(weights)) {}

  [[nodiscard]] std::size_t outputs() const noexcept { return high_.outputs(); }
  [[nodiscard]] std::size_t inputs() const noexcept { return high_.inputs(); }
  [[nodiscard]] const PackedWeights& high() const noexcept { return high_; }
  /// With zero points: those of the weights, less 128.
  [[nodiscard]] const PackedWeights& low() const noexcept { return low_; }
  /// The sum of the weights of an output, less their zero point.
  [[nodiscard]] std::int64_t sum(std::size_t output) const noexcept { return sums_[output]; }

 private:
  static constexpr const char* name = "tq::PackedInt16Weights";
  static constexpr std::int32_t lower = 128;

  PackedInt16Weights(const TensorView<const std::int16_t>& weights,
                     std::span<const std::int32_t> zero_points, detail::CodesAreRead)
      : high_(name, weights.shape()), low_(name, weights.shape()), sums_(low_.outputs()) {
    if (inputs() >> 31 != 0)
      detail::raise_expected(errc::bad_argument, name, {"less than 2^31 inputs"}, {inputs()});
    const auto at = [&](std::size_t n, std::size_t k) -> std::int32_t {
      return weights.data()[static_cast<std::ptrdiff_t>(n) * weights.stride(0) +
                            static_cast<std::ptrdiff_t>(k) * weights.stride(1)];
    };
    low_.take_zero_points<std::int16_t>(name, zero_points, lower);
    high_.pack(PanelLayout::pairs_of_16, [&](std::size_t n, std::size_t k) {
      return static_cast<std::int8_t>(at(n, k) >> 8);
    });
    low_.pack(PanelLayout::pairs_of_16, [&](std::size_t n, std::size_t k) {
      return static_cast<std::int8_t>((at(n, k) & 255) - lower);
    });
    for (std::size_t n = 0; n < outputs(); ++n)
      for (std::size_t k = 0; k < inputs(); ++k) sums_[n] += at(n, k) - lower - low_.zero_point(n);
  }

  template <class Params, class Pack>
  static std::vector<std::int32_t> zero_points_of(const QuantizedTensor<Params, Pack>& weights) {
    const Params& params = weights.params();
    if (!ByteWeights::takes(weights.shape(), params.granularity().block(weights.shape())))
      detail::raise_expected(
          errc::unsupported, name, {"weights with one parameter, or one for each output"},
          {params.scales().size(), " parameters for shape ", weights.shape().extents()});
    if constexpr (Params::has_zero_point)
      return {params.zero_points().begin(), params.zero_points().end()};
    else return {};
  }

  PackedWeights high_, low_;
  std::vector<std::int64_t> sums_;
};

}  // namespace tq
