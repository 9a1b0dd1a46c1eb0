// SPDX-License-Identifier: MIT
#include <tq/linear/conv2d.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::ConvGeometry;
using tq::OutputStage;
using tq::PackedFilters;
using tq::Shape;
using tq::TensorView;

struct Convolution {
  std::size_t images = 2, channels = 4, outputs = 6, groups = 1;
  std::array<std::size_t, 2> extent{9, 7}, kernel{3, 2};
  ConvGeometry geometry;
  std::int32_t zero_point = 0;
  std::vector<std::uint8_t> x;
  std::vector<std::int8_t> w;
  std::vector<std::int32_t> zero_points;

  void fill(inputs::Random& r) {
    x.resize(in().size());
    w.resize(weights().size());
    for (auto& v : x) v = static_cast<std::uint8_t>(r.between(0, 255));
    for (auto& v : w) v = static_cast<std::int8_t>(r.between(-128, 127));
  }
  [[nodiscard]] Shape in() const { return {images, channels, extent[0], extent[1]}; }
  [[nodiscard]] Shape weights() const { return {outputs, channels / groups, kernel[0], kernel[1]}; }
  [[nodiscard]] Shape out() const {
    return {images, outputs, geometry.outputs(0, extent[0], kernel[0]),
            geometry.outputs(1, extent[1], kernel[1])};
  }
  [[nodiscard]] PackedFilters packed() const {
    return PackedFilters(TensorView<const std::int8_t>(w.data(), weights()), groups, zero_points);
  }
  [[nodiscard]] TensorView<const std::uint8_t> view() const { return {x.data(), in()}; }

  // The sum under the kernel, place by place.
  [[nodiscard]] std::int32_t sum(std::size_t image, std::size_t output, std::size_t top,
                                 std::size_t left) const {
    const std::size_t each = channels / groups, first = output / (outputs / groups) * each;
    std::int32_t s = 0;
    for (std::size_t c = 0; c < each; ++c)
      for (std::size_t h = 0; h < kernel[0]; ++h)
        for (std::size_t k = 0; k < kernel[1]; ++k) {
          const auto at = [&](std::size_t axis, std::size_t o, std::size_t i) {
            return static_cast<std::ptrdiff_t>(o * geometry.strides[axis] +
                                               i * geometry.dilations[axis]) -
                   static_cast<std::ptrdiff_t>(geometry.pads_before[axis]);
          };
          const std::ptrdiff_t row = at(0, top, h), column = at(1, left, k);
          if (row < 0 || column < 0 || row >= static_cast<std::ptrdiff_t>(extent[0]) ||
              column >= static_cast<std::ptrdiff_t>(extent[1]))
            continue;
          const std::size_t from =
              ((image * channels + first + c) * extent[0] + static_cast<std::size_t>(row)) *
                  extent[1] +
              static_cast<std::size_t>(column);
          const std::int32_t weight = w[((output * each + c) * kernel[0] + h) * kernel[1] + k];
          s += (x[from] - zero_point) *
               (weight -
                (zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : output]));
        }
    return s;
  }
  [[nodiscard]] std::vector<std::int32_t> sums() const {
    std::vector<std::int32_t> all;
    const Shape o = out();
    for (std::size_t i = 0; i < o[0]; ++i)
      for (std::size_t n = 0; n < o[1]; ++n)
        for (std::size_t h = 0; h < o[2]; ++h)
          for (std::size_t k = 0; k < o[3]; ++k) all.push_back(sum(i, n, h, k));
    return all;
  }
};

std::string check(Convolution c, inputs::Random& r, const char* what) {
  c.fill(r);
  std::vector<std::int32_t> out(c.out().size(), -7);
  tq::conv2d_integer(c.view(), c.zero_point, c.packed(), c.geometry,
                     TensorView<std::int32_t>(out.data(), c.out()), test::Threads{2});
  return out == c.sums() ? "" : std::string(what) + "\n";
}

}  // namespace

TEST_CASE(
    "a convolution is the sum under its kernel: strides, dilations, padding, groups, zero points") {
  inputs::Random r(1);
  Convolution plain, strided, dilated, padded, grouped, depthwise, line, zeros;
  strided.geometry.strides = {2, 3};
  dilated.geometry.dilations = {2, 3};
  padded.geometry = {{2, 1}, {1, 2}, {1, 3}, {2, 0}};
  padded.zero_point = 37;
  grouped.groups = 2;
  depthwise.groups = 4;
  depthwise.outputs = 8;
  depthwise.geometry.pads_before = {1, 1};
  depthwise.zero_point = 255;
  line.extent = {1, 40};
  line.kernel = {1, 5};
  zeros.zero_points = {-128, 127, 0, 1, 2, 3};
  zeros.zero_point = 5;
  zeros.geometry.pads_after = {2, 2};
  std::string failures;
  failures += check(plain, r, "plain");
  failures += check(strided, r, "strided");
  failures += check(dilated, r, "dilated");
  failures += check(padded, r, "padded");
  failures += check(grouped, r, "grouped");
  failures += check(depthwise, r, "depthwise");
  failures += check(line, r, "line");
  failures += check(zeros, r, "zeros");
  zeros.groups = 2;
  failures += check(zeros, r, "zeros in groups");
  plain.images = 0;
  failures += check(plain, r, "no images");
  CHECK(failures == "");
}

TEST_CASE("channels may come last in memory, of inputs and outputs") {
  inputs::Random r(2);
  Convolution c;
  c.fill(r);
  const Shape in = c.in(), out = c.out();
  const auto last = [](const Shape& s) {
    const auto n = [](std::size_t v) { return static_cast<std::ptrdiff_t>(v); };
    return tq::Strides{n(s[1] * s[2] * s[3]), 1, n(s[3] * s[1]), n(s[1])};
  };
  std::vector<std::uint8_t> x(c.x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t plane = in[2] * in[3], image = i / (in[1] * plane),
                      channel = i / plane % in[1];
    x[image * in[1] * plane + i % plane * in[1] + channel] = c.x[i];
  }
  std::vector<std::int32_t> y(out.size());
  tq::conv2d_integer(TensorView<const std::uint8_t>(x.data(), in, last(in)), 0, c.packed(),
                     c.geometry, TensorView<std::int32_t>(y.data(), out, last(out)));
  const auto wanted = c.sums();
  bool equal = true;
  const std::size_t plane = out[2] * out[3];
  for (std::size_t i = 0; i < wanted.size(); ++i)
    equal = equal &&
            wanted[i] ==
                y[i / (out[1] * plane) * out[1] * plane + i % plane * out[1] + i / plane % out[1]];
  CHECK(equal);
}

TEST_CASE("a convolution's codes are those that the stages of its groups make") {
  inputs::Random r(3);
  Convolution c;
  c.groups = 2;
  c.zero_point = 100;
  c.fill(r);
  const std::array first{0.001, 0.002, 0.003}, second{0.004, 0.005, 0.006};
  const std::vector<OutputStage<>> stages{OutputStage<>(first, 3, -128, 127),
                                          OutputStage<>(second, 3, 3, 127)};
  std::vector<std::int8_t> out(c.out().size());
  tq::conv2d_requantized(c.view(), c.zero_point, c.packed(), c.geometry,
                         std::span<const OutputStage<>>(stages),
                         TensorView<std::int8_t>(out.data(), c.out()));
  const auto sums = c.sums();
  bool equal = true;
  const std::size_t plane = c.out()[2] * c.out()[3];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t n = i / plane % c.outputs;
    equal = equal && out[i] == stages[n / 3](sums[i], n % 3);
  }
  CHECK(equal);
}

TEST_CASE("convolutions that do not fit are refused before anything is written") {
  inputs::Random r(4);
  Convolution c;
  c.fill(r);
  const PackedFilters filters = c.packed();
  std::vector<std::int32_t> out(c.out().size(), 9);
  const auto run = [&](Shape in, std::int32_t zero_point, Shape to) {
    tq::conv2d_integer(TensorView<const std::uint8_t>(c.x.data(), in), zero_point, filters,
                       c.geometry, TensorView<std::int32_t>(out.data(), to));
  };
  test::raises(tq::errc::shape_mismatch, {"[images, 4, height, width]", "[2, 3, 9, 7]"}, [&] {
    run({2, 3, 9, 7}, 0, c.out());
  });
  test::raises(tq::errc::shape_mismatch, {"[images, 4, height, width]"}, [&] {
    run({2, 4, 63}, 0, c.out());
  });
  test::raises(tq::errc::bad_zero_point, {"0 to 255", "-1"}, [&] { run(c.in(), -1, c.out()); });
  test::raises(tq::errc::shape_mismatch, {"[2, 6, 7, 6]", "[2, 6, 7, 5]"}, [&] {
    run(c.in(), 0, {2, 6, 7, 5});
  });
  CHECK(out == std::vector<std::int32_t>(out.size(), 9));
  std::vector<std::int8_t> codes(c.out().size());
  test::raises(tq::errc::shape_mismatch, {"stages", "1", "0"}, [&] {
    tq::conv2d_requantized(c.view(), 0, filters, c.geometry, std::span<const OutputStage<>>{},
                           TensorView<std::int8_t>(codes.data(), c.out()));
  });
}
