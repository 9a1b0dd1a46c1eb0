// SPDX-License-Identifier: MIT
#pragma once
// Bias: what a layer adds to its outputs, in float32 or in steps of its sums.

#include <tq/core/detail/read.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/detail/checks.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tq {

/// No bias, a float32 for each output, or an int32 for each output, in steps of the sums: a step is
/// the scale of x * the scale of the output's weights.
class Bias {
 public:
  Bias() = default;
  /// A vector, span, Eigen vector or other tensor of one axis, of real numbers, which count as
  /// float32, or of int32. Throws: `errc::shape_mismatch` for more axes.
  template <Readable X>
  Bias(const X& values)  // NOLINT(google-explicit-constructor)
      : values_(copied(detail::read(values).view())) {}
  template <detail::InputOf<std::int32_t> X>
  Bias(const X& values)  // NOLINT(google-explicit-constructor)
      : values_(copied(detail::read_as<std::int32_t>(values).view())) {}

  [[nodiscard]] std::size_t size() const noexcept { return floats().size() + integers().size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Empty where there are none of this type.
  [[nodiscard]] std::span<const float> floats() const noexcept { return as<float>(); }
  [[nodiscard]] std::span<const std::int32_t> integers() const noexcept {
    return as<std::int32_t>();
  }

  /// Throws: `errc::shape_mismatch` unless there are none, or as many as outputs;
  /// `errc::not_finite` for a float that is none, with its output.
  void require_fit(const char* function, std::size_t outputs) const {
    if (!empty() && size() != outputs)
      detail::raise_expected(errc::shape_mismatch, function, {"0 or ", outputs, " biases"},
                             {size()});
    for (std::size_t n = 0; n < floats().size(); ++n)
      if (!std::isfinite(floats()[n]))
        detail::raise_expected(errc::not_finite, function, {"finite biases"},
                               {floats()[n], " for output ", n});
  }

 private:
  template <class T>
  static auto copied(const TensorView<const T>& values) {
    if (values.shape().rank() > 1)
      detail::raise_expected(errc::shape_mismatch, "tq::Bias", {"a tensor of one axis"},
                             {"shape ", values.shape().extents()});
    std::vector<std::conditional_t<Real<T>, float, T>> out(values.size());
    if constexpr (Real<T>) copy_unchecked(values, TensorView<float>(out.data(), values.shape()));
    else
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = values.data()[static_cast<std::ptrdiff_t>(i) * values.stride(0)];
    return out;
  }
  template <class T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    const auto* values = std::get_if<std::vector<T>>(&values_);
    return values == nullptr ? std::span<const T>{} : std::span<const T>(*values);
  }

  std::variant<std::vector<float>, std::vector<std::int32_t>> values_;
};

namespace detail {
// The bias of output n in steps of x_scale * weight_scale. Throws: as `quantize_bias`.
[[nodiscard]] inline std::int32_t bias_steps(float bias, std::size_t n, float x_scale,
                                             float weight_scale) {
  if (!std::isfinite(bias))
    raise_expected(errc::not_finite, "tq::quantize_bias", {"finite biases"},
                   {bias, " for output ", n});
  const double steps =
      std::nearbyint(static_cast<double>(bias) /
                     (static_cast<double>(x_scale) * static_cast<double>(weight_scale)));
  if (!(std::fabs(steps) < 2147483648.0))
    raise_expected(errc::bad_argument, "tq::quantize_bias", {"biases of less than 2^31 steps"},
                   {bias, " for output ", n, ", whose step is ", x_scale, " * ", weight_scale});
  return static_cast<std::int32_t>(steps);
}
}  // namespace detail

/// Biases in steps of the sums: bias[n] / (x_scale * weight_scales[n]) in double, to nearest even.
/// `weight_scales`: one, or one for each output. Throws: `errc::shape_mismatch` for another number;
/// `errc::not_finite`; `errc::bad_argument`, with the output, for a bias of 2^31 steps or more: its
/// weights need a larger scale, or the bias stays float32.
[[nodiscard]] inline std::vector<std::int32_t> quantize_bias(std::span<const float> bias,
                                                             float x_scale,
                                                             std::span<const float> weight_scales) {
  if (weight_scales.size() != 1)
    detail::require_size("tq::quantize_bias", "scales, one for each bias,", bias.size(),
                         weight_scales.size());
  std::vector<std::int32_t> out;
  out.reserve(bias.size());
  for (std::size_t n = 0; n < bias.size(); ++n)
    out.push_back(
        detail::bias_steps(bias[n], n, x_scale, weight_scales[weight_scales.size() == 1 ? 0 : n]));
  return out;
}

}  // namespace tq
