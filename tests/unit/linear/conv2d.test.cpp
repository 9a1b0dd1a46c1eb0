// SPDX-License-Identifier: MIT
#include <tq/linear/conv2d.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"
#include "unit/linear/convolution.hpp"

namespace {

using test::Convolution;
using tq::OutputStage;
using tq::PackedFilters;
using tq::Shape;
using tq::TensorView;

std::string check(Convolution<> c, inputs::Random& r, const char* what) {
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
  Convolution<> plain, strided, dilated, padded, grouped, depthwise, line, zeros;
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
  Convolution<> c;
  c.fill(r);
  const Shape in = c.in(), out = c.out();
  const auto x = test::channels_last(c.x, in);
  std::vector<std::int32_t> y(out.size());
  tq::conv2d_integer(TensorView<const std::uint8_t>(x.data(), in, test::channels_last(in)), 0,
                     c.packed(), c.geometry,
                     TensorView<std::int32_t>(y.data(), out, test::channels_last(out)));
  CHECK(y == test::channels_last(c.sums(), out));
}

TEST_CASE("a convolution's codes are those that a stage makes of its sums") {
  inputs::Random r(3);
  Convolution<> c;
  c.groups = 2;
  c.zero_point = 100;
  c.fill(r);
  const std::array factors{0.001, 0.002, 0.003, 0.004, 0.005, 0.006};
  const std::array<std::int32_t, 6> bias{100, -2000, 3, 0, 70000, -5};
  const OutputStage<> stage(factors, 3, -100, 127, bias);
  std::vector<std::int8_t> out(c.out().size());
  tq::conv2d_requantized(c.view(), c.zero_point, c.packed(), c.geometry, stage,
                         TensorView<std::int8_t>(out.data(), c.out()));
  const auto sums = c.sums();
  bool equal = true;
  const std::size_t plane = c.out()[2] * c.out()[3];
  for (std::size_t i = 0; i < sums.size(); ++i)
    equal = equal && out[i] == stage(sums[i], i / plane % c.outputs);
  CHECK(equal);
}

TEST_CASE("convolutions that do not fit are refused before anything is written") {
  inputs::Random r(4);
  Convolution<> c;
  c.fill(r);
  const PackedFilters filters = c.packed();
  std::vector<std::int32_t> out(c.out().size(), 9);
  const auto run = [&](Shape in, std::int32_t zero_point, Shape to) {
    tq::conv2d_integer(TensorView<const std::uint8_t>(c.x.data(), in), zero_point, filters,
                       c.geometry, TensorView<std::int32_t>(out.data(), to));
  };
  test::raises(tq::errc::shape_mismatch, {"[images, 4, height, width]", "[2, 3, 9, 7]"},
               [&] { run({2, 3, 9, 7}, 0, c.out()); });
  test::raises(tq::errc::shape_mismatch, {"[images, 4, height, width]"},
               [&] { run({2, 4, 63}, 0, c.out()); });
  test::raises(tq::errc::bad_zero_point, {"0 to 255", "-1"}, [&] { run(c.in(), -1, c.out()); });
  test::raises(tq::errc::shape_mismatch, {"[2, 6, 7, 6]", "[2, 6, 7, 5]"},
               [&] { run(c.in(), 0, {2, 6, 7, 5}); });
  CHECK(out == std::vector<std::int32_t>(out.size(), 9));
  std::vector<std::int8_t> codes(c.out().size());
  test::raises(tq::errc::shape_mismatch, {"1 or 6 factors", "2"}, [&] {
    tq::conv2d_requantized(c.view(), 0, filters, c.geometry,
                           OutputStage<>(std::array{0.5, 0.5}, 0, -128, 127),
                           TensorView<std::int8_t>(codes.data(), c.out()));
  });
}
