// SPDX-License-Identifier: MIT
#pragma once
// QuantizedConv1d: a convolution along one axis, which is one of images of height 1.

#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/packed_filters.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/float_output.hpp>
#include <tq/linear/quantized_conv2d.hpp>
#include <tq/ops/detail/read_floats.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

namespace tq {

/// The geometry of a convolution along one axis, in elements.
struct Conv1dOptions {
  std::size_t stride = 1, dilation = 1, pad_before = 0, pad_after = 0;
  std::size_t groups = 1;
  Channels channels = Channels::first;

  friend bool operator==(const Conv1dOptions&, const Conv1dOptions&) = default;
};

/// y[signal, output, at] = the sum under the kernel of x * weights, + bias: a `QuantizedConv2d` of
/// height 1, also where it was moved from. Signals are [signals, channels, length], or [signals,
/// length, channels].
template <Activation In = DynamicActivation<>, class Out = FloatOutput>
class QuantizedConv1d {
 public:
  using code_type = typename In::code_type;
  using value_type = typename Out::value_type;

  /// Weights of shape [outputs, channels of a group, length], or, with channels last, [outputs,
  /// length, channels of a group]. Throws: `errc::shape_mismatch` for others; as `QuantizedConv2d`.
  template <ByteParams Params, class Pack>
  explicit QuantizedConv1d(const QuantizedTensor<Params, Pack>& weights, const Bias& bias = {},
                           const Conv1dOptions& options = {}, In in = {}, Out out = {})
      : QuantizedConv1d(ByteWeights(weights), bias, options, std::move(in), out) {}
  /// The same of weights whose types were known at run time.
  explicit QuantizedConv1d(ByteWeights weights, const Bias& bias = {},
                           const Conv1dOptions& options = {}, In in = {}, Out out = {})
      : conv_(raised(std::move(weights), options.channels), bias, wide(options), std::move(in),
              out) {}

  /// Filters of height 1.
  [[nodiscard]] const PackedFilters& filters() const noexcept { return conv_.filters(); }
  [[nodiscard]] Conv1dOptions options() const noexcept {
    const auto& [geometry, groups, channels] = conv_.options();
    return {.stride = geometry.strides[1],
            .dilation = geometry.dilations[1],
            .pad_before = geometry.pads_before[1],
            .pad_after = geometry.pads_after[1],
            .groups = groups,
            .channels = channels};
  }
  [[nodiscard]] const In& activation() const noexcept { return conv_.activation(); }

  /// Throws: as `QuantizedConv2d::forward`, whose shapes have a height of 1.
  template <class Arch = default_arch, Readable X = ConstTensorView,
            detail::OutputOf<value_type> Y = TensorView<value_type>, class... O>
  void forward(const X& x, Y&& y, const O&... options) const {
    const auto& executor = detail::executor_of(options...);
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedConv1d::forward: the output is a temporary: give it a name first");
    raised_forward<Arch>(detail::read_floats(name, x, executor).view(),
                         detail::output<value_type>(std::forward<Y>(y)), executor);
  }
  /// The same of codes, which have the parameters of the `StaticActivation`.
  template <class Arch = default_arch, detail::InputOf<code_type> X = TensorView<const code_type>,
            detail::OutputOf<value_type> Y = TensorView<value_type>, class... O>
    requires In::is_static
  void forward(const X& x, Y&& y, const O&... options) const {
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedConv1d::forward: the output is a temporary: give it a name first");
    raised_forward<Arch>(detail::read_as<code_type>(x).view(),
                         detail::output<value_type>(std::forward<Y>(y)),
                         detail::executor_of(options...));
  }

 private:
  static constexpr const char* name = "tq::QuantizedConv1d";

  template <class Arch, class T, Executor E>
  void raised_forward(const TensorView<const T>& x, const TensorView<value_type>& y,
                      const E& executor) const {
    conv_.template forward<Arch>(raised(x), raised(y), executor);
  }

  static Conv2dOptions wide(const Conv1dOptions& o) {
    return {.geometry = {.strides = {1, o.stride},
                         .dilations = {1, o.dilation},
                         .pads_before = {0, o.pad_before},
                         .pads_after = {0, o.pad_after}},
            .groups = o.groups,
            .channels = o.channels};
  }

  // A shape with a height of 1.
  static Shape raised(const Shape& s, Channels channels) {
    if (s.rank() != 3)
      detail::raise_expected(errc::shape_mismatch, name, {"three axes"}, {"shape ", s.extents()});
    return channels == Channels::first ? Shape{s[0], s[1], 1, s[2]} : Shape{s[0], 1, s[1], s[2]};
  }
  static ByteWeights raised(ByteWeights weights, Channels channels) {
    const Shape shape = raised(weights.shape(), channels);
    return std::move(weights).reshaped(shape);
  }
  template <class T>
  [[nodiscard]] TensorView<T> raised(const TensorView<T>& x) const {
    const Channels channels = conv_.options().channels;
    const Shape shape = raised(x.shape(), channels);
    return channels == Channels::first
               ? TensorView<T>(x.data(), shape, Strides{x.stride(0), x.stride(1), 0, x.stride(2)})
               : TensorView<T>(x.data(), shape, Strides{x.stride(0), 0, x.stride(1), x.stride(2)});
  }

  QuantizedConv2d<In, Out> conv_;
};

}  // namespace tq
