// SPDX-License-Identifier: MIT
#pragma once
// conv2d_integer, conv2d_requantized: two-dimensional convolutions of integers, exact. The rows
// that are multiplied are gathered from the image as they are widened; nothing is copied before.

#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/conv_geometry.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/depthwise.hpp>
#include <tq/linear/detail/packed_filters.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/output/detail/store_row.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/ops/detail/checks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tq {

namespace detail {

// The inputs of every place of the output, as the rows of a matrix: images by heights by widths.
// Padding has the zero point, which is 0 when it is taken away.
template <ByteCode Code>
class ConvRows {
 public:
  ConvRows(const TensorView<const Code>& x, std::int32_t zero_point, const PackedFilters& filters,
           const ConvGeometry& geometry, const Shape& out, std::size_t group) noexcept
      : x_(x),
        zero_point_(zero_point),
        filters_(filters),
        geometry_(geometry),
        height_(out[2]),
        width_(out[3]),
        size_(out[0] * out[2] * out[3]),
        first_channel_(group * filters.channels_of_group()) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Image, height and width of a row.
  [[nodiscard]] std::array<std::size_t, 3> place(std::size_t row) const noexcept {
    return {row / (height_ * width_), row / width_ % height_, row % width_};
  }

  std::int64_t widen(std::size_t row, std::int16_t* out) const noexcept {
    const auto [image, top, left] = place(row);
    const Code* first = x_.data() + static_cast<std::ptrdiff_t>(image) * x_.stride(0) +
                        static_cast<std::ptrdiff_t>(first_channel_) * x_.stride(1);
    std::int64_t sum = 0;
    std::size_t count = 0;
    for (std::size_t c = 0; c < filters_.channels_of_group(); ++c) {
      const Code* x = first + static_cast<std::ptrdiff_t>(c) * x_.stride(1);
      for (std::size_t h = 0; h < filters_.kernel()[0]; ++h) {
        const std::size_t i = geometry_.input(0, top, h);
        const bool row_inside = i < x_.shape()[2];
        const Code* line = row_inside ? x + static_cast<std::ptrdiff_t>(i) * x_.stride(2) : x;
        for (std::size_t w = 0; w < filters_.kernel()[1]; ++w, ++count) {
          const std::size_t k = geometry_.input(1, left, w);
          const bool inside = row_inside && k < x_.shape()[3];
          const std::int32_t v =
              inside ? line[static_cast<std::ptrdiff_t>(k) * x_.stride(3)] - zero_point_ : 0;
          out[count] = static_cast<std::int16_t>(v);
          sum += v;
        }
      }
    }
    if (count % 2 != 0) out[count] = 0;
    return sum;
  }

 private:
  const TensorView<const Code>& x_;
  std::int32_t zero_point_;
  const PackedFilters& filters_;
  const ConvGeometry& geometry_;
  std::size_t height_, width_, size_, first_channel_;
};

inline void require_convolution(const char* function, const Shape& x, const PackedFilters& filters,
                                const ConvGeometry& geometry, const Shape& out) {
  static_cast<void>(require_extents(function, x));
  const std::size_t channels = product_or_most(filters.groups(), filters.channels_of_group());
  if (x.rank() != 4 || x[1] != channels)
    raise_expected(errc::shape_mismatch, function,
                   {"an input of shape [images, ", channels, ", height, width]"}, {x.extents()});
  require_shape(function, "an output",
                Shape{x[0], filters.outputs(), geometry.outputs(0, x[2], filters.kernel()[0]),
                      geometry.outputs(1, x[3], filters.kernel()[1])},
                out);
  static_cast<void>(require_extents(function, out));
  if (filters.outputs() == 0)  // places of no outputs are of no memory
    static_cast<void>(require_extents(function, Shape{out[0], out[2], out[3]}));
}

template <ByteCode Code>
void require_zero_point(const char* function, std::int32_t zero_point) {
  using limits = std::numeric_limits<Code>;
  if (zero_point < limits::min() || zero_point > limits::max())
    raise_expected(errc::bad_zero_point, function,
                   {"a zero point from ", int{limits::min()}, " to ", int{limits::max()}},
                   {zero_point});
}

// Writes what make(sums, first output, count, values) makes of sums.
template <class Arch, ByteCode Code, class Out, class Make, Executor E>
void convolve(const TensorView<const Code>& x, std::int32_t zero_point,
              const PackedFilters& filters, const ConvGeometry& geometry,
              const TensorView<Out>& out, const Make& make, const E& executor) {
  if (filters.is_depthwise())
    return convolve_depthwise<Arch>(x, zero_point, filters, geometry, out, make, executor);
  for (std::size_t g = 0; g < filters.groups(); ++g) {
    const PackedWeights& weights = filters.group(g);
    const ConvRows<Code> rows(x, zero_point, filters, geometry, out.shape(), g);
    const auto store = [&](std::size_t row, std::size_t column, std::size_t count,
                           const std::int32_t* sums) {
      const std::size_t output = g * weights.outputs() + column;
      const auto [image, h, w] = rows.place(row);
      Out* to = out.data() + static_cast<std::ptrdiff_t>(image) * out.stride(0) +
                static_cast<std::ptrdiff_t>(output) * out.stride(1) +
                static_cast<std::ptrdiff_t>(h) * out.stride(2) +
                static_cast<std::ptrdiff_t>(w) * out.stride(3);
      store_row(to, out.stride(1), count, [&](std::size_t first, std::size_t n, Out* values) {
        make(sums + first, output + first, n, values);
      });
    };
    multiply<Arch, std::int32_t>(rows, weights, store, executor);
  }
}

}  // namespace detail

/// out[image, output, h, w]: the sums of (x - x_zero_point) * (weight - its zero point) under the
/// kernel, exact; padding has the zero point. `x`: [images, channels, height, width] of any
/// strides, so that channels may come last in memory. Throws: `errc::shape_mismatch`,
/// `errc::bad_zero_point`; `errc::bad_argument` as `ConvGeometry`, and where a sum might leave 32
/// bits. Nothing is written then.
template <class Arch = default_arch, detail::ByteTensor X, detail::OutputOf<std::int32_t> Y,
          class... O>
void conv2d_integer(const X& codes, std::int32_t x_zero_point, const PackedFilters& filters,
                    const ConvGeometry& geometry, Y&& y, const O&... options) {
  static_assert(!detail::is_temporary_owner<Y>,
                "tq::conv2d_integer: the output is a temporary: give it a name first");
  using Code = detail::code_of<X>;
  const auto in = detail::read_as<Code>(codes);
  const TensorView<const Code>& x = in.view();
  const TensorView<std::int32_t> out = detail::output<std::int32_t>(y);
  detail::require_convolution("tq::conv2d_integer", x.shape(), filters, geometry, out.shape());
  detail::require_zero_point<Code>("tq::conv2d_integer", x_zero_point);
  if (!detail::fits_32_bits(filters.reach()))
    detail::raise_expected(errc::bad_argument, "tq::conv2d_integer", {"sums of 32 bits"},
                           {"weights whose magnitudes sum to ", filters.reach()});
  detail::convolve<Arch>(
      x, x_zero_point, filters, geometry, out,
      [](const std::int32_t* sums, std::size_t, std::size_t count, std::int32_t* values) {
        std::copy_n(sums, count, values);
      },
      detail::executor_of(options...));
}

/// The codes that `stage`, of all outputs, makes of these sums. Throws: as above; as
/// `OutputStage::require_fit`.
template <class Arch = default_arch, detail::ByteTensor X, Requantizer R, class Y, class... O>
  requires ByteCode<element_of<Y>>
void conv2d_requantized(const X& x_codes, std::int32_t x_zero_point, const PackedFilters& filters,
                        const ConvGeometry& geometry, const OutputStage<R>& stage, Y&& y,
                        const O&... options) {
  static_assert(!detail::is_temporary_owner<Y>,
                "tq::conv2d_requantized: the output is a temporary: give it a name first");
  using Code = detail::code_of<X>;
  using Out = element_of<Y>;
  const auto in = detail::read_as<Code>(x_codes);
  const TensorView<const Code>& x = in.view();
  const TensorView<Out> out = detail::output<Out>(y);
  detail::require_convolution("tq::conv2d_requantized", x.shape(), filters, geometry, out.shape());
  detail::require_zero_point<Code>("tq::conv2d_requantized", x_zero_point);
  stage.template require_fit<Out>("tq::conv2d_requantized", filters);
  detail::convolve<Arch>(
      x, x_zero_point, filters, geometry, out,
      [&](const std::int32_t* sums, std::size_t first, std::size_t count, Out* codes) {
        stage.template row<Arch>(sums, first, count, codes);
      },
      detail::executor_of(options...));
}

}  // namespace tq
