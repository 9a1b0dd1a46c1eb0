// SPDX-License-Identifier: MIT
// Products of weights in groups and of floats, and embeddings, by the functions of every
// instruction set of the library that the processor has: sums of integers against scalar code, sums
// of floats against the loops of this file.
#include <tq/arch/scalar.hpp>
#include <tq/core/formats.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/quantized_embedding.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernel_library/isas.hpp"
#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using kernel_library_test::for_each_isa;
using tq::ConstTensorView;
using tq::Shape;
using tq::TensorView;
using Scalar = tq::arch::scalar;
using Running = tq::kernel_library::Running;

template <class Type>
using Plain = tq::QuantParams<Type, tq::PerGroup<20>, tq::Symmetric>;
template <class Type>
using WithZeros = tq::QuantParams<Type, tq::PerGroup<20>, tq::Asymmetric>;
template <class Type>
using WithOffsets = tq::QuantParams<Type, tq::PerGroup<20>, tq::FloatOffset>;
constexpr std::size_t group = 20;

std::vector<float> normal(inputs::Random& r, std::size_t n) {
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(r.normal());
  return out;
}

bool has_fma(std::string_view isa) { return isa != "sse2" && isa != "sse4_2"; }

// x [rows, inputs] times weights [outputs, inputs]: products of even and of odd inputs of groups
// are summed apart, and rounded once by an instruction set with FMA, twice by another.
std::vector<float> products(const std::vector<float>& x, const std::vector<float>& w,
                            std::size_t outputs, std::size_t inputs, std::size_t of_group,
                            bool fuses) {
  const std::size_t rows = x.size() / inputs;
  std::vector<float> y(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n) {
      float sums[2] = {0, 0};
      for (std::size_t k = 0; k < inputs; ++k) {
        float& sum = sums[k % of_group % 2];
        const float a = x[m * inputs + k], b = w[n * inputs + k];
        volatile float product = a * b;
        sum = fuses ? std::fma(a, b, sum) : sum + product;
      }
      y[m * outputs + n] = sums[0] + sums[1];
    }
  return y;
}

// With what ends in the middle of tiles, panels and groups.
struct Size {
  std::size_t rows, outputs, inputs;
};
constexpr Size sizes[] = {{1, 70, 50}, {3, 33, 40}, {6, 32, 100}, {13, 65, 33}, {29, 1, 7}};

template <class Params>
auto weights(inputs::Random& r, const Size& size) {
  return tq::quantize_dynamic<Params>(
      ConstTensorView(normal(r, size.outputs * size.inputs).data(), {size.outputs, size.inputs}));
}

template <class Activations, class Params>
void check_integers() {
  inputs::Random r(61);
  for (const Size& size : sizes) {
    const auto bias = normal(r, size.rows == 3 ? size.outputs : 0);
    const tq::GroupedLinear<Activations> layer(weights<Params>(r, size), tq::Bias(bias));
    const auto x = normal(r, size.rows * size.inputs);
    const ConstTensorView view(x.data(), {size.rows, size.inputs});
    const Shape shape{size.rows, size.outputs};
    std::vector<float> expected(shape.size()), made(shape.size());
    layer.template forward<Scalar>(view, TensorView<float>(expected.data(), shape));
    for_each_isa([&](std::string_view) {
      layer.template forward<Running>(view, TensorView<float>(made.data(), shape));
      CHECK(made == expected);
    });
  }
}

template <class Params>
void check_floats() {
  inputs::Random r(67);
  for (const Size& size : sizes) {
    const auto w = weights<Params>(r, size);
    const std::vector<float> values = tq::dequantize(w);
    const tq::GroupedLinear<tq::FloatActivations> layer(w);
    const auto x = normal(r, size.rows * size.inputs);
    const ConstTensorView view(x.data(), {size.rows, size.inputs});
    const Shape shape{size.rows, size.outputs};
    for_each_isa([&](std::string_view isa) {
      std::vector<float> made(shape.size());
      layer.template forward<Running>(view, TensorView<float>(made.data(), shape));
      CHECK(made == products(x, values, size.outputs, size.inputs, group, has_fma(isa)));
    });
  }
}

template <int Bits>
void check_embedding() {
  inputs::Random r(73);
  constexpr std::size_t rows = 11, width = 301;
  const auto values = normal(r, rows * width), factors = normal(r, 7);
  const tq::QuantizedEmbedding<Bits> table(ConstTensorView(values.data(), {rows, width}));
  const std::vector<std::int32_t> indices{3, 10, 0, 0, 7, 9, 1}, offsets{0, 2, 2, 6};
  const Shape shape{4, width};
  std::vector<float> expected(shape.size()), made(shape.size());
  const tq::BagOptions options{.mode = tq::BagMode::mean, .weights = factors};
  table.template bag<Scalar>(indices, offsets, TensorView<float>(expected.data(), shape), options);
  for_each_isa([&](std::string_view) {
    table.template bag<Running>(indices, offsets, TensorView<float>(made.data(), shape), options);
    CHECK(made == expected);
  });
}

}  // namespace

TEST_CASE("every instruction set of the library sums rows of embeddings") {
  check_embedding<8>();
  check_embedding<4>();
  check_embedding<2>();
}

TEST_CASE("every instruction set of the library multiplies int8 by weights in groups") {
  check_integers<tq::Int8PerRow, WithZeros<tq::uint2>>();
  check_integers<tq::Int8PerGroup, WithZeros<tq::int3>>();
  check_integers<tq::Int8PerRow, Plain<tq::int4>>();
  check_integers<tq::Int8PerGroup, WithOffsets<tq::uint4>>();
  check_integers<tq::Int8PerRow, WithZeros<tq::uint5>>();
  check_integers<tq::Int8PerGroup, WithZeros<tq::uint8>>();
  check_integers<tq::Int8PerRow, Plain<tq::float4_e2m1fn>>();
  check_integers<tq::Int8PerGroup, Plain<tq::iq4_nl>>();
}

TEST_CASE("every instruction set of the library multiplies floats by weights in groups") {
  check_floats<WithZeros<tq::uint2>>();
  check_floats<WithOffsets<tq::uint2>>();
  check_floats<Plain<tq::int3>>();
  check_floats<WithOffsets<tq::uint3>>();
  check_floats<WithZeros<tq::uint4>>();
  check_floats<WithOffsets<tq::uint4>>();
  check_floats<Plain<tq::int8>>();
  check_floats<WithOffsets<tq::uint8>>();
  check_floats<Plain<tq::float4_e2m1fn>>();
  check_floats<Plain<tq::nf4>>();
  check_floats<Plain<tq::iq4_nl>>();
}

TEST_CASE("every instruction set of the library multiplies floats by floats") {
  inputs::Random r(71);
  for (const Size& size : {Size{1, 70, 301}, Size{7, 33, 128}, Size{200, 20, 9}}) {
    const auto w = normal(r, size.outputs * size.inputs), x = normal(r, size.rows * size.inputs);
    const tq::FloatLinear layer(ConstTensorView(w.data(), {size.outputs, size.inputs}));
    const Shape shape{size.rows, size.outputs};
    for_each_isa([&](std::string_view isa) {
      std::vector<float> made(shape.size());
      layer.forward<Running>(ConstTensorView(x.data(), {size.rows, size.inputs}),
                             TensorView<float>(made.data(), shape));
      CHECK(made == products(x, w, size.outputs, size.inputs, size.inputs + 1, has_fma(isa)));
    });
  }
}
