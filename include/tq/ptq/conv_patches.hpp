// SPDX-License-Identifier: MIT
#pragma once
// conv_patches: the inputs of every place of a convolution's output, as rows for a Hessian.

#include <tq/core/buffer.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/conv_geometry.hpp>
#include <tq/ops/detail/read_floats.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq {

/// Rows [tokens, inputs] in memory of their own.
class ConvPatches {
 public:
  /// Precondition: `values` has the elements of the shape.
  ConvPatches(Shape shape, std::vector<float> values) noexcept
      : shape_(shape), values_(std::move(values)) {}

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] ConstTensorView view() const& noexcept { return {values_.data(), shape_}; }
  ConstTensorView view() const&& = delete;

 private:
  Shape shape_;
  std::vector<float> values_;
};

namespace detail {

// Writes the inputs of output (y, x) of an image [channels, height, width] to `to`.
inline float* copy_patch(const ConstTensorView& image, const std::array<std::size_t, 2>& kernel,
                         const ConvGeometry& geometry, const std::array<std::size_t, 2>& at,
                         float* to) noexcept {
  const Shape& shape = image.shape();
  for (std::size_t c = 0; c < shape[0]; ++c)
    for (std::size_t i = 0; i < kernel[0]; ++i)
      for (std::size_t j = 0; j < kernel[1]; ++j) {
        const std::size_t y = geometry.input(0, at[0], i), x = geometry.input(1, at[1], j);
        const bool is_padding = y >= shape[1] || x >= shape[2];
        *to++ = is_padding ? 0.0f
                           : image.data()[static_cast<std::ptrdiff_t>(c) * image.stride(0) +
                                          static_cast<std::ptrdiff_t>(y) * image.stride(1) +
                                          static_cast<std::ptrdiff_t>(x) * image.stride(2)];
      }
  return to;
}

}  // namespace detail

/// The inputs of a convolution of `images` [images, channels, height, width] by filters of `kernel`
/// (height, width): a row for every place of the output, with the channels * kernel inputs in the
/// order of filters [outputs, channels, height, width]; padding is 0. The inputs of a group lie
/// beside each other, as `HessianStack` takes them. Throws: `errc::shape_mismatch` for another
/// rank; as `ConvGeometry::outputs`; `errc::bad_argument` for rows that memory cannot hold.
template <Readable X = ConstTensorView>
[[nodiscard]] ConvPatches conv_patches(const X& images, const std::array<std::size_t, 2>& kernel,
                                       const ConvGeometry& geometry = {}) {
  constexpr const char* function = "tq::conv_patches";
  const auto floats = detail::read_floats(function, images);
  const ConstTensorView& view = floats.view();
  const Shape& in = view.shape();
  if (in.rank() != 4)
    detail::raise_expected(errc::shape_mismatch, function,
                           {"images [images, channels, height, width]"}, {in.extents()});
  const std::size_t height = geometry.outputs(0, in[2], kernel[0]),
                    width = geometry.outputs(1, in[3], kernel[1]);
  static_cast<void>(
      detail::require_extents(function, {in[0], height, width, in[1], kernel[0], kernel[1]}));
  std::vector<float> values(in[0] * height * width * in[1] * kernel[0] * kernel[1]);
  float* to = values.data();
  for (std::size_t n = 0; n < in[0]; ++n) {
    const ConstTensorView image(view.data() + static_cast<std::ptrdiff_t>(n) * view.stride(0),
                                {in[1], in[2], in[3]},
                                {view.stride(1), view.stride(2), view.stride(3)});
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        to = detail::copy_patch(image, kernel, geometry, {y, x}, to);
  }
  return {{in[0] * height * width, in[1] * kernel[0] * kernel[1]}, std::move(values)};
}

}  // namespace tq
