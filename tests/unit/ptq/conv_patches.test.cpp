// SPDX-License-Identifier: MIT
#include <tq/linear/conv_geometry.hpp>
#include <tq/ptq/conv_patches.hpp>

#include <array>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

TEST_CASE("patches are the inputs of every place of a convolution") {
  const std::size_t n = 2, channels = 3, height = 5, width = 7;
  std::vector<float> x(n * channels * height * width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const tq::ConvGeometry geometry{
      .strides = {2, 1}, .dilations = {1, 2}, .pads_before = {1, 0}, .pads_after = {0, 3}};
  const std::array<std::size_t, 2> kernel{3, 2};
  const tq::ConvPatches patches = tq::conv_patches(
      tq::ConstTensorView(x.data(), {n, channels, height, width}), kernel, geometry);
  const std::size_t rows = (height + 1 - 3) / 2 + 1, columns = width + 3 - 3 + 1;
  REQUIRE(patches.shape() == tq::Shape{n * rows * columns, channels * 6});
  std::size_t at = 0;
  for (std::size_t i = 0; i < n * rows * columns; ++i)
    for (std::size_t c = 0; c < channels; ++c)
      for (int k = 0; k < 6; ++k) {
        const int y = static_cast<int>(i / columns % rows) * 2 + k / 2 - 1,
                  z = static_cast<int>(i % columns) + k % 2 * 2;
        const bool inside = y >= 0 && y < 5 && z < 7;
        const std::size_t image = i / (rows * columns);
        const float expected =
            inside ? static_cast<float>(
                         ((image * channels + c) * height + static_cast<std::size_t>(y)) * width +
                         static_cast<std::size_t>(z) + 1)
                   : 0.0f;
        if (patches.view().data()[at++] != expected)
          FAIL("place " << i << ", input " << c << ' ' << k);
      }
  test::raises(tq::errc::shape_mismatch, {"[images, channels, height, width]", "[6, 35]"},
               [&] { (void)tq::conv_patches(tq::ConstTensorView(x.data(), {6, 35}), kernel); });
  test::raises(tq::errc::bad_argument, {"tq::ConvGeometry", "got 5"}, [&] {
    (void)tq::conv_patches(tq::ConstTensorView(x.data(), {n, channels, height, width}), {6, 1});
  });
}
