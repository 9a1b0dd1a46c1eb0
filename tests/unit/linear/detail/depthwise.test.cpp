// SPDX-License-Identifier: MIT
#include <tq/linear/conv2d.hpp>
#include <tq/linear/detail/depthwise.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"
#include "unit/linear/convolution.hpp"

namespace {

using test::channels_last;
using test::Convolution;
using tq::ConvGeometry;
using tq::PackedFilters;
using tq::Shape;
using tq::TensorView;

using Sums = std::vector<std::int32_t>;

template <class X, class W>
Sums sums_of(const Convolution<X, W>& c, const PackedFilters& filters, std::size_t threads) {
  Sums out(c.out().size(), -7);
  tq::conv2d_integer(c.view(), c.zero_point, filters, c.geometry,
                     TensorView<std::int32_t>(out.data(), c.out()), test::Threads{threads});
  return out;
}
// With channels last, of the input and the output.
template <class X, class W>
Sums sums_last(const Convolution<X, W>& c, const PackedFilters& filters, std::size_t threads) {
  const std::vector<X> x = channels_last(c.x, c.in());
  Sums out(c.out().size(), -7);
  tq::conv2d_integer(TensorView<const X>(x.data(), c.in(), channels_last(c.in())), c.zero_point,
                     filters, c.geometry,
                     TensorView<std::int32_t>(out.data(), c.out(), channels_last(c.out())),
                     test::Threads{threads});
  return out;
}
// The same convolution of all channels at once, by weights of 0 for those of other outputs: a
// product of matrices.
template <class X, class W>
Sums product_of(const Convolution<X, W>& c) {
  Convolution<X, W> all = c;
  all.groups = 1;
  const std::size_t taps = c.kernel[0] * c.kernel[1], each = c.outputs / c.groups;
  all.w.clear();
  for (std::size_t n = 0; n < c.outputs; ++n)
    for (std::size_t channel = 0; channel < c.channels; ++channel)
      for (std::size_t k = 0; k < taps; ++k) {
        const std::int32_t zero =
            c.zero_points.empty() ? 0 : c.zero_points[c.zero_points.size() == 1 ? 0 : n];
        all.w.push_back(channel == n / each ? c.w[n * taps + k] : static_cast<W>(zero));
      }
  const PackedFilters filters = all.packed();
  return filters.is_depthwise() ? Sums{} : sums_of(all, filters, 1);
}

template <class X, class W>
std::string check(Convolution<X, W> c, inputs::Random& r, const char* what) {
  c.fill(r);
  const PackedFilters filters = c.packed();
  const Sums wanted = c.sums(), last = channels_last(wanted, c.out());
  std::string failures;
  const auto note = [&](bool holds, const char* part) {
    if (!holds) failures += std::string(what) + ": " + part + "\n";
  };
  note(filters.is_depthwise(), "depthwise");
  for (const std::size_t threads : std::initializer_list<std::size_t>{1, 2, 4}) {
    note(sums_of(c, filters, threads) == wanted, "channels first");
    note(sums_last(c, filters, threads) == last, "channels last");
  }
  if (c.channels > 1) note(product_of(c) == wanted, "product of matrices");
  return failures;
}

template <class X, class W>
Convolution<X, W> depthwise(std::size_t channels, std::size_t each = 1) {
  Convolution<X, W> c;
  c.channels = c.groups = channels;
  c.outputs = channels * each;
  return c;
}

// For each number of channels: all geometries, zero points, kernels and multipliers once.
template <class X, class W>
std::string check_all(std::size_t channels, inputs::Random& r) {
  using limits = std::numeric_limits<X>;
  using weight = std::numeric_limits<W>;
  const auto made = depthwise<X, W>(channels);
  auto strided = made, dilated = made, padded = made, far = made, zeros = made, one_zero = made,
       point = made, odd = made, line = made, several = depthwise<X, W>(channels, 3), none = made;
  strided.geometry.strides = {2, 3};
  dilated.geometry.dilations = {2, 3};
  padded.geometry = {{2, 1}, {1, 2}, {1, 3}, {2, 0}};
  padded.zero_point = limits::max();
  far.geometry.pads_before = far.geometry.pads_after = {5, 4};  // places under which is no input
  far.zero_point = limits::min();
  for (std::size_t n = 0; n < channels; ++n) zeros.zero_points.push_back(r.between(0, 127));
  zeros.zero_points[0] = weight::min();
  zeros.geometry.pads_before = {1, 1};
  zeros.zero_point = 5;
  one_zero.zero_points = {weight::max()};
  point.kernel = {1, 1};
  odd.kernel = {3, 5};
  odd.geometry.pads_after = {1, 1};
  odd.zero_point = 77;
  line.extent = {1, 400};
  line.kernel = {1, 4};
  line.geometry.pads_before = {0, 3};
  several.geometry.pads_before = {1, 0};
  several.zero_point = 100;
  none.images = 0;
  return check(made, r, "plain") + check(strided, r, "strided") + check(dilated, r, "dilated") +
         check(padded, r, "padded") + check(far, r, "far") + check(zeros, r, "zeros") +
         check(one_zero, r, "one zero") + check(point, r, "1 x 1") + check(odd, r, "3 x 5") +
         check(line, r, "line") + check(several, r, "several") + check(none, r, "no images");
}

}  // namespace

TEST_CASE("depthwise convolutions are sums under their kernels, and products of matrices") {
  inputs::Random r(1);
  for (const std::size_t channels : std::initializer_list<std::size_t>{1, 7, 16, 33, 80}) {
    CAPTURE(channels);
    CHECK(check_all<std::uint8_t, std::int8_t>(channels, r) == "");
  }
  CHECK(check_all<std::int8_t, std::uint8_t>(16, r) == "");
  CHECK(check_all<std::int8_t, std::uint8_t>(19, r) == "");
}

TEST_CASE("channels may have several outputs each, and many are a product of matrices") {
  inputs::Random r(2);
  for (const std::size_t each : std::initializer_list<std::size_t>{2, 8, 15})
    CHECK(check(depthwise<std::uint8_t, std::int8_t>(5, each), r, "several") == "");
  auto many = depthwise<std::uint8_t, std::int8_t>(3, 16);
  many.fill(r);
  CHECK_FALSE(many.packed().is_depthwise());
  CHECK(sums_of(many, many.packed(), 2) == many.sums());
}

TEST_CASE("images may be parts of wider ones: nothing beside them is written") {
  inputs::Random r(3);
  for (const std::size_t channels : std::initializer_list<std::size_t>{16, 18}) {
    auto c = depthwise<std::uint8_t, std::int8_t>(channels);
    c.images = 1;
    c.geometry.pads_before = {1, 1};
    c.fill(r);
    const std::size_t wide = channels + 3;
    const Shape in = c.in(), out = c.out();
    const auto strides = [&](const Shape& s) {
      const auto n = [](std::size_t v) { return static_cast<std::ptrdiff_t>(v); };
      return tq::Strides{0, 1, n(s[3] * wide), n(wide)};
    };
    const std::vector<std::uint8_t> beside = channels_last(c.x, in);
    std::vector<std::uint8_t> x(in[2] * in[3] * wide, 255);
    for (std::size_t i = 0; i < beside.size(); ++i)
      x[i / channels * wide + i % channels] = beside[i];
    Sums y(out[2] * out[3] * wide, 99);
    tq::conv2d_integer(TensorView<const std::uint8_t>(x.data(), in, strides(in)), c.zero_point,
                       c.packed(), c.geometry,
                       TensorView<std::int32_t>(y.data(), out, strides(out)));
    const Sums wanted = channels_last(c.sums(), out);
    bool equal = true;
    for (std::size_t i = 0; i < y.size(); ++i)
      equal = equal && y[i] == (i % wide < channels ? wanted[i / wide * channels + i % wide] : 99);
    CHECK(equal);
  }
}

TEST_CASE("large images are cut into tasks within rows and between them") {
  inputs::Random r(4);
  for (const std::array<std::size_t, 2> extent :
       {std::array<std::size_t, 2>{3, 17000}, std::array<std::size_t, 2>{3000, 6}}) {
    auto c = depthwise<std::uint8_t, std::int8_t>(2);
    c.images = 1;
    c.extent = extent;
    c.geometry.strides = {1, 2};
    c.geometry.pads_before = {1, 1};
    CHECK(check(c, r, "large") == "");
  }
}
