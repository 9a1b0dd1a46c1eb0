// SPDX-License-Identifier: MIT
// Layers over tensors of 16 and 64 bits: what the same layer makes of the same tensors of float32,
// rounded once.
#include <tq/ops/copy.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/real_tensors.hpp"
#include "unit/train/layer_cases.hpp"

namespace {

using real_tensors::Layout;
using real_tensors::Pair;
using tq::errc;
using tq::Shape;
using tq::TensorView;

using Observing = tq::FakeQuantize<tq::QuantParams<tq::uint4, tq::PerChannel<0>, tq::Asymmetric>>;
using Floats = tq::FakeQuantize<tq::QuantParams<tq::float8_e4m3fn, tq::PerTensor, tq::Symmetric>>;
using Affine = tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>,
                                tq::MinMax, tq::LearnedAffine<>>;
using Steps = layers::Step<tq::PerGroup<8>>;
using Squeezed = tq::FakeQuantize<tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>,
                                  tq::MinMax, tq::DoReFa>;

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
TensorView<T> view_of(std::vector<T>& memory, const Layout& l) {
  return {memory.data() + l.first, l.shape, l.strides};
}

// The elements that a pass wrote in float32, as T.
template <class T>
std::vector<T> rounded(std::vector<float>& floats, const Layout& l) {
  std::vector<T> out(floats.size());
  tq::copy(tq::ConstTensorView(view_of(floats, l)), view_of(out, l));
  return out;
}

// Two batches through a layer and through its twin of float32.
template <class Layer, class X, class Y>
void check(const Layout& in, const Layout& out, std::uint64_t seed) {
  Layer layer, twin;
  INFO(real_tensors::name_of<X>() << " " << in.name << " to " << real_tensors::name_of<Y>() << " "
                                  << out.name);
  for (std::uint64_t batch = 0; batch < 2; ++batch) {
    const Pair<X> x(in, seed + batch, true), gy(in, seed + batch + 10, true);
    std::vector<Y> y(out.extent), gx(out.extent);
    std::vector<float> float_y(out.extent), float_gx(out.extent);
    layer.forward(x.view(), view_of(y, out));
    twin.forward(x.float_view(), view_of(float_y, out));
    CHECK(same_bits(y, rounded<Y>(float_y, out)));
    std::vector<Y> again(out.extent);
    std::as_const(layer).forward(x.view(), view_of(again, out));
    CHECK(same_bits(again, y));
    const auto learned = layer.backward(x.view(), gy.view(), view_of(gx, out));
    const auto wanted = twin.backward(x.float_view(), gy.float_view(), view_of(float_gx, out));
    CHECK(layers::same_bits(learned, wanted));
    CHECK(same_bits(gx, rounded<Y>(float_gx, out)));
    CHECK(layer.ready() == twin.ready());
    if (layer.ready()) CHECK(layer.params() == twin.params());
  }
}

template <class Layer, class X, class Y>
void check_layouts(std::uint64_t seed) {
  const std::vector<Layout> all = real_tensors::layouts();
  inputs::Random r(seed);
  for (const Layout& in : all) {
    const Layout* out = nullptr;
    while (out == nullptr || out->shape != in.shape || out->name == "rows repeated" ||
           out->name == "elements repeated")
      out = &all[r.below(all.size())];
    check<Layer, X, Y>(in, *out, ++seed);
  }
}

}  // namespace

TEST_CASE("FakeQuantize of halves and float64 is that of their values as float32", "[reals]") {
  check_layouts<Observing, tq::float16, tq::float16>(100);
  check_layouts<Affine, tq::bfloat16, tq::bfloat16>(200);
  check_layouts<Steps, double, double>(300);
  check_layouts<Floats, tq::float16, float>(400);
  check_layouts<Observing, float, tq::bfloat16>(500);
}

TEST_CASE("FakeQuantize of halves by a gradient that transforms its input", "[reals]") {
  const Layout rows{"rows", {6, 40}, {40, 1}, 0, 240}, turned{"turned", {6, 40}, {1, 6}, 0, 240};
  check<Squeezed, tq::float16, tq::float16>(rows, turned, 1);
  check<Squeezed, double, tq::bfloat16>(turned, rows, 2);
}

TEST_CASE("FakeQuantize of halves in place, and passed through", "[reals]") {
  const Layout rows{"rows", {5, 16}, {16, 1}, 0, 80};
  const Pair<tq::float16> x(rows, 3, true);
  std::vector<tq::float16> apart(80), in_place = x.memory;
  Observing first, second;
  first.forward(x.view(), view_of(apart, rows));
  second.forward(TensorView<const tq::float16>(view_of(in_place, rows)), view_of(in_place, rows));
  CHECK(same_bits(in_place, apart));
  first.quantize(false);
  first.forward(x.view(), view_of(apart, rows));
  CHECK(same_bits(apart, x.memory));
  const Pair<double> wide(rows, 4, true);
  std::vector<double> through(80);
  first.forward(wide.view(), view_of(through, rows));
  CHECK(same_bits(through, wide.memory));
}

TEST_CASE("FakeQuantize of halves: what does not fit is refused, and nothing is written",
          "[reals]") {
  Observing layer;
  const std::vector<tq::bfloat16> values(6);
  const TensorView<const tq::bfloat16> x(values.data(), {6});
  std::vector<tq::bfloat16> y(6, tq::bfloat16{9});
  const TensorView<tq::bfloat16> out(y.data(), {6}), few(y.data(), {5});
  test::refused(errc::shape_mismatch, [&] { layer.forward(x, few); });
  test::refused(errc::no_data, [&] { std::as_const(layer).forward(x, out); });
  test::refused(errc::no_data, [&] { (void)layer.backward(x, x, out); });
  const std::vector<double> none(2, std::numeric_limits<double>::infinity());
  test::refused(errc::no_data, [&] {
    layer.forward(TensorView<const double>(none.data(), {2}),
                  TensorView<tq::bfloat16>(y.data(), {2}));
  });
  for (const tq::bfloat16 v : y) CHECK(v.code == tq::bfloat16{9}.code);
}
