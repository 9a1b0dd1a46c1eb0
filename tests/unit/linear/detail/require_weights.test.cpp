// SPDX-License-Identifier: MIT
// Layers and weights that were moved from are empty, and say so.
#include <tq/core/detail/emptied.hpp>
#include <tq/linear/detail/require_weights.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/packed_int16_weights.hpp>
#include <tq/linear/quantized_conv1d.hpp>
#include <tq/linear/quantized_conv2d.hpp>
#include <tq/linear/quantized_embedding.hpp>
#include <tq/linear/quantized_linear.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

using tq::ConstTensorView;
using tq::Shape;
using tq::TensorView;
using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using Groups = tq::QuantParams<tq::int4, tq::PerGroup<16, 1>, tq::Symmetric>;
using Bytes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

const std::vector<float>& values() {
  static const std::vector<float> all = [] {
    std::vector<float> v(4 * 16);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
    return v;
  }();
  return all;
}
auto weights(const Shape& shape) {
  return tq::quantize_dynamic<Weights>(ConstTensorView(values().data(), shape));
}
tq::StaticActivation<Bytes> activation() { return tq::StaticActivation(Bytes(0.1f, 3)); }

// Each kind of layer: how it is made, and a call of x and y of these shapes.
template <class Layer, class Value, class Input = float>
struct Matrix {
  static void run(const Layer& layer, std::size_t inputs = 16, std::size_t outputs = 4) {
    const std::vector<Input> x(2 * inputs + 1);
    std::vector<Value> y(2 * outputs + 1);
    layer.forward(TensorView<const Input>(x.data(), {2, inputs}),
                  TensorView<Value>(y.data(), {2, outputs}));
  }
  static void run_empty(const Layer& layer) { run(layer, 0, 0); }
};
struct Linear : Matrix<tq::QuantizedLinear<>, float> {
  static auto make() { return tq::QuantizedLinear<>(weights({4, 16})); }
};
struct CodesOfCodes
    : Matrix<tq::QuantizedLinear<tq::StaticActivation<Bytes>, tq::CodeOutput<Bytes>>, std::uint8_t,
             std::uint8_t> {
  static auto make() {
    return tq::QuantizedLinear(weights({4, 16}), {}, activation(), tq::CodeOutput(Bytes(0.2f, 1)));
  }
};
struct Floats : Matrix<tq::FloatLinear, float> {
  static auto make() { return tq::FloatLinear(ConstTensorView(values().data(), {4, 16})); }
};
template <class Scheme>
struct Grouped : Matrix<tq::GroupedLinear<Scheme>, float> {
  static auto make() {
    return tq::GroupedLinear<Scheme>(
        tq::quantize_dynamic<Groups>(ConstTensorView(values().data(), {4, 16})));
  }
};
template <class Layer>
struct Signals {
  static void forward(const Layer& layer, const Shape& in, const Shape& out) {
    const std::vector<float> x(in.size() + 1);
    std::vector<float> y(out.size() + 1);
    layer.forward(ConstTensorView(x.data(), in), TensorView<float>(y.data(), out));
  }
};
struct Conv2d : Signals<tq::QuantizedConv2d<>> {
  static auto make() { return tq::QuantizedConv2d<>(weights({4, 4, 2, 2})); }
  static void run(const tq::QuantizedConv2d<>& c) { forward(c, {1, 4, 3, 3}, {1, 4, 2, 2}); }
  static void run_empty(const tq::QuantizedConv2d<>& c) { forward(c, {0, 0, 0, 0}, {0, 0, 0, 0}); }
};
struct Depthwise : Signals<tq::QuantizedConv2d<>> {
  static auto make() {
    return tq::QuantizedConv2d<>(weights({4, 1, 2, 2}), {}, tq::Conv2dOptions{{}, 4});
  }
  static void run(const tq::QuantizedConv2d<>& c) { forward(c, {1, 4, 3, 3}, {1, 4, 2, 2}); }
  static void run_empty(const tq::QuantizedConv2d<>& c) { forward(c, {1, 0, 1, 1}, {1, 0, 1, 1}); }
};
struct Conv1d : Signals<tq::QuantizedConv1d<>> {
  static auto make() { return tq::QuantizedConv1d<>(weights({4, 8, 2})); }
  static void run(const tq::QuantizedConv1d<>& c) { forward(c, {1, 8, 3}, {1, 4, 2}); }
  static void run_empty(const tq::QuantizedConv1d<>& c) { forward(c, {1, 0, 1}, {1, 0, 1}); }
};
template <int Bits>
struct Embedding {
  static auto make() {
    return tq::QuantizedEmbedding<Bits>(ConstTensorView(values().data(), {4, 16}));
  }
  static void gather(const tq::QuantizedEmbedding<Bits>& e, std::vector<std::int64_t> rows,
                     std::size_t width) {
    std::vector<float> y(rows.size() * width + 1);
    const TensorView<float> to(y.data(), {rows.size(), width});
    e.gather(rows, to);
    const std::vector<std::int64_t> offsets{0};
    if (rows.size() == 1) e.bag(rows, offsets, to);
  }
  static void run(const tq::QuantizedEmbedding<Bits>& e) { gather(e, {3}, 16); }
  static void run_empty(const tq::QuantizedEmbedding<Bits>& e) { gather(e, {}, 0); }
};

}  // namespace

TEMPLATE_TEST_CASE("a layer that was moved from refuses every input, and may be assigned to", "",
                   Linear, CodesOfCodes, Floats, Grouped<tq::FloatActivations>,
                   Grouped<tq::Int8PerRow>, Grouped<tq::Int8PerGroup>, Conv2d, Depthwise, Conv1d,
                   Embedding<8>, Embedding<4>) {
  const auto refused = [](const auto& layer) {
    test::raises(tq::errc::shape_mismatch, {"moved from"}, [&] { TestType::run(layer); });
    test::raises(tq::errc::shape_mismatch, {"moved from"}, [&] { TestType::run_empty(layer); });
  };
  auto layer = TestType::make();
  TestType::run(layer);
  auto taken = std::move(layer);
  TestType::run(taken);
  refused(layer);     // NOLINT(bugprone-use-after-move)
  auto copy = layer;  // of nothing
  refused(copy);
  refused(taken = std::move(layer));
  taken = TestType::make();
  TestType::run(taken);
  copy = taken;
  TestType::run(copy);
  TestType::run(taken);
}

TEST_CASE("weights that were moved from are empty") {
  const auto empty = [](auto weights) {
    const auto taken = std::move(weights);
    CHECK(taken.outputs() == 4);
    CHECK(weights.outputs() == 0);  // NOLINT(bugprone-use-after-move)
    return weights;
  };
  const tq::PackedWeights packed = empty(tq::PackedWeights(weights({4, 16})));
  CHECK(packed.inputs() == 0);
  CHECK(packed.codes().empty());
  CHECK(packed.panels() == 0);
  const tq::PackedFilters filters =
      empty(tq::PackedFilters(tq::ByteWeights(weights({4, 4, 2, 2})).codes()));
  CHECK(filters.groups() == 0);
  CHECK(filters.outputs_of_group() == 0);
  CHECK(filters.reach() == 0);
  const tq::GroupedWeights grouped = empty(
      tq::GroupedWeights(tq::quantize_dynamic<Groups>(ConstTensorView(values().data(), {4, 16}))));
  CHECK(grouped.inputs() == 0);
  CHECK(grouped.groups() == 0);
  CHECK(grouped.panels() == 0);
  tq::ByteWeights bytes(weights({4, 16}));
  const tq::ByteWeights taken = std::move(bytes);
  CHECK(taken.shape() == Shape{4, 16});
  CHECK(bytes.shape() == Shape{0});  // NOLINT(bugprone-use-after-move)
  CHECK(bytes.codes().size() == 0);
}
