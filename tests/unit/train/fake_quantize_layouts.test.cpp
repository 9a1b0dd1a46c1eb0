// SPDX-License-Identifier: MIT
// Layouts and executors: they change nothing of what a layer computes.
#include <tq/core/float_elements.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"
#include "unit/train/layer_cases.hpp"

namespace {

using namespace layers;
using tq::ConstTensorView;
using tq::Shape;
using tq::TensorView;

}  // namespace

TEST_CASE("FakeQuantize: layouts do not matter") {
  const auto check = [](auto layer) {
    constexpr std::size_t rows = 9, columns = 40;
    const Shape shape{rows, columns};
    const std::vector<float> x = inputs::normals(rows * columns, 5),
                             gy = inputs::normals(rows * columns, 6);
    const auto turned = [&](const std::vector<float>& v) {
      std::vector<float> out(v.size());
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = v[r * columns + c];
      return out;
    };
    const std::vector<float> tx = turned(x), tgy = turned(gy);
    const tq::Strides by_column{1, static_cast<std::ptrdiff_t>(rows)},
        by_row{static_cast<std::ptrdiff_t>(columns), 1};
    auto other = layer;
    const std::vector<float> y = forward(layer, x, shape);
    std::vector<float> ty(x.size());
    other.forward(ConstTensorView(tx.data(), shape, by_column),
                  TensorView<float>(ty.data(), shape, by_column));
    CHECK(ty == turned(y));
    CHECK(other.params() == layer.params());
    const std::vector<float> gx = backward(layer, x, gy, shape);
    // x, gy and gx each by rows or by columns.
    for (int which = 1; which < 8; ++which) {
      const bool x_turned = which & 1, gy_turned = which & 2, gx_turned = which & 4;
      std::vector<float> got(x.size());
      (void)other.backward(
          ConstTensorView(x_turned ? tx.data() : x.data(), shape, x_turned ? by_column : by_row),
          ConstTensorView(gy_turned ? tgy.data() : gy.data(), shape,
                          gy_turned ? by_column : by_row),
          TensorView<float>(got.data(), shape, gx_turned ? by_column : by_row));
      INFO("layouts " << which);
      CHECK(got == (gx_turned ? turned(gx) : gx));
      REQUIRE(other.gradients().size() == layer.gradients().size());
      for (std::size_t i = 0; i < layer.gradients().size(); ++i)
        CHECK(std::fabs(other.gradients()[i] - layer.gradients()[i]) <= 1e-4f);
    }
    // Backwards, with gaps.
    std::vector<float> wide(x.size() * 2 + 1, 9.0f);
    const tq::Strides backwards{-2 * static_cast<std::ptrdiff_t>(columns), 2};
    (void)other.backward(
        ConstTensorView(x.data(), shape), gy,
        TensorView<float>(wide.data() + (rows - 1) * columns * 2, shape, backwards));
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) {
        CHECK(wide[((rows - 1 - r) * columns + c) * 2] == gx[r * columns + c]);
        CHECK(wide[((rows - 1 - r) * columns + c) * 2 + 1] == 9.0f);
      }
  };
  check(Step<tq::PerTensor>{});
  check(Step<tq::PerChannel<0>>{});
  check(Step<tq::PerGroup<8>>{});
  check(tq::FakeQuantize<tq::QuantParams<tq::uint4, tq::PerChannel<1>, tq::Asymmetric>, tq::MinMax,
                         tq::LearnedAffine<>>{});
  check(tq::FakeQuantize<tq::QuantParams<tq::int4, tq::PerChannel<1>, tq::Symmetric>, tq::MinMax,
                         tq::DoReFa>{});
  using Floats = tq::QuantParams<tq::float8_e4m3fn, tq::PerChannel<0>, tq::Symmetric>;
  check(tq::FakeQuantize<Floats, tq::MinMax, tq::LearnedStep<>>{});
}

namespace {

// The same bits of everything for any executor.
template <class Layer>
void check_executors(const Shape& shape, std::uint64_t seed) {
  const std::vector<float> x = inputs::normals(shape.size(), seed),
                           gy = inputs::normals(shape.size(), seed + 1);
  const ConstTensorView view(x.data(), shape);
  using G = typename Layer::gradient_type;
  Layer serial;
  const std::vector<float> y = forward(serial, x, shape), gx = backward(serial, x, gy, shape);
  const std::vector<float> gradients(serial.gradients().begin(), serial.gradients().end());
  REQUIRE(gradients.size() == serial.params().scales().size() *
                                  static_cast<std::size_t>(Layer::gradient_type::learned));
  std::vector<float> to(x.size());
  const std::vector<double> sums =
      tq::fake_quantize_backward<G>(view, serial.params(), gy, to).scale;
  const auto check = [&](const auto& executor) {
    Layer layer;
    std::vector<float> other_y(x.size()), other_gx(x.size());
    layer.forward(view, other_y, executor);
    (void)layer.backward(view, gy, other_gx, tq::with(executor));
    CHECK(layer.params() == serial.params());
    CHECK(same_bits(other_y, y));
    CHECK(same_bits(other_gx, gx));
    CHECK(same_bits(layer.gradients(), gradients));
    CHECK(tq::fake_quantize_backward<G>(view, serial.params(), gy, other_gx, executor,
                                        tq::numerics::onnx{})
              .scale == sums);
  };
  for (const std::size_t threads : {1u, 2u, 3u, 5u}) check(test::Threads{threads});
  check(test::Backwards{7});
}

}  // namespace

TEST_CASE("FakeQuantize: gradients are the same bits for any executor") {
  const Shape shape{601, 704};
  check_executors<Step<tq::PerTensor>>(shape, 20);
  check_executors<Step<tq::PerChannel<0>>>(shape, 30);
  check_executors<Step<tq::PerChannel<1>>>(shape, 40);
  check_executors<Step<tq::PerGroup<32>>>(shape, 50);
}
