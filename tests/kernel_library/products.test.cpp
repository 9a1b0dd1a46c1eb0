// SPDX-License-Identifier: MIT
// Products by the functions of every instruction set of the library that the processor has, against
// the scalar code of this file.
#include <tq/arch/scalar.hpp>
#include <tq/linear/conv2d.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_int16.hpp>
#include <tq/linear/matmul_requantized.hpp>
#include <tq/linear/output/float_product.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/quantized_linear.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernel_library/isas.hpp"
#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using tq::PackedWeights;
using tq::PanelLayout;
using tq::Shape;
using tq::TensorView;
using Scalar = tq::arch::scalar;
using Running = tq::kernel_library::Running;

using kernel_library_test::for_each_isa;

template <class Code>
std::vector<Code> codes(inputs::Random& r, std::size_t n) {
  std::vector<Code> out(n);
  for (Code& c : out) c = static_cast<Code>(r.below(256) << (8 * (sizeof(Code) - 1)));
  return out;
}

// The weights in all layouts: of a library, each instruction set multiplies them.
template <class W, class Check>
void for_each_layout(const std::vector<W>& w, const Shape& shape,
                     const std::vector<std::int32_t>& zero_points, const Check& check) {
  for (const PanelLayout layout :
       {PanelLayout::pairs_of_16, PanelLayout::fours_of_16, PanelLayout::fours_of_64,
        PanelLayout::narrow_fours_of_16, tq::kernel_library::byte_products().layout})
    check(PackedWeights(TensorView<const W>(w.data(), shape), zero_points, layout));
}

// With what ends in the middle of registers and panels.
struct Size {
  std::size_t rows, outputs, inputs;
};
constexpr Size sizes[] = {{1, 70, 33}, {13, 65, 64}, {29, 17, 3}, {2, 1, 1}, {5, 130, 0}};

template <class X, class W>
void check_sums(std::string_view) {
  inputs::Random r(41);
  for (const Size& size : sizes) {
    const std::size_t rows = size.rows, outputs = size.outputs, inputs = size.inputs;
    const auto x = codes<X>(r, rows * inputs);
    auto w = codes<W>(r, outputs * inputs);
    if (rows == 13)
      for (W& c : w) c = static_cast<W>(std::is_signed_v<W> ? c / 2 : 64 + c / 2);  // narrow
    const std::vector<std::int32_t> xz(rows, 3),
        wz = rows == 29 ? std::vector{7} : std::vector<std::int32_t>{};
    const TensorView<const X> view(x.data(), Shape{rows, inputs});
    for_each_layout(w, Shape{outputs, inputs}, wz, [&](const PackedWeights& packed) {
      std::vector<std::int32_t> expected(rows * outputs), sums(rows * outputs);
      tq::matmul_integer<Scalar>(view, xz, packed,
                                 TensorView<std::int32_t>(expected.data(), Shape{rows, outputs}));
      const TensorView<std::int32_t> out(sums.data(), Shape{rows, outputs});
      tq::matmul_integer<Running>(view, xz, packed, out);
      CHECK(sums == expected);
    });
  }
}

// A rule of a user's.
struct Halved {
  using multiplier = float;
  static double factor(float x, float w, float y) noexcept {
    return double{x} * double{w} / double{y};
  }
  static float make(double factor) { return static_cast<float>(factor); }
  static std::int32_t apply(std::int32_t sum, float) noexcept { return sum / 512; }
};

template <class R, class Code>
void check_rule() {
  inputs::Random r(43);
  constexpr std::size_t rows = 3, outputs = 83, inputs = 40;
  const auto x = codes<std::uint8_t>(r, rows * inputs);
  const auto w = codes<std::int8_t>(r, outputs * inputs);
  const PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}));
  constexpr bool is_signed = std::is_signed_v<Code>;
  for (const bool one : {false, true}) {
    std::vector<double> factors(one ? 1 : outputs);
    for (double& f : factors) f = 1e-3 * static_cast<double>(1 + r.below(9));
    std::vector<tq::detail::bias_of<R>> bias(one ? 0 : outputs);
    for (auto& b : bias) b = static_cast<tq::detail::bias_of<R>>(r.below(5000)) - 2500;
    const tq::OutputStage<R> stage(factors, is_signed ? 3 : 130, is_signed ? -120 : 2,
                                   is_signed ? 127 : 255, bias);
    const TensorView<const std::uint8_t> view(x.data(), Shape{rows, inputs});
    std::vector<Code> expected(rows * outputs), made(rows * outputs);
    const std::vector<std::int32_t> xz{128};
    const TensorView<Code> to(expected.data(), Shape{rows, outputs}),
        out(made.data(), Shape{rows, outputs});
    tq::matmul_requantized<Scalar>(view, xz, packed, stage, to);
    tq::matmul_requantized<Running>(view, xz, packed, stage, out);
    CHECK(made == expected);
  }
}

template <class R>
void check_rules() {
  check_rule<R, std::int8_t>();
  check_rule<R, std::uint8_t>();
}

template <class X>
void check_convolution(std::size_t channels, std::size_t outputs, std::size_t groups) {
  inputs::Random r(47);
  const std::size_t each = channels / groups;
  const auto x = codes<X>(r, 2 * channels * 7 * 6);
  const auto w = codes<std::int8_t>(r, outputs * each * 9);
  const tq::PackedFilters filters(
      TensorView<const std::int8_t>(w.data(), Shape{outputs, each, 3, 3}), groups);
  const tq::ConvGeometry geometry{.pads_before = {1, 1}, .pads_after = {1, 1}};
  const TensorView<const X> images(x.data(), Shape{2, channels, 7, 6});
  const Shape shape{2, outputs, 7, 6};
  std::vector<std::int32_t> expected(shape.size()), sums(shape.size());
  const TensorView<std::int32_t> to(expected.data(), shape), out(sums.data(), shape);
  tq::conv2d_integer<Scalar>(images, 5, filters, geometry, to);
  tq::conv2d_integer<Running>(images, 5, filters, geometry, out);
  CHECK(sums == expected);
}

}  // namespace

TEST_CASE("every instruction set of the library has the sums of scalar code") {
  for_each_isa(check_sums<std::uint8_t, std::int8_t>);
  for_each_isa(check_sums<std::int8_t, std::int8_t>);
  for_each_isa(check_sums<std::int8_t, std::uint8_t>);
}

TEST_CASE("an instruction set has the layout of weights that its instructions read") {
  for_each_isa([](std::string_view isa) {
    const PanelLayout layout = tq::kernel_library::byte_products().layout;
    CHECK(layout == (isa == "avx512vnni" ? PanelLayout::fours_of_64
                     : isa == "avx2"     ? PanelLayout::narrow_fours_of_16
                                         : PanelLayout::pairs_of_16));
  });
}

TEST_CASE("every instruction set of the library has sums of 64 bits") {
  inputs::Random r(53);
  constexpr std::size_t rows = 3, outputs = 5, inputs = 70001;
  const auto x = codes<std::uint8_t>(r, rows * inputs);
  const std::vector<std::int8_t> w(outputs * inputs, -128);
  const PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}));
  const auto x16 = codes<std::int16_t>(r, rows * 99), w16 = codes<std::int16_t>(r, outputs * 99);
  const tq::PackedInt16Weights packed16(
      TensorView<const std::int16_t>(w16.data(), Shape{outputs, 99}));
  const std::vector<std::int32_t> none, zero{-5};
  for_each_isa([&](std::string_view) {
    std::vector<std::int64_t> expected(rows * outputs), sums(rows * outputs);
    const TensorView<std::int64_t> to(expected.data(), Shape{rows, outputs}),
        out(sums.data(), Shape{rows, outputs});
    const TensorView<const std::uint8_t> view(x.data(), Shape{rows, inputs});
    tq::matmul_integer<Scalar>(view, none, packed, to);
    tq::matmul_integer<Running>(view, none, packed, out);
    CHECK(sums == expected);
    const TensorView<const std::int16_t> view16(x16.data(), Shape{rows, 99});
    tq::matmul_integer<Scalar>(view16, zero, packed16, to);
    tq::matmul_integer<Running>(view16, zero, packed16, out);
    CHECK(sums == expected);
  });
}

TEST_CASE("every instruction set of the library rounds by every rule") {
  for_each_isa([](std::string_view) {
    check_rules<tq::RequantizeFloat>();
    check_rules<tq::RequantizeTorch>();
    check_rules<tq::RequantizeDouble>();
    check_rules<tq::RequantizeSingle>();
    check_rules<tq::RequantizeUp>();
    check_rule<tq::FloatProduct<tq::RequantizeDouble>, std::int8_t>();
    check_rule<Halved, std::int8_t>();
  });
}

TEST_CASE("every instruction set of the library convolves") {
  for_each_isa([](std::string_view) {
    check_convolution<std::uint8_t>(5, 21, 1);
    check_convolution<std::int8_t>(4, 36, 2);
    check_convolution<std::int8_t>(37, 37, 37);
    check_convolution<std::uint8_t>(20, 40, 20);
  });
}

TEST_CASE("a layer gives the floats of scalar code by every instruction set of the library") {
  using A = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  inputs::Random r(59);
  constexpr std::size_t rows = 7, outputs = 75, inputs = 50;
  std::vector<float> scales(outputs), bias(outputs);
  for (std::size_t n = 0; n < outputs; ++n)
    scales[n] = 0.01F * static_cast<float>(1 + r.below(50)), bias[n] = static_cast<float>(n) - 30;
  const auto w = codes<std::int8_t>(r, outputs * inputs);
  const tq::ByteWeights weights(std::span<const std::int8_t>(w), Shape{outputs, inputs},
                                Shape{1, inputs}, scales, {});
  const tq::QuantizedLinear layer(weights, tq::Bias(bias), tq::StaticActivation<A>(A(0.5F, 100)),
                                  tq::FloatOutput{tq::Clamp{-500.0F, 4000.0F}});
  const auto x = codes<std::uint8_t>(r, rows * inputs);
  const TensorView<const std::uint8_t> view(x.data(), Shape{rows, inputs});
  for_each_isa([&](std::string_view) {
    std::vector<float> expected(rows * outputs), made(rows * outputs);
    const TensorView<float> to(expected.data(), Shape{rows, outputs}),
        out(made.data(), Shape{rows, outputs});
    layer.forward<Scalar>(view, to);
    layer.forward<Running>(view, out);
    CHECK(made == expected);
  });
}
