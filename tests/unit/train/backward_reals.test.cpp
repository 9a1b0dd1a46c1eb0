// SPDX-License-Identifier: MIT
// Gradients of tensors of 16 and 64 bits: those of the same tensors of float32, rounded once.
#include <tq/core/make_params.hpp>
#include <tq/ops/copy.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/learned_affine.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/real_tensors.hpp"

namespace {

using real_tensors::Layout;
using real_tensors::Pair;

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class Params>
Params params_for(const typename Params::granularity_type& g, const tq::Shape& shape) {
  const std::size_t slots = tq::param_count(g, shape);
  std::vector<float> scales;
  std::vector<std::int32_t> zeros;
  for (std::size_t i = 0; i < slots; ++i) {
    scales.push_back(0.01f + 0.003f * static_cast<float>(i % 7));
    zeros.push_back(static_cast<std::int32_t>(i % 11) - 5);
  }
  return tq::make_params<Params>(g, tq::Scales<float>(scales), zeros);
}

template <class Granularity, class X, class Gy, class Gx>
void check(const Layout& x_layout, const Layout& gy_layout, const Layout& gx_layout,
           std::uint64_t seed) {
  using Params = tq::QuantParams<tq::int8, Granularity, tq::Asymmetric>;
  using Gradient = tq::LearnedAffine<>;
  const tq::Shape& shape = x_layout.shape;
  const Pair<X> x(x_layout, seed);
  const Pair<Gy> gy(gy_layout, seed + 1, true);
  const Params params = params_for<Params>(Granularity{}, shape);
  std::vector<float> floats(gx_layout.extent, 7.0f);
  std::vector<Gx> got(gx_layout.extent), wanted(gx_layout.extent);
  const auto view = [&](auto& memory) {
    return tq::TensorView(memory.data() + gx_layout.first, shape, gx_layout.strides);
  };
  const auto sums =
      tq::fake_quantize_backward<Gradient>(x.float_view(), params, gy.float_view(), view(floats));
  tq::copy(tq::ConstTensorView(view(floats)), view(wanted));
  const auto own = tq::fake_quantize_backward<Gradient>(x.view(), params, gy.view(), view(got));
  INFO(real_tensors::name_of<X>() << " " << x_layout.name << ", " << gy_layout.name << ", "
                                  << gx_layout.name << ", " << Granularity::name);
  CHECK(same_bits(got, wanted));
  CHECK(same_bits(own.scale, sums.scale));
  CHECK(same_bits(own.offset, sums.offset));
}

template <class Granularity, class X, class Gy, class Gx>
void check_layouts(std::uint64_t seed) {
  const std::vector<Layout> all = real_tensors::layouts();
  inputs::Random r(seed);
  const auto like = [&](const Layout& l, bool writable) {
    while (true) {
      const Layout& other = all[r.below(all.size())];
      const bool repeats = other.name == "rows repeated" || other.name == "elements repeated";
      if (other.shape == l.shape && !(writable && repeats)) return other;
    }
  };
  for (const Layout& l : all)
    check<Granularity, X, Gy, Gx>(l, like(l, false), like(l, true), ++seed);
}

}  // namespace

TEST_CASE("fake_quantize_backward of float16", "[backward][reals]") {
  using tq::float16;
  check_layouts<tq::PerTensor, float16, float16, float16>(100);
  check_layouts<tq::PerChannel<0>, float16, float16, float16>(200);
  check_layouts<tq::PerGroup<8>, float16, float16, float16>(300);
}

TEST_CASE("fake_quantize_backward of bfloat16 and of float64", "[backward][reals]") {
  check_layouts<tq::PerChannel<-1>, tq::bfloat16, float, tq::bfloat16>(400);
  check_layouts<tq::PerTensor, double, double, double>(500);
  check_layouts<tq::PerGroup<8>, double, tq::bfloat16, float>(600);
}

TEST_CASE("fake_quantize_backward: the gradient of halves in place, turned", "[backward][reals]") {
  const tq::Shape shape{70, 130};
  const tq::Strides turned{1, 70};
  const tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric> params(0.02f, 3);
  const Layout rows{"rows", shape, {130, 1}, 0, 9100}, columns{"columns", shape, turned, 0, 9100};
  const Pair<tq::float16> x(rows, 1, true), gy(columns, 2, true);
  std::vector<tq::float16> apart(9100), in_place = gy.memory;
  const tq::TensorView<tq::float16> out(apart.data(), shape, turned),
      same(in_place.data(), shape, turned);
  (void)tq::fake_quantize_backward(x.view(), params, gy.view(), out);
  (void)tq::fake_quantize_backward(x.view(), params, tq::TensorView<const tq::float16>(same), same);
  CHECK(same_bits(in_place, apart));
}

TEST_CASE("fake_quantize_backward of halves: what does not fit is refused, and nothing is written",
          "[backward][reals]") {
  const tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric> params(1.0f, 0);
  const std::vector<tq::bfloat16> x(6), gy(6), few(5);
  std::vector<tq::bfloat16> gx(6, tq::bfloat16{9});
  const tq::TensorView<tq::bfloat16> out(gx.data(), {6});
  const auto code = [](auto&& f) {
    try {
      f();
    } catch (const tq::error& e) {
      return e.code();
    }
    return tq::errc::ok;
  };
  CHECK(code([&] { (void)tq::fake_quantize_backward(x, params, few, out); }) ==
        tq::errc::shape_mismatch);
  CHECK(code([&] { (void)tq::fake_quantize_backward(few, params, gy, out); }) ==
        tq::errc::shape_mismatch);
  for (const tq::bfloat16 v : gx) CHECK(v.code == tq::bfloat16{9}.code);
}
