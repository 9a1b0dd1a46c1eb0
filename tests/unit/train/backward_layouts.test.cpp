// SPDX-License-Identifier: MIT
// Gradients where x, dL/dy and dL/dx lie in memory in layouts of their own, element by element
// against the formulas.
#include <tq/core/float_elements.hpp>
#include <tq/core/make_params.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/index_oracle.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/tensor_oracle.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::Shape;

struct Tensor {
  oracle::Layout layout;
  std::vector<float> memory;

  Tensor(const Shape& shape, inputs::Random& r, bool gaps)
      : layout(oracle::layout(shape, r, true, gaps, gaps)) {
    memory.assign(layout.extent, 77.0f);
  }
  [[nodiscard]] tq::ConstTensorView view(const Shape& s) const {
    return {memory.data() + layout.first, s, layout.strides};
  }
  [[nodiscard]] tq::TensorView<float> view(const Shape& s) {
    return {memory.data() + layout.first, s, layout.strides};
  }
  float& at(const std::vector<std::size_t>& i) {
    return memory[static_cast<std::size_t>(layout.first + oracle::offset(i, layout.strides))];
  }
};

template <class N>
N numerics() {
  if constexpr (requires(N n) { n.rounding.seed; }) return N{{0x77}};
  else return N{};
}

// One shape in layouts drawn at random: LearnedAffine of integers, LearnedStep of other elements.
template <class Params, class N>
void check(const typename Params::granularity_type& g, const Shape& shape, std::uint64_t seed) {
  inputs::Random r(seed);
  const std::size_t slots = tq::param_count(g, shape);
  std::vector<float> scales(slots);
  for (float& s : scales) s = static_cast<float>(0.02 + 0.03 * r.unit());
  std::vector<std::int32_t> zeros;
  if constexpr (Params::has_zero_point)
    for (std::size_t i = 0; i < slots; ++i)
      zeros.push_back(
          r.between(static_cast<int>(Params::codes.min), static_cast<int>(Params::codes.max)));
  const Params params = tq::make_params<Params>(g, tq::Scales<float>(scales), zeros);
  constexpr bool integers = Params::has_zero_point;
  using Gradient = std::conditional_t<integers, tq::LearnedAffine<>, tq::LearnedStep<>>;
  const Shape block = oracle::block(g, shape);
  const double lo = integers ? static_cast<double>(Params::codes.min)
                             : -448.0,  // those of float8_e4m3fn
      hi = integers ? static_cast<double>(Params::codes.max) : 448.0;
  const N n = numerics<N>();

  Tensor x(shape, r, r.chance(60)), gy(shape, r, r.chance(60)), gx(shape, r, r.chance(60));
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    const double s = static_cast<double>(scales[oracle::param(i, shape, block)]);
    x.at(i) = static_cast<float>(s * (lo + (hi - lo) * (1.3 * r.unit() - 0.15)));
    gy.at(i) = static_cast<float>(r.normal());
  });
  Tensor y = gx, wanted = gx;  // of the same layout
  tq::fake_quantize(x.view(shape), params, y.view(shape), n);
  std::vector<double> sums(slots), sizes(slots), offsets(slots);
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    const std::size_t p = oracle::param(i, shape, block);
    const double zero = integers ? zeros[p] : 0, low = lo - zero, high = hi - zero;
    const double v = static_cast<double>(x.at(i) / scales[p]),
                 upstream = static_cast<double>(gy.at(i));
    // Integers are clipped by the rounded value, drawn by the place in dL/dx.
    const double decides =
        integers ? oracle::round(n.rounding, v,
                                 static_cast<std::uint64_t>(oracle::offset(i, gx.layout.strides)))
                 : v;
    const bool below = integers ? decides < low : v <= low,
               above = integers ? decides > high : v >= high;
    const double code = integers ? decides : static_cast<double>(y.at(i) / scales[p]);
    const double slope = below ? low : above ? high : code - v;
    wanted.at(i) = below || above ? 0.0f : gy.at(i);
    sums[p] += upstream * slope;
    offsets[p] += below || above ? -upstream * static_cast<double>(scales[p]) : 0.0;
    sizes[p] += std::fabs(upstream) * (std::fabs(slope) + 1);
  });
  const auto run = [&](const auto& executor) {
    gx.memory.assign(gx.memory.size(), 77.0f);
    return tq::fake_quantize_backward<Gradient>(
        x.view(shape), params, std::as_const(gy).view(shape), gx.view(shape), n, executor);
  };
  INFO(Params::type::name << " " << Params::granularity_type::name << " of " << tq::to_string(shape)
                          << ", seed " << seed);
  const tq::ParameterGradients got = run(tq::serial);
  CHECK((gx.memory == wanted.memory));
  REQUIRE(got.scale.size() == slots);
  std::size_t wrong = 0;
  for (std::size_t p = 0; p < slots; ++p) {
    wrong += !(std::fabs(got.scale[p] - sums[p]) <= 1e-5 * sizes[p]);
    if (integers) wrong += !(std::fabs(got.offset[p] - offsets[p]) <= 1e-5 * sizes[p]);
  }
  CHECK(wrong == 0);
  const tq::ParameterGradients again = run(test::Threads{3});
  CHECK((gx.memory == wanted.memory));
  CHECK((again.scale == got.scale));
  CHECK((again.offset == got.offset));
}

template <class T, class S, class N>
void check_granularities(std::uint64_t seed) {
  for (const Shape& shape : {Shape{150, 333}, Shape{5, 70, 130}, Shape{3, 2, 5, 33}, Shape{4000, 3},
                             Shape{70000}, Shape{1, 1}}) {
    check<tq::QuantParams<T, tq::PerTensor, S>, N>({}, shape, ++seed);
    check<tq::QuantParams<T, tq::PerChannel<0>, S>, N>({}, shape, ++seed);
    check<tq::QuantParams<T, tq::PerChannel<-1>, S>, N>({}, shape, ++seed);
    check<tq::QuantParams<T, tq::PerGroup<32>, S>, N>({}, shape, ++seed);
  }
}

}  // namespace

TEST_CASE("fake_quantize_backward: three layouts, of integers", "[backward]") {
  for (const std::uint64_t seed : {1000u, 2000u, 3000u})
    check_granularities<tq::int8, tq::Asymmetric, tq::numerics::onnx>(seed);
}

TEST_CASE("fake_quantize_backward: three layouts, of elements that are not integers",
          "[backward]") {
  check_granularities<tq::float8_e4m3fn, tq::Symmetric, tq::numerics::onnx>(4000);
}

TEST_CASE("fake_quantize_backward: draws follow the place in grad_x", "[backward]") {
  for (const std::uint64_t seed : {5000u, 6000u})
    check_granularities<tq::int4, tq::Asymmetric, tq::Numerics<tq::Stochastic>>(seed);
}

TEST_CASE("fake_quantize_backward: many tasks of turned tensors", "[backward]") {
  check<tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>, tq::numerics::onnx>(
      {}, Shape{601, 704}, 7000);
  check<tq::QuantParams<tq::int8, tq::PerGroup<32>, tq::Asymmetric>, tq::numerics::onnx>(
      {}, Shape{601, 704}, 7001);
}
