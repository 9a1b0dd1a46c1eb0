// SPDX-License-Identifier: MIT
#pragma once
// ByteWeights: integer weights as bytes with their parameters, whatever types they had before.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// Codes that matrices are multiplied of.
template <class Code>
concept ByteCode = std::same_as<Code, std::int8_t> || std::same_as<Code, std::uint8_t>;

namespace detail {
// The codes of a tensor that is read.
template <class X>
using code_of = std::remove_const_t<element_of<const X>>;
// A tensor of byte codes, of any kind that `tq::as_tensor` takes.
template <class X>
concept ByteTensor = ByteCode<code_of<X>>;
}  // namespace detail

/// Parameters of integers whose codes are such.
template <class Params>
concept ByteParams = IntegerElement<typename Params::type> &&
                     ByteCode<typename Params::code_type> && !Params::has_offset;

namespace detail {
// The number that is taken from codes of the type where they are kept.
template <ByteCode Code>
inline constexpr std::int32_t kept_lower = std::is_signed_v<Code> ? 0 : 128;
}  // namespace detail

/// Weights of integer layers: codes, row-major, whose first axis counts outputs, and parameters for
/// the whole tensor or for each output. Codes of uint8 are kept 128 lower, as are their zero
/// points.
class ByteWeights {
 public:
  /// Throws: `errc::unsupported` for parameters of groups or of another axis.
  template <ByteParams Params, class Pack>
  explicit ByteWeights(const QuantizedTensor<Params, Pack>& weights)
      : ByteWeights(std::span<const typename Params::code_type>(unpacked(weights).span()),
                    weights.shape(), weights.params().granularity().block(weights.shape()),
                    copied<float>(weights.params().scales()), zero_points_of(weights.params())) {}

  /// Codes of `shape`, of which those of a `block` share parameters; `zero_points`: as many as
  /// scales, or none where all are 0. Throws: as above; `errc::shape_mismatch` for another number
  /// of codes or zero points; `errc::bad_scale` for a scale that is not positive and finite;
  /// `errc::bad_zero_point` for a zero point that is no code; `errc::bad_argument` for extents that
  /// memory cannot hold.
  template <ByteCode Code>
  ByteWeights(std::span<const Code> codes, const Shape& shape, const Shape& block,
              std::vector<float> scales, std::vector<std::int32_t> zero_points)
      : shape_(shape),
        codes_(codes.size()),
        scales_(std::move(scales)),
        zero_points_(std::move(zero_points)) {
    constexpr std::int32_t lower = detail::kept_lower<Code>;
    detail::require_weight_extents("tq::ByteWeights", shape_);
    detail::require_size("tq::ByteWeights", "a number of codes", shape_.size(), codes.size());
    const std::size_t outputs = outputs_of(shape_);
    if (!takes(shape_, block) || (scales_.size() != 1 && scales_.size() != outputs))
      detail::raise_expected(errc::unsupported, "tq::ByteWeights",
                             {"weights with one parameter, or one for each output"},
                             {scales_.size(), " parameters for shape ", shape_.extents()});
    if (zero_points_.empty() && lower != 0) zero_points_.resize(scales_.size());
    if (!zero_points_.empty())
      detail::require_size("tq::ByteWeights", "a number of zero points", scales_.size(),
                           zero_points_.size());
    require_values(std::numeric_limits<Code>::min(), std::numeric_limits<Code>::max());
    for (std::int32_t& z : zero_points_) z -= lower;
    std::ranges::transform(codes, codes_.data(),
                           [](Code c) { return static_cast<std::int8_t>(c - lower); });
  }

  ByteWeights(const ByteWeights&) = default;
  /// Weights that were moved from are empty.
  ByteWeights(ByteWeights&& other) noexcept
      : shape_(std::exchange(other.shape_, Shape{0})),
        codes_(std::move(other.codes_)),
        scales_(std::move(other.scales_)),
        zero_points_(std::move(other.zero_points_)) {}
  ByteWeights& operator=(ByteWeights other) noexcept {
    shape_ = other.shape_;
    codes_ = std::move(other.codes_);
    scales_ = std::move(other.scales_);
    zero_points_ = std::move(other.zero_points_);
    return *this;
  }
  ~ByteWeights() = default;

  /// Whether blocks of parameters are the whole tensor, or all of an output.
  [[nodiscard]] static bool takes(const Shape& shape, const Shape& block) noexcept {
    bool whole = shape.rank() == 0 || block[0] == 1 || block[0] >= shape[0];
    for (int axis = 1; axis < shape.rank(); ++axis) whole = whole && block[axis] >= shape[axis];
    return whole;
  }

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] TensorView<const std::int8_t> codes() const noexcept {
    return {codes_.data(), shape_};
  }
  /// A single scale, or a scale for each output.
  [[nodiscard]] std::span<const float> scales() const noexcept { return scales_; }
  /// A zero point for each scale, or empty if all are 0.
  [[nodiscard]] std::span<const std::int32_t> zero_points() const noexcept { return zero_points_; }

  /// The same codes under another shape. Throws: `errc::shape_mismatch` unless it has the same
  /// number of elements, and the same number along the first axis.
  [[nodiscard]] ByteWeights reshaped(const Shape& shape) && {
    detail::require_size("tq::ByteWeights::reshaped", "a number of codes", shape_.size(),
                         shape.size());
    detail::require_size("tq::ByteWeights::reshaped", "a number of outputs", outputs_of(shape_),
                         outputs_of(shape));
    shape_ = shape;
    return std::move(*this);
  }

 private:
  // Throws unless scales and zero points, which are as they came, may stand beside such codes.
  void require_values(std::int32_t lowest, std::int32_t highest) const {
    for (std::size_t i = 0; i < scales_.size(); ++i)
      if (!detail::valid_scale(scales_[i]))
        detail::raise_expected(errc::bad_scale, "tq::ByteWeights", {"positive finite scales"},
                               {scales_[i], " at parameter ", i});
    for (std::size_t i = 0; i < zero_points_.size(); ++i)
      if (zero_points_[i] < lowest || zero_points_[i] > highest)
        detail::raise_text(errc::bad_zero_point,
                           {"tq::ByteWeights: expected zero points from ", lowest, " to ", highest,
                            ", at parameter ", i, " got ", zero_points_[i]});
  }
  static std::size_t outputs_of(const Shape& shape) noexcept {
    return shape.rank() == 0 ? 1 : shape[0];
  }
  template <class Params, class Pack>
  static Buffer<typename Params::code_type> unpacked(const QuantizedTensor<Params, Pack>& weights) {
    Buffer<typename Params::code_type> out(weights.size());
    unpack<typename Params::type, Pack>(weights.bytes(), out.span());
    return out;
  }
  template <class T>
  static std::vector<T> copied(const auto& values) {
    return {values.begin(), values.end()};
  }
  template <class Params>
  static std::vector<std::int32_t> zero_points_of(const Params& params) {
    if constexpr (Params::has_zero_point) return copied<std::int32_t>(params.zero_points());
    else return {};
  }

  Shape shape_;
  Buffer<std::int8_t> codes_;
  std::vector<float> scales_;
  std::vector<std::int32_t> zero_points_;
};

}  // namespace tq
