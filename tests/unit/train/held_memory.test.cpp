// SPDX-License-Identifier: MIT
// A step of training takes the memory that it took at first, however many came before.
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>
#include <tq/observe/percentile.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/inputs.hpp"

namespace {

constexpr std::size_t channels = 3, batch = 8, batches = 50;

// Calls step(x), with other values, and compares a hundred steps early with a hundred late ones.
template <class Step>
void check_steps(Step&& step) {
  const std::vector<float> x = inputs::normals(batches * batch * channels, 6);
  std::size_t at = 0;
  const auto hundred = [&] {
    const std::ptrdiff_t before = test::total;
    for (int i = 0; i < 100; ++i, at = (at + 1) % batches)
      step(std::span(x).subspan(at * batch * channels, batch * channels));
    return test::total - before;
  };
  for (int i = 0; i < 5; ++i) (void)hundred();  // what keeps values until there are many has many
  const std::ptrdiff_t held = test::held, early = hundred();
  CHECK(test::held == held);
  for (int i = 0; i < 30; ++i) (void)hundred();
  const std::ptrdiff_t late = hundred();
  CHECK(test::held == held);
  CHECK(late == early);
}

template <class Acc>
void check_observer() {
  tq::Observer<Acc, tq::PerChannel<1>> observer;
  check_steps([&](std::span<const float> x) {
    observer.observe(tq::ConstTensorView(x.data(), {batch, channels}));
  });
}

template <class Layer>
void check_layer() {
  Layer layer;
  std::vector<float> y(batch * channels), gx(batch * channels);
  const std::vector<float> gy(batch * channels, 1.0f);
  check_steps([&](std::span<const float> x) {
    const tq::Shape shape{batch, channels};
    layer.forward(tq::ConstTensorView(x.data(), shape), tq::TensorView<float>(y.data(), shape));
    (void)layer.backward(tq::ConstTensorView(x.data(), shape),
                         tq::ConstTensorView(gy.data(), shape),
                         tq::TensorView<float>(gx.data(), shape));
  });
}

}  // namespace

TEST_CASE("observers take the same memory a batch, and hold the same, after any number of them",
          "[train]") {
  check_observer<tq::AbsMax>();
  check_observer<tq::MinMax>();
  check_observer<tq::MeanAbs>();
  check_observer<tq::MeanStd>();
  check_observer<tq::Histogram>();
  check_observer<tq::Percentile>();
  check_observer<tq::MovingAverageMinMax>();
}

TEST_CASE("layers take the same memory a step, and hold the same, after any number of them",
          "[train]") {
  using Params = tq::QuantParams<tq::int8, tq::PerChannel<1>, tq::Symmetric>;
  check_layer<tq::FakeQuantize<Params, tq::MovingAverageMinMax>>();
  check_layer<tq::FakeQuantize<Params, tq::MinMax, tq::LearnedStep<tq::GuardedScale>>>();
}
