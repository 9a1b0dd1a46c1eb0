// SPDX-License-Identifier: MIT
#pragma once
// QuantizedConv2d: a two-dimensional convolution that multiplies integers, and takes and gives
// floats or codes.

#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/conv2d.hpp>
#include <tq/linear/conv_geometry.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/packed_filters.hpp>
#include <tq/linear/detail/require_weights.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/code_output.hpp>
#include <tq/linear/output/detail/layer_stage.hpp>
#include <tq/linear/output/float_output.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/ops/detail/read_floats.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tq {

/// Which axis of images has the channels, and of weights too.
enum class Channels : std::uint8_t {
  first,  ///< [images, channels, height, width], as PyTorch and ONNX have it
  last    ///< [images, height, width, channels], as TensorFlow Lite and XNNPACK have it
};

/// Options of a convolution, which is depthwise if each channel is a group.
struct Conv2dOptions {
  ConvGeometry geometry{};
  std::size_t groups = 1;
  Channels channels = Channels::first;

  friend bool operator==(const Conv2dOptions&, const Conv2dOptions&) = default;
};

namespace detail {
// The same elements with channels first.
template <class T>
[[nodiscard]] TensorView<T> channels_first(const char* function, const TensorView<T>& x,
                                           Channels channels) {
  const Shape& s = x.shape();
  if (s.rank() != 4)
    raise_expected(errc::shape_mismatch, function, {"four axes"}, {"shape ", s.extents()});
  if (channels == Channels::first) return x;
  return {x.data(), Shape{s[0], s[3], s[1], s[2]},
          Strides{x.stride(0), x.stride(3), x.stride(1), x.stride(2)}};
}
}  // namespace detail

/// y[image, output, h, w] = the sum under the kernel of x * weights, + bias, summed as integers;
/// padding has the zero point. `In` and `Out` are those of `QuantizedLinear`; a `DynamicActivation`
/// gives every image a scale of its own. A layer that was moved from has no weights, and its
/// `forward` throws `errc::shape_mismatch`.
template <Activation In = DynamicActivation<>, class Out = FloatOutput>
class QuantizedConv2d {
 public:
  using code_type = typename In::code_type;
  using value_type = typename Out::value_type;
  static constexpr bool gives_codes = ByteCode<value_type>;
  static_assert(In::is_static || !gives_codes,
                "tq::QuantizedConv2d: a CodeOutput needs a StaticActivation, as the factor of its "
                "codes is made of a scale that is known before");

  /// Weights of shape [outputs, channels of a group, height, width], or, with channels last,
  /// [outputs, height, width, channels of a group], with parameters per tensor or for each output.
  /// Throws: as `QuantizedLinear`, `PackedFilters`.
  template <ByteParams Params, class Pack>
  explicit QuantizedConv2d(const QuantizedTensor<Params, Pack>& weights, const Bias& bias = {},
                           const Conv2dOptions& options = {}, In in = {}, Out out = {})
      : QuantizedConv2d(ByteWeights(weights), bias, options, std::move(in), out) {}
  /// The same of weights whose types were known at run time.
  explicit QuantizedConv2d(const ByteWeights& weights, const Bias& bias = {},
                           const Conv2dOptions& options = {}, In in = {}, Out out = {})
      : options_(options),
        filters_(first(weights.codes()), options.groups, weights.zero_points()),
        in_(std::move(in)),
        stage_(detail::layer_stage(name, in_, filters_, weights.scales(), bias, out)) {}

  [[nodiscard]] const PackedFilters& filters() const noexcept { return filters_; }
  [[nodiscard]] const Conv2dOptions& options() const noexcept { return options_; }
  [[nodiscard]] const In& activation() const noexcept { return in_; }

  /// Images of the channels that options() says, of any strides and real numbers, which count as
  /// float32. No channels give biases. Throws:
  /// `errc::shape_mismatch`;
  /// `errc::bad_argument` for images smaller than the kernel; `errc::bad_scale` where the scale of
  /// an image times one of the weights is infinite. Nothing is written then.
  template <class Arch = default_arch, Readable X = ConstTensorView,
            detail::OutputOf<value_type> Y = TensorView<value_type>, class... O>
  void forward(const X& x, Y&& y, const O&... options) const {
    const auto& executor = detail::executor_of(options...);
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedConv2d::forward: the output is a temporary: give it a name first");
    forward_floats<Arch>(detail::read_floats(name, x, executor).view(),
                         detail::output<value_type>(std::forward<Y>(y)), executor);
  }

  /// The same of codes, which have the parameters of the `StaticActivation`.
  template <class Arch = default_arch, detail::InputOf<code_type> X = TensorView<const code_type>,
            detail::OutputOf<value_type> Y = TensorView<value_type>, class... O>
    requires In::is_static
  void forward(const X& x, Y&& y, const O&... options) const {
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedConv2d::forward: the output is a temporary: give it a name first");
    forward_codes<Arch>(detail::read_as<code_type>(x).view(),
                        detail::output<value_type>(std::forward<Y>(y)),
                        detail::executor_of(options...));
  }

 private:
  static constexpr const char* name = "tq::QuantizedConv2d";

  template <class Arch, Executor E>
  void forward_floats(const ConstTensorView& x, const TensorView<value_type>& y,
                      const E& executor) const {
    const auto to = checked(x, y);
    const auto codes = in_.codes(x, executor);
    convolve<Arch>(first(codes.view()), codes.scales.span(), codes.zero_points.span(), to,
                   executor);
  }
  template <class Arch, Executor E>
  void forward_codes(const TensorView<const code_type>& x, const TensorView<value_type>& y,
                     const E& executor) const {
    const auto to = checked(x, y);
    const float scale = in_.scale();
    const std::int32_t zero_point = in_.zero_point();
    convolve<Arch>(first(x), {&scale, 1}, {&zero_point, 1}, to, executor);
  }

  template <class T>
  [[nodiscard]] TensorView<T> first(const TensorView<T>& x) const {
    return detail::channels_first(name, x, options_.channels);
  }

  // The output with channels first, if all shapes fit.
  template <class T>
  TensorView<value_type> checked(const TensorView<T>& x, const TensorView<value_type>& y) const {
    detail::require_weights(name, has_weights_);
    const auto to = first(y);
    detail::require_convolution(name, first(x).shape(), filters_, options_.geometry, to.shape());
    return to;
  }

  template <class Arch, Executor E>
  void convolve(const TensorView<const code_type>& x, std::span<const float> scales,
                std::span<const std::int32_t> zero_points, const TensorView<value_type>& y,
                const E& executor) const {
    if constexpr (gives_codes) {
      conv2d_requantized<Arch>(x, in_.zero_point(), filters_, options_.geometry, stage_, y,
                               executor);
    } else {
      stage_.require_finite(name, scales);
      // All images that share a scale at once.
      const std::size_t images = x.shape()[0], at_once = In::is_static ? images : 1;
      for (std::size_t i = 0; i < images; i += at_once)
        detail::convolve<Arch>(
            some(x, i, at_once), zero_points.empty() ? 0 : zero_points[In::is_static ? 0 : i],
            filters_, options_.geometry, some(y, i, at_once),
            [&, scale = scales[In::is_static ? 0 : i]](const std::int32_t* sums, std::size_t at,
                                                       std::size_t count, float* values) {
              stage_.template row<Arch>(sums, at, count, scale, values);
            },
            executor);
    }
  }

  template <class T>
  static TensorView<T> some(const TensorView<T>& x, std::size_t from, std::size_t count) {
    const Shape& s = x.shape();
    return {x.data() + static_cast<std::ptrdiff_t>(from) * x.stride(0),
            Shape{count, s[1], s[2], s[3]}, x.strides()};
  }

  Conv2dOptions options_;
  PackedFilters filters_;
  In in_;
  typename Out::stage_type stage_;
  detail::Emptied<bool> has_weights_ = true;
};

}  // namespace tq
