// SPDX-License-Identifier: MIT
// Products of blocks of GGUF files against sums over their decoded values.
#include <tq/arch/group_dot.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/model/grouped_weights_of_blocks.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using namespace tq;
namespace gguf = tq::layouts::gguf;

namespace {

constexpr std::size_t outputs = 37, inputs_of = 512;
using HeldTypes = TypeList<uint2, uint3, uint4, uint5, uint6, uint8, float4_e2m1fn, binary>;
using HeldScales = TypeList<float, float16, float8_e8m0fnu, TwoLevel<float8_e4m3fn>>;

// A layer's weights, and the values of the blocks that they are made of.
struct Blocks {
  GroupedWeights weights;
  std::vector<float> values;
};
Blocks blocks_of_type(gguf::Type type) {
  std::vector<float> w = inputs::normals(outputs * inputs_of, 11);
  for (std::size_t i = 0; i < 256; ++i) w[i] = 0.25f;  // a block without a spread
  for (std::size_t i = 512; i < 768; ++i) w[i] = 0.0f;
  const gguf::TypeInfo& info = gguf::info_of(type);
  std::vector<std::uint8_t> bytes(w.size() / info.elements * info.bytes);
  gguf::quantize(type, w, bytes);
  gguf::dequantize(type, bytes, w);
  return {grouped_weights_of_blocks<HeldTypes, HeldScales>(type, bytes, Shape{outputs, inputs_of}),
          w};
}

template <class Activations>
std::vector<float> product(const GroupedWeights& weights, const std::vector<float>& x,
                           const std::vector<float>& bias) {
  const std::size_t rows = x.size() / inputs_of;
  std::vector<float> y(rows * outputs);
  GroupedLinear<Activations>(weights, bias)
      .forward(ConstTensorView(x.data(), Shape{rows, inputs_of}),
               TensorView<float>(y.data(), Shape{rows, outputs}));
  return y;
}

// The sums that a layer of floats promises.
std::vector<float> float_sums(const std::vector<float>& w, const std::vector<float>& x,
                              const std::vector<float>& bias) {
  const std::size_t rows = x.size() / inputs_of;
  std::vector<float> y(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n) {
      float sums[2] = {0, 0};
      for (std::size_t k = 0; k < inputs_of; ++k) {
        const float a = x[m * inputs_of + k], b = w[n * inputs_of + k];
        volatile float rounded = a * b;
        if (arch::group_dot<arch::native>::fuses) sums[k % 2] = std::fma(a, b, sums[k % 2]);
        else sums[k % 2] += rounded;
      }
      y[m * outputs + n] = sums[0] + sums[1] + bias[n];
    }
  return y;
}

// The sums of products of the values and of rounded activations, in double, and of their
// magnitudes.
struct Sums {
  double sum, magnitude;
};
std::vector<Sums> rounded_sums(const std::vector<float>& w, const std::vector<float>& x,
                               std::size_t group) {
  const std::size_t rows = x.size() / inputs_of;
  using Params = QuantParams<int8, PerGroup<dynamic, 1>, Symmetric>;
  const auto q =
      quantize_dynamic<Params, Unpacked>(ConstTensorView(x.data(), Shape{rows, inputs_of}),
                                         PerGroup<dynamic, 1>(static_cast<int>(group)));
  std::vector<Sums> out(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n)
      for (std::size_t k = 0; k < inputs_of; ++k) {
        const double a =
            double{q.params().scales()[(m * inputs_of + k) / group]} * q.codes()[m * inputs_of + k];
        const double term = a * double{w[n * inputs_of + k]};
        out[m * outputs + n].sum += term;
        out[m * outputs + n].magnitude += std::fabs(term);
      }
  return out;
}

bool are_close(const std::vector<float>& y, const std::vector<Sums>& wanted,
               const std::vector<float>& bias, double magnitudes) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!(std::fabs(double{y[i]} - double{bias[i % outputs]} - wanted[i].sum) <=
          1e-5 * (wanted[i].magnitude + magnitudes)))
      return false;
  return true;
}

}  // namespace

TEST_CASE("layers of blocks have the products of their values") {
  const std::vector<float> bias = inputs::normals(outputs, 12);
  for (const gguf::TypeInfo& info : gguf::types) {
    if (!block_spec(info.type)) continue;
    INFO(info.name);
    const Blocks of = blocks_of_type(info.type);
    for (const std::size_t rows : std::initializer_list<std::size_t>{1, 2, 13}) {
      const std::vector<float> x = inputs::normals(rows * inputs_of, 13 + rows);
      CHECK(product<FloatActivations>(of.weights, x, bias) == float_sums(of.values, x, bias));
      CHECK(are_close(product<Int8PerRow>(of.weights, x, bias),
                      rounded_sums(of.values, x, inputs_of), bias, 1.0));
      CHECK(are_close(product<Int8PerGroup>(of.weights, x, bias),
                      rounded_sums(of.values, x, of.weights.group_size()), bias, 1.0));
    }
  }
}

TEST_CASE("weights of blocks take the bits of their codes, and survive as bytes") {
  for (const gguf::Type type : {gguf::Type::q4_K, gguf::Type::iq4_nl, gguf::Type::q4_0}) {
    const GroupedWeights w = blocks_of_type(type).weights;
    CHECK(w.map().width == 4);
    CHECK(w.has_offsets() == (type == gguf::Type::q4_K));
    const auto saved = save_grouped_weights(w);
    const GroupedWeights again = load_grouped_weights(saved);
    CHECK(save_grouped_weights(again) == saved);
    CHECK(again.has_offsets() == w.has_offsets());
  }
}

TEST_CASE("blocks that do not fit the shape of weights are refused") {
  const std::vector<std::uint8_t> bytes(18);
  for (const gguf::Type type : {gguf::Type::q4_0, gguf::Type::iq4_nl})
    test::raises(errc::shape_mismatch, {"36 bytes of blocks", "got 18"},
                 [&] { (void)grouped_weights_of_blocks(type, bytes, Shape{2, 32}); });
  test::raises(errc::shape_mismatch, {"[outputs, inputs]"},
               [&] { (void)grouped_weights_of_blocks(gguf::Type::q4_0, bytes, Shape{32}); });
}

TEST_CASE("scales that are not finite are refused with the number of their block") {
  for (const gguf::Type type : {gguf::Type::q4_0, gguf::Type::iq4_nl, gguf::Type::iq4_xs})
    for (const std::uint8_t high :
         std::vector<std::uint8_t>{0x7e, 0x7c, 0xfc}) {  // NaN and infinities of float16
      const gguf::TypeInfo& info = gguf::info_of(type);
      std::vector<std::uint8_t> blocks(2 * info.bytes);
      blocks[info.bytes + 1] = high;
      test::raises(errc::bad_scale, {"expected finite scales", "in block 1"},
                   [&] { (void)grouped_weights_of_blocks(type, blocks, Shape{2, info.elements}); });
    }
}
