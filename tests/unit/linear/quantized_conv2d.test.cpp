// SPDX-License-Identifier: MIT
#include <tq/linear/detail/trained_weights.hpp>
#include <tq/linear/quantized_conv2d.hpp>
#include <tq/train/fake_quantize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::Channels;
using tq::CodeOutput;
using tq::Conv2dOptions;
using tq::QuantizedConv2d;
using tq::Shape;
using tq::StaticActivation;
using tq::TensorView;
using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using WeightsWithZeros = tq::QuantParams<tq::uint8, tq::PerChannel<0>, tq::Asymmetric>;
using Bytes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
using SignedBytes = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;

struct Images {
  std::size_t count = 2, channels = 4, outputs = 6;
  std::array<std::size_t, 2> extent{7, 6}, kernel{3, 2};
  Conv2dOptions options{};
  std::vector<float> x{}, w{}, bias{};

  Images filled(std::uint64_t seed) && {
    x = inputs::normals(in().size(), seed);
    w = inputs::normals(weights().size(), seed + 1, 0.2);
    bias = inputs::normals(outputs, seed + 2);
    return std::move(*this);
  }
  [[nodiscard]] Shape in() const { return {count, channels, extent[0], extent[1]}; }
  [[nodiscard]] Shape weights() const {
    return {outputs, channels / options.groups, kernel[0], kernel[1]};
  }
  [[nodiscard]] Shape out() const {
    return {count, outputs, options.geometry.outputs(0, extent[0], kernel[0]),
            options.geometry.outputs(1, extent[1], kernel[1])};
  }
  template <class W>
  [[nodiscard]] auto quantized() const {
    return tq::quantize_dynamic<W, tq::Unpacked>(TensorView<const float>(w.data(), weights()));
  }
  template <class Made, class X>
  [[nodiscard]] auto run(const Made& layer, const std::vector<X>& from) const {
    using Y = typename Made::value_type;
    std::vector<Y> y(out().size());
    layer.forward(TensorView<const X>(from.data(), in()), TensorView<Y>(y.data(), out()),
                  test::Threads{2});
    return y;
  }

  // The sum of product(place in x, place in w) under the kernel, inside the image, for every
  // output.
  template <class F>
  [[nodiscard]] auto sums(const F& product) const {
    std::vector<decltype(product(std::size_t{}, std::size_t{}))> all;
    const Shape o = out();
    for (std::size_t i = 0; i < o[0]; ++i)
      for (std::size_t n = 0; n < o[1]; ++n)
        for (std::size_t h = 0; h < o[2]; ++h)
          for (std::size_t k = 0; k < o[3]; ++k) all.push_back(sum(product, {i, n, h, k}));
    return all;
  }

 private:
  template <class F>
  [[nodiscard]] auto sum(const F& product, const std::array<std::size_t, 4>& at) const {
    decltype(product(std::size_t{}, std::size_t{})) s = 0;
    const tq::ConvGeometry& g = options.geometry;
    const std::size_t each = channels / options.groups,
                      first = at[1] / (outputs / options.groups) * each;
    for (std::size_t c = 0; c < each; ++c)
      for (std::size_t h = 0; h < kernel[0]; ++h)
        for (std::size_t k = 0; k < kernel[1]; ++k) {
          const std::size_t row = at[2] * g.strides[0] + h * g.dilations[0],
                            column = at[3] * g.strides[1] + k * g.dilations[1];
          if (row < g.pads_before[0] || column < g.pads_before[1]) continue;
          const std::size_t y = row - g.pads_before[0], x0 = column - g.pads_before[1];
          if (y >= extent[0] || x0 >= extent[1]) continue;
          s += product(((at[0] * channels + first + c) * extent[0] + y) * extent[1] + x0,
                       ((at[1] * each + c) * kernel[0] + h) * kernel[1] + k);
        }
    return s;
  }
};

template <class Params>
std::vector<typename Params::code_type> codes_of(const std::vector<float>& x, const Params& p) {
  std::vector<typename Params::code_type> out(x.size());
  tq::quantize(x, p, out);
  return out;
}

// A layer from codes to codes, and one from codes to floats, against their formulas.
template <class W>
std::string check(const Images& c, const char* what) {
  const auto q = c.quantized<W>();
  const Bytes in(0.02f, 131);
  const SignedBytes out(0.04f, -20);
  const auto x = codes_of(c.x, in);
  const std::size_t each = c.weights().size() / c.outputs;
  const auto sums = c.sums([&](std::size_t i, std::size_t k) {
    return (x[i] - 131) * (q.codes()[k] - q.params().affine(k / each).zero_point);
  });
  const QuantizedConv2d to_codes(q, c.bias, c.options, StaticActivation(in),
                                 CodeOutput(out, tq::Clamp::relu6()));
  const QuantizedConv2d to_floats(q, c.bias, c.options, StaticActivation(in),
                                  tq::FloatOutput{tq::Clamp::relu()});
  const auto y = c.run(to_codes, x);
  const auto z = c.run(to_floats, x);
  bool equal = y == c.run(to_codes, c.x) && z == c.run(to_floats, c.x);
  const std::size_t plane = c.out()[2] * c.out()[3];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t n = i / plane % c.outputs;
    const float w = q.params().scales()[n], step = 0.02f * w;
    const volatile float product = static_cast<float>(sums[i]) * step;
    const auto bias = static_cast<std::int32_t>(std::nearbyint(
        static_cast<double>(c.bias[n]) / (static_cast<double>(0.02f) * static_cast<double>(w))));
    const int code = -20 + tq::RequantizeFloat::apply(sums[i] + bias, step / 0.04f);
    equal =
        equal && z[i] == std::max(product + c.bias[n], 0.0f) && y[i] == std::clamp(code, -20, 127);
  }
  return equal ? "" : std::string(what) + "\n";
}

// [a, b, h, w] as [a, h, w, b].
template <class T>
std::vector<T> channels_last(const std::vector<T>& x, const Shape& s) {
  std::vector<T> out(x.size());
  const std::size_t plane = s[2] * s[3];
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i / (s[1] * plane) * s[1] * plane + i % plane * s[1] + i / plane % s[1]] = x[i];
  return out;
}
Shape last(const Shape& s) { return {s[0], s[2], s[3], s[1]}; }

}  // namespace

TEST_CASE("QuantizedConv2d: codes and floats are those of the sums under the kernel") {
  const tq::ConvGeometry strided{{2, 3}, {1, 1}, {0, 0}, {0, 0}},
      dilated{{1, 1}, {2, 3}, {0, 0}, {0, 0}}, padded{{2, 1}, {1, 2}, {1, 3}, {2, 0}},
      same{{1, 1}, {1, 1}, {1, 1}, {1, 0}};
  std::string failures;
  failures += check<Weights>(Images{}.filled(1), "plain");
  failures += check<Weights>(Images{.options = {strided}}.filled(2), "strided");
  failures += check<Weights>(Images{.options = {dilated}}.filled(3), "dilated");
  failures += check<WeightsWithZeros>(Images{.options = {padded}}.filled(4), "padded");
  failures += check<WeightsWithZeros>(Images{.options = {same, 2}}.filled(5), "groups");
  failures += check<Weights>(Images{.outputs = 8, .options = {same, 4}}.filled(6), "depthwise");
  failures += check<Weights>(Images{.kernel = {1, 1}}.filled(7), "1 x 1");
  failures += check<Weights>(Images{.count = 0}.filled(8), "no images");
  CHECK(failures == "");
}

TEST_CASE("QuantizedConv2d: channels last are the same images and weights in another order") {
  const Images c = Images{.options = {{{1, 2}, {1, 1}, {1, 1}, {0, 1}}, 2}}.filled(11);
  const auto q = c.quantized<Weights>();
  Conv2dOptions options = c.options;
  options.channels = Channels::last;
  const auto turned = channels_last(c.w, c.weights());
  const auto turned_q =
      tq::quantize_dynamic<Weights>(TensorView<const float>(turned.data(), last(c.weights())));
  const auto x = channels_last(c.x, c.in());
  const auto check = [&](const auto& first, const auto& other) {
    using Y = typename std::remove_cvref_t<decltype(first)>::value_type;
    std::vector<Y> y(c.out().size());
    other.forward(TensorView<const float>(x.data(), last(c.in())),
                  TensorView<Y>(y.data(), last(c.out())));
    CHECK(y == channels_last(c.run(first, c.x), c.out()));
  };
  const StaticActivation in(SignedBytes(0.03f, 4));
  check(QuantizedConv2d(q, c.bias, c.options, in, CodeOutput(Bytes(0.05f, 3))),
        QuantizedConv2d(turned_q, c.bias, options, in, CodeOutput(Bytes(0.05f, 3))));
  check(QuantizedConv2d(q, c.bias, c.options), QuantizedConv2d(turned_q, c.bias, options));
}

TEST_CASE("QuantizedConv2d: every image has a scale and a zero point of its own") {
  Images c = Images{.count = 3, .options = {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}}}.filled(12);
  const std::size_t each = c.in().size() / 3;
  for (std::size_t i = 0; i < c.x.size(); ++i) c.x[i] *= static_cast<float>(1 + 10 * (i / each));
  const auto q = c.quantized<Weights>();
  const auto y = c.run(
      QuantizedConv2d(q, c.bias, c.options, tq::DynamicActivation<tq::uint8, tq::Asymmetric>{}),
      c.x);
  const std::size_t size = y.size() / 3;
  for (std::size_t i = 0; i < 3; ++i) {
    Images one = c;
    one.count = 1;
    one.x.assign(c.x.begin() + static_cast<std::ptrdiff_t>(i * each),
                 c.x.begin() + static_cast<std::ptrdiff_t>((i + 1) * each));
    const auto params = tq::quantize_dynamic<Bytes>(TensorView<const float>(one.x)).params();
    const auto wanted =
        one.run(QuantizedConv2d(q, c.bias, c.options, StaticActivation(params)), one.x);
    CHECK(wanted == std::vector<float>(y.begin() + static_cast<std::ptrdiff_t>(i * size),
                                       y.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)));
  }
}

TEST_CASE("QuantizedConv2d: a layer that was trained has the codes of its fake quantized self") {
  const Images c = Images{.count = 8, .options = {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2}}.filled(13);
  tq::FakeQuantize<Bytes> x_fake;
  tq::FakeQuantize<Weights> w_fake;
  tq::FakeQuantize<SignedBytes> y_fake;
  std::vector<float> x(c.x.size()), w(c.w.size());
  x_fake.forward(c.x, x);
  const TensorView<const float> weights(c.w.data(), c.weights());
  w_fake.forward(weights, TensorView<float>(w.data(), c.weights()));
  const StaticActivation in(x_fake);
  const auto q = tq::trained_weights(weights, w_fake);
  std::vector<float> scales, y;
  for (const float s : q.params().scales()) scales.push_back(s);
  const auto bias = tq::quantize_bias(c.bias, in.scale(), scales);
  const auto sums = c.sums([&](std::size_t i, std::size_t k) {
    return static_cast<double>(x[i]) * static_cast<double>(w[k]);
  });
  const std::size_t plane = c.out()[2] * c.out()[3];
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t n = i / plane % c.outputs;
    const double step = static_cast<double>(in.scale()) * static_cast<double>(scales[n]);
    y.push_back(static_cast<float>(std::clamp(sums[i] + bias[n] * step, 0.0, 6.0)));
  }
  std::vector<float> seen(y.size());
  y_fake.forward(y, seen);
  const QuantizedConv2d layer(q, c.bias, c.options, in, CodeOutput(y_fake, tq::Clamp::relu6()));
  CHECK(c.run(layer, c.x) == codes_of(y, y_fake.params()));
}

TEST_CASE("QuantizedConv2d: what does not fit is refused before anything is written") {
  const Images c = Images{.options = {{}, 2}}.filled(14);
  const auto q = c.quantized<Weights>();
  const StaticActivation in(Bytes(0.1f, 3));
  const QuantizedConv2d layer(q, c.bias, c.options, in);
  std::vector<float> y(c.out().size(), 3.0f);
  const auto run = [&](const Shape& from, const Shape& to) {
    layer.forward(TensorView<const float>(c.x.data(), from), TensorView<float>(y.data(), to));
  };
  test::raises(tq::errc::shape_mismatch, {"QuantizedConv2d", "[images, 4, height, width]"},
               [&] { run({2, 3, 7, 6}, c.out()); });
  test::raises(tq::errc::shape_mismatch, {"four axes", "[8, 42]"}, [&] { run({8, 42}, c.out()); });
  test::raises(tq::errc::shape_mismatch, {"[2, 6, 5, 5]", "[2, 6, 5, 4]"},
               [&] { run(c.in(), {2, 6, 5, 4}); });
  test::raises(tq::errc::bad_argument, {"at least 3"}, [&] { run({2, 4, 2, 6}, c.out()); });
  CHECK(y == std::vector<float>(y.size(), 3.0f));

  auto bias = c.bias;
  bias[5] = -1e30f;
  test::raises(tq::errc::bad_argument, {"2^31 steps", "for output 5"},
               [&] { QuantizedConv2d(q, bias, c.options, in, CodeOutput(Bytes(0.5f, 10))); });
  test::raises(tq::errc::shape_mismatch, {"0 or 6 biases", "2"},
               [&] { QuantizedConv2d(q, std::vector<float>(2), c.options, in); });
  std::vector<std::int32_t> steps(6);
  steps[4] = std::numeric_limits<std::int32_t>::max();
  test::raises(tq::errc::bad_argument, {"sums of 32 bits", "output 4"},
               [&] { QuantizedConv2d(q, steps, c.options, in); });
  test::raises(tq::errc::shape_mismatch, {"that 4 groups divide"},
               [&] { QuantizedConv2d(q, {}, {.groups = 4}); });
  using Groups = tq::QuantParams<tq::int8, tq::PerGroup<1>, tq::Symmetric>;
  test::raises(tq::errc::unsupported, {"ByteWeights", "one for each output"},
               [&] { QuantizedConv2d(c.quantized<Groups>(), {}, c.options); });
}

namespace {

// A layer whose axes may be empty, channels first.
struct Empty {
  Shape weights, in, out;
  std::size_t groups = 1;
};

// The outputs of a layer, which do not depend on inputs that are not there.
template <class In, class Out>
auto given_by(const Empty& c, const std::vector<float>& bias, const In& in, const Out& out) {
  const std::vector<float> w(c.weights.size(), 0.5f), x(c.in.size(), 0.5f);
  const auto q = tq::quantize_dynamic<Weights>(TensorView<const float>(w.data(), c.weights));
  const QuantizedConv2d layer(q, bias, {.groups = c.groups}, in, out);
  using Y = typename std::remove_cvref_t<decltype(layer)>::value_type;
  std::vector<Y> y(c.out.size(), Y{77});
  layer.forward(TensorView<const float>(x.data(), c.in), TensorView<Y>(y.data(), c.out),
                test::Threads{2});
  return y;
}

}  // namespace

TEST_CASE("QuantizedConv2d: no channels give biases; no outputs or images give nothing") {
  const Empty no_channels{{2, 0, 3, 3}, {1, 0, 4, 5}, {1, 2, 2, 3}},
      in_groups{{2, 0, 3, 3}, {1, 0, 4, 5}, {1, 2, 2, 3}, 2},
      no_outputs{{0, 3, 3, 3}, {1, 3, 4, 5}, {1, 0, 2, 3}},
      one_channel{{0, 1, 3, 3}, {1, 1, 4, 5}, {1, 0, 2, 3}},
      no_images{{4, 1, 3, 3}, {0, 4, 4, 5}, {0, 4, 2, 3}, 4};
  const StaticActivation in(Bytes(0.5f, 3));
  const CodeOutput codes(Bytes(0.25f, 10));
  for (const Empty& c : {no_channels, in_groups}) {
    const std::vector<float> bias{1.0f, -2.0f}, wanted{1, 1, 1, 1, 1, 1, -2, -2, -2, -2, -2, -2};
    CHECK(given_by(c, bias, in, tq::FloatOutput{}) == wanted);
    CHECK(given_by(c, bias, tq::DynamicActivation<>{}, tq::FloatOutput{}) == wanted);
    CHECK(given_by(c, bias, in, codes) ==
          std::vector<std::uint8_t>{14, 14, 14, 14, 14, 14, 2, 2, 2, 2, 2, 2});
    CHECK(given_by(c, {}, in, tq::FloatOutput{}) == std::vector<float>(12));
  }
  for (const Empty& c : {no_outputs, one_channel, no_images}) {
    CHECK(given_by(c, {}, in, tq::FloatOutput{}).empty());
    CHECK(given_by(c, {}, tq::DynamicActivation<>{}, tq::FloatOutput{}).empty());
    CHECK(given_by(c, {}, in, codes).empty());
  }
}

TEST_CASE("QuantizedConv2d: depthwise layers refuse what others refuse") {
  const Images c = Images{.outputs = 8, .options = {{}, 4}}.filled(15);
  const auto q = c.quantized<Weights>();
  const StaticActivation in(Bytes(0.1f, 3));
  const QuantizedConv2d layer(q, c.bias, c.options, in);
  REQUIRE(layer.filters().is_depthwise());
  std::vector<float> y(c.out().size(), 3.0f);
  struct Refused {
    tq::errc code;
    const char* said;
    Shape from, to;
  };
  for (const Refused& r :
       {Refused{tq::errc::shape_mismatch, "[images, 4, height, width]", {2, 3, 7, 6}, c.out()},
        Refused{tq::errc::shape_mismatch, "[images, 4, height, width]", {2, 8, 7, 3}, c.out()},
        Refused{tq::errc::shape_mismatch, "four axes", {2, 4, 42}, c.out()},
        Refused{tq::errc::shape_mismatch, "[2, 8, 5, 4]", c.in(), {2, 8, 5, 4}},
        Refused{tq::errc::shape_mismatch, "four axes", c.in(), {2, 8, 25}},
        Refused{tq::errc::bad_argument, "at least 3", {2, 4, 2, 6}, c.out()}})
    test::raises(r.code, {"tq::", r.said}, [&] {
      layer.forward(TensorView<const float>(c.x.data(), r.from), TensorView<float>(y.data(), r.to));
    });
  CHECK(y == std::vector<float>(y.size(), 3.0f));
  std::vector<std::int32_t> steps(8);
  steps[6] = std::numeric_limits<std::int32_t>::max();
  test::raises(tq::errc::bad_argument, {"sums of 32 bits", "output 6"},
               [&] { QuantizedConv2d(q, steps, c.options, in); });
  test::raises(tq::errc::bad_argument, {"sums of 32 bits", "output 6"},
               [&] { QuantizedConv2d(q, steps, c.options, in, CodeOutput(Bytes(0.5f, 10))); });
  auto bias = c.bias;
  bias[7] = 1e30f;
  test::raises(tq::errc::bad_argument, {"2^31 steps", "for output 7"},
               [&] { QuantizedConv2d(q, bias, c.options, in, CodeOutput(Bytes(0.5f, 10))); });
  test::raises(tq::errc::shape_mismatch, {"0 or 8 biases", "7"},
               [&] { QuantizedConv2d(q, std::vector<float>(7), c.options, in); });
  test::raises(tq::errc::shape_mismatch, {"that 3 groups divide"},
               [&] { QuantizedConv2d(q, {}, {.groups = 3}); });
  test::raises(tq::errc::no_data, {"params"}, [] { StaticActivation(tq::FakeQuantize<Bytes>()); });
}
