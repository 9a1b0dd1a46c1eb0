// SPDX-License-Identifier: MIT
// convert(): what training arrived at quantizes to what forward gave.
#include <tq/calibrate/mean_abs.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "unit/train/layer_cases.hpp"

namespace {

using namespace layers;
using tq::ConstTensorView;
using tq::Shape;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// dequantize(quantize(x)) by the converted parameters is what forward gave, bit for bit.
template <class Layer>
void check_converted(Layer layer, const Shape& shape, std::uint64_t seed) {
  std::vector<float> x = inputs::normals(shape.size(), seed);
  forward(layer, x, shape);
  x[0] = inf;
  x[1] = -inf;
  x[2] = nan_value;
  x[3] = -0.0f;
  x[4] = 1e-42f;
  layer.observe(false);
  const std::vector<float> y = forward(layer, x, shape);
  const auto params = tq::convert(layer);
  static_assert(std::is_same_v<std::remove_cv_t<decltype(params)>, typename Layer::params_type>);
  CHECK(params == layer.params());
  std::vector<float> q = x;
  if constexpr (Layer::transforms) q = layer.transformed(ConstTensorView(x.data(), shape));
  const std::vector<float> again =
      tq::dequantize(tq::quantize(ConstTensorView(q.data(), shape), params));
  INFO("shape " << to_string(shape) << ", " << Layer::params_type::type::name << ", "
                << Layer::granularity_type::name);
  CHECK(same_bits(again, y));
  CHECK(same_bits(tq::fake_quantize(ConstTensorView(q.data(), shape), params), y));
}
template <class Type, class Gran, class Symmetry = tq::Symmetric,
          class G = tq::ClippedStraightThrough>
using Of = tq::FakeQuantize<tq::QuantParams<Type, Gran, Symmetry>, tq::MinMax, G>;

}  // namespace

TEST_CASE("FakeQuantize: integers converted give forward's bits") {
  const Shape shape{7, 3, 48};
  check_converted(Of<tq::int8, tq::PerTensor, tq::Asymmetric>{}, shape, 1);
  check_converted(Of<tq::int8, tq::PerChannel<1>>{}, shape, 2);
  check_converted(Of<tq::int4, tq::PerGroup<16>, tq::Symmetric, tq::LearnedStep<>>{}, shape, 3);
  check_converted(Of<tq::uint4, tq::PerChannel<0>, tq::Asymmetric, tq::LearnedStepPlus<>>{}, shape,
                  4);
  check_converted(
      tq::FakeQuantize<tq::QuantParams<tq::ternary, tq::PerChannel<0>, tq::Symmetric>, tq::MeanAbs,
                       tq::ClippedStraightThrough, tq::MeanAbsCalibrator>{},
      shape, 5);
}

TEST_CASE("FakeQuantize: floats and code books converted give forward's bits") {
  const Shape shape{7, 3, 48};
  check_converted(Of<tq::float8_e4m3fn, tq::PerChannel<0>>{}, shape, 6);
  check_converted(Of<tq::nf4, tq::PerGroup<16>>{}, shape, 7);
  check_converted(tq::FakeQuantize<tq::QuantParams<tq::binary, tq::PerChannel<0>, tq::Symmetric>,
                                   tq::MeanAbs, tq::StrictStraightThrough, tq::MeanAbsCalibrator>{},
                  shape, 8);
}

TEST_CASE("FakeQuantize: with DoReFa what is converted are the codes of the transformed weights") {
  const Shape shape{7, 3, 48};
  check_converted(Of<tq::int4, tq::PerChannel<0>, tq::SymmetricNarrow, tq::DoReFa>{}, shape, 9);
  check_converted(Of<tq::nf4, tq::PerTensor, tq::Symmetric, tq::DoReFa>{}, shape, 10);
}

TEST_CASE(
    "FakeQuantize: with DoReFa what is converted are the codes of the activations themselves") {
  check_converted(Of<tq::uint4, tq::PerTensor, tq::Symmetric, tq::DoReFa>{}, {7, 3, 48}, 11);
}

TEST_CASE(
    "FakeQuantize: stochastic rounding draws anew for every call, and what it drew is known") {
  using Params = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
  using Draws = tq::Numerics<tq::Stochastic>;
  tq::FakeQuantize<Params, tq::MinMax, tq::ClippedStraightThrough, tq::MinMaxCalibrator, Draws>
      layer({}, {}, Draws{tq::Stochastic{7}});
  const std::vector<float> x = inputs::normals(400, 3);
  std::vector<float> first(400), second(400), evaluated(400);
  layer.forward(x, first);
  CHECK(same_bits(first, tq::fake_quantize(x, layer.params(), Draws{tq::Stochastic{7}})));
  layer.forward(x, second);
  CHECK_FALSE(same_bits(first, second));
  CHECK(same_bits(second, tq::dequantize(tq::quantize(x, tq::convert(layer), layer.numerics()))));
  std::as_const(layer).forward(x, evaluated);
  CHECK(same_bits(second, evaluated));
  auto again = layer;  // continued from a copy it draws what the original would
  layer.forward(x, first);
  again.forward(x, second);
  CHECK(same_bits(first, second));
}
