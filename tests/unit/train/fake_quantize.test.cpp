// SPDX-License-Identifier: MIT
#include <tq/ops/fake_quantize.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "unit/train/layer_cases.hpp"

namespace {

using namespace layers;
using tq::ConstTensorView;
using tq::errc;
using tq::Shape;
using tq::TensorView;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

using Plain = tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>>;
using Channels = tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>>;
using StepChannels = Step<tq::PerChannel<0>>;

template <class Layer>
bool same_state(const Layer& layer, const typename Layer::State& s) {
  const typename Layer::State now = layer.state();
  bool same = now.params == s.params && same_bits(now.learned, s.learned) &&
              now.observes == s.observes && now.quantizes == s.quantizes &&
              now.learns == s.learns && now.delay == s.delay && now.batches == s.batches &&
              now.observer.batches() == s.observer.batches() &&
              now.observer.accumulators().size() == s.observer.accumulators().size();
  for (std::size_t i = 0; same && i < s.observer.accumulators().size(); ++i)
    same = now.observer.accumulators()[i] == s.observer.accumulators()[i];
  return same;
}

const auto descend = [](std::span<float> values, std::span<const float> gradients) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.01f * gradients[i];
};

const std::vector<float> small{-1, 0.25f, 1, 0.5f}, large{-4, 1, 3, 10};

}  // namespace

TEST_CASE("FakeQuantize: forward calibrates by what was observed so far, and quantizes by that") {
  Plain layer;
  CHECK_FALSE(layer.ready());
  const std::vector<float> first = forward(layer, small);
  CHECK(layer.ready());
  CHECK(first == tq::fake_quantize(small, layer.params()));
  CHECK(layer.params() == tq::calibrate<Plain::params_type>(small));
  const std::vector<float> second = forward(layer, large);
  std::vector<float> all = small;
  all.insert(all.end(), large.begin(), large.end());
  CHECK(layer.params() == tq::calibrate<Plain::params_type>(all));
  CHECK(second == tq::fake_quantize(large, layer.params()));
  CHECK(layer.batches() == 2);
  CHECK(layer.observer().batches() == 2);
}

TEST_CASE("FakeQuantize: a layer that does not observe keeps its parameters") {
  Plain layer;
  forward(layer, small);
  const auto params = layer.params();
  layer.observe(false);
  CHECK_FALSE(layer.observes());
  CHECK(forward(layer, large) == tq::fake_quantize(large, params));
  CHECK(layer.params() == params);
  CHECK(layer.observer().batches() == 1);
  layer.observe(true);
  forward(layer, large);
  CHECK_FALSE(layer.params() == params);
}

TEST_CASE("FakeQuantize: a layer that does not quantize observes, and passes everything through") {
  Plain layer;
  layer.quantize(false);
  CHECK_FALSE(layer.quantizes());
  CHECK(forward(layer, small) == small);
  CHECK(layer.ready());
  const std::vector<float> beyond{100, -100, nan_value, 1}, gy{1, nan_value, 3, -4};
  CHECK(same_bits(backward(layer, beyond, gy, {4}), gy));
  layer.quantize(true);
  CHECK(forward(layer, small) == tq::fake_quantize(small, layer.params()));
  CHECK(backward(layer, beyond, {1, 2, 3, 4}, {4}) == std::vector<float>{0, 0, 0, 4});
}

TEST_CASE(
    "FakeQuantize: a layer without parameters that does not quantize passes through, const or "
    "not") {
  Plain layer;
  layer.quantize(false);
  layer.observe(false);
  CHECK(forward(layer, small) == small);
  CHECK(forward(std::as_const(layer), small) == small);
  CHECK(backward(layer, small, large, {4}) == large);
  CHECK_FALSE(layer.ready());
}

TEST_CASE(
    "FakeQuantize: the const forward quantizes by the parameters there are and changes nothing") {
  Plain layer;
  test::raises(errc::no_data, {"tq::FakeQuantize::forward"},
               [&] { forward(std::as_const(layer), small); });
  forward(layer, small);
  const auto state = layer.state();
  CHECK(forward(std::as_const(layer), large) == tq::fake_quantize(large, layer.params()));
  CHECK(same_state(layer, state));
  // All NaN: nothing to observe, and nothing that has to be.
  CHECK(forward(std::as_const(layer), std::vector<float>(4, nan_value)) ==
        std::vector<float>(4, 0.0f));
  CHECK(same_state(layer, state));
}

TEST_CASE("FakeQuantize: with a delay the first calls observe only") {
  Plain layer;
  layer.delay(2);
  CHECK(layer.delay() == 2);
  CHECK(forward(layer, small) == small);
  CHECK(layer.ready());
  CHECK(forward(std::as_const(layer), small) == small);  // not one of the calls
  CHECK(backward(layer, large, small, {4}) == small);
  CHECK(forward(layer, large) == large);
  CHECK(layer.observer().batches() == 2);
  CHECK(forward(layer, large) == tq::fake_quantize(large, layer.params()));
  CHECK(layer.batches() == 3);
  layer.delay(10);  // calls so far count
  CHECK(forward(layer, large) == large);
}

TEST_CASE(
    "FakeQuantize: backward passes through what forward passed through, also in the last call of a "
    "delay") {
  Plain layer;
  layer.delay(1);
  CHECK(forward(layer, small) == small);
  const std::vector<float> gy{1, 2, 3, 4};
  CHECK(backward(layer, large, gy, {4}) == gy);
}

TEST_CASE(
    "FakeQuantize: what is learned starts from the first batch and then belongs to the optimiser") {
  StepChannels layer;
  const Shape shape{2, 3};
  const std::vector<float> x{1, -7, 3, 14, 2, 5}, more{100, 200, 300, 400, 500, 600};
  CHECK(layer.learned().empty());
  CHECK(layer.gradients().empty());
  bool called = false;
  layer.update([&](std::span<float>, std::span<const float>) { called = true; });
  CHECK_FALSE(called);  // nothing to move yet
  forward(layer, x, shape);
  CHECK(std::vector<float>(layer.learned().begin(), layer.learned().end()) ==
        std::vector<float>{1, 2});
  CHECK(std::vector<float>(layer.gradients().begin(), layer.gradients().end()) ==
        std::vector<float>{0, 0});
  forward(layer, more, shape);
  CHECK(layer.learned()[0] == 1);
  CHECK(layer.observer().batches() == 1);
  layer.update([&](std::span<float> v, std::span<const float>) {
    v[0] = 3;
    v[1] = 1.5f;
  });
  CHECK(layer.params().scales()[0] == 3);
  CHECK(layer.params().scales()[1] == 1.5f);
  // Calibration does not take over where learning is switched off.
  layer.learn(false);
  CHECK_FALSE(layer.is_learning());
  forward(layer, more, shape);
  CHECK(layer.params().scales()[1] == 1.5f);
  CHECK(layer.learned()[1] == 1.5f);
}

TEST_CASE("FakeQuantize: evaluation changes nothing, by whatever call, and training goes on") {
  const auto check = [](auto layer) {
    CHECK(layer.is_training());
    layer.eval();
    CHECK_FALSE(layer.is_training());
    test::raises(errc::no_data, {"tq::FakeQuantize::forward"}, [&] { forward(layer, small); });
    layer.train();
    const std::vector<float> same = forward(layer, small);
    const auto state = layer.state();
    layer.eval();
    for (const bool on : {true, false}) {
      layer.learn(on);
      CHECK(forward(layer, large) == forward(std::as_const(layer), large));
      CHECK(forward(layer, small) == same);
      CHECK(backward(layer, small, {1, 2, 3, 4}, {4}).size() == 4);
      CHECK(layer.params() == *state.params);
    }
    CHECK(same_state(
        [&] {
          layer.learn(true);
          return layer;
        }(),
        state));
    CHECK(layer.batches() == 1);
    if constexpr (decltype(layer)::learns)
      test::raises(errc::bad_argument, {"tq::FakeQuantize::update", "in training"}, [&] {
        layer.update([](std::span<float> v, std::span<const float>) { v[0] = 9; });
      });
    layer.train();
    forward(layer, large);
    CHECK((layer.params() == *state.params) == decltype(layer)::learns);
  };
  check(Plain{});
  check(tq::FakeQuantize<Plain::params_type, tq::MinMax, tq::LearnedAffine<>>{});
}

TEST_CASE(
    "FakeQuantize: backward in evaluation follows forward in evaluation, behind a delay too") {
  Plain layer;
  layer.delay(1);
  forward(layer, small);
  layer.eval();
  CHECK(forward(layer, large) == tq::fake_quantize(large, layer.params()));
  CHECK(backward(layer, {100, -100, nan_value, 1}, {1, 2, 3, 4}, {4}) ==
        std::vector<float>{0, 0, 0, 4});
}

TEST_CASE(
    "FakeQuantize: without learning, backward has no gradients of parameters and update does "
    "nothing") {
  StepChannels layer;
  const Shape shape{2, 3};
  const std::vector<float> x{1, -7, 3, 14, 2, 5}, gy{1, 2, 3, 4, 5, 6};
  forward(layer, x, shape);
  const std::vector<float> learning = backward(layer, x, gy, shape);
  CHECK(layer.gradients()[1] != 0.0f);
  layer.freeze();
  CHECK_FALSE(layer.observes());
  CHECK_FALSE(layer.is_learning());
  CHECK(backward(layer, x, gy, shape) == learning);
  CHECK(std::vector<float>(layer.gradients().begin(), layer.gradients().end()) ==
        std::vector<float>{0, 0});
  bool called = false;
  const auto params = layer.params();
  layer.update([&](std::span<float> v, std::span<const float>) {
    called = true;
    v[0] = 9;
  });
  CHECK_FALSE(called);
  forward(layer, {100, 200, 300, 400, 500, 600}, shape);
  CHECK(layer.params() == params);
}

TEST_CASE("FakeQuantize counts the learned values that an update clamps") {
  StepChannels layer;
  forward(layer, {1, -7, 3, 14, 2, 5}, {2, 3});
  CHECK(layer.clamped() == 0);
  const float first = layer.learned()[0], second = layer.learned()[1];
  layer.update([&](std::span<float> v, std::span<const float>) {
    v[0] = -1;              // below half of what it was
    v[1] = second * 0.75f;  // a step like others
  });
  CHECK(layer.learned()[0] == first / 2);
  CHECK(layer.learned()[1] == second * 0.75f);
  CHECK(layer.clamped() == 1);
}

TEST_CASE("FakeQuantize: an update that fails changes nothing") {
  StepChannels layer;
  forward(layer, {1, -7, 3, 14, 2, 5}, {2, 3});
  const auto state = layer.state();
  for (const float bad : {nan_value, inf, -inf})
    test::raises(errc::not_finite, {"tq::FakeQuantize::update", "slot 1"}, [&] {
      layer.update([&](std::span<float> v, std::span<const float>) {
        v[0] = 5;
        v[1] = bad;
      });
    });
  CHECK(same_state(layer, state));
  CHECK_THROWS_AS(layer.update([](std::span<float> v, std::span<const float>) {
    v[0] = 5;
    throw std::runtime_error("optimiser");
  }),
                  std::runtime_error);
  CHECK(same_state(layer, state));
}

TEST_CASE("FakeQuantize: after reset_observer the parameters follow the next batch alone") {
  Plain layer;
  forward(layer, large);
  layer.reset_observer();
  CHECK(layer.ready());
  forward(layer, small);
  CHECK(layer.params() == tq::calibrate<Plain::params_type>(small));
  Channels channels;
  forward(channels, large, {2, 2});
  channels.reset_observer();
  forward(channels, large, {4, 1});  // another number of slots
  CHECK(channels.params().scales().size() == 4);
}

TEST_CASE("FakeQuantize: what comes before the first batch is a typed error") {
  StepChannels layer(tq::PerChannel<0>{}, {}, {}, tq::MinMax{}, "conv1");
  const Shape shape{2, 3};
  const std::vector<float> x(6, 1.0f), gy(6, 1.0f);
  std::vector<float> gx(6, 9.0f);
  test::raises(errc::no_data, {"tq::FakeQuantize::backward"},
               [&] { layer.backward(ConstTensorView(x.data(), shape), gy, gx); });
  CHECK(gx == std::vector<float>(6, 9.0f));
  test::raises(errc::no_data, {"tq::FakeQuantize::params", "conv1"}, [&] { (void)layer.params(); });
  test::raises(errc::no_data, {}, [&] { (void)tq::convert(layer); });
  layer.observe(false);
  test::raises(errc::no_data, {"tq::FakeQuantize::forward"}, [&] { forward(layer, x, shape); });
  CHECK(layer.batches() == 0);
}

TEST_CASE("FakeQuantize: a slot that saw no number is named, and nothing is written") {
  StepChannels layer(tq::PerChannel<0>{}, {}, {}, tq::MinMax{}, "conv1");
  const Shape shape{3, 2};
  const std::vector<float> x{1, 2, nan_value, inf, 3, 4};
  std::vector<float> y(6, 9.0f);
  test::raises(errc::no_data, {"conv1", "slot 1 of 3"},
               [&] { layer.forward(ConstTensorView(x.data(), shape), y); });
  CHECK(y == std::vector<float>(6, 9.0f));
  CHECK_FALSE(layer.ready());
  CHECK(layer.batches() == 0);
  layer.forward(ConstTensorView(std::vector<float>{1, 2, 5, inf, 3, 4}.data(), shape), y);
  CHECK(layer.ready());
  CHECK(y[2] == 5.0f);
}

TEST_CASE("FakeQuantize: shapes may change where the slots stay, and only there") {
  const auto refuses = [](auto layer) {
    std::vector<float> x(12), gy(12, 1.0f);
    for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i) - 5;
    forward(layer, x, {3, 4});
    forward(layer, x, {3, 2, 2});
    forward(layer, {1, 2, 3}, {3, 1});
    const auto state = layer.state();
    std::vector<float> y(12, 9.0f), gx(12, 9.0f);
    for (const Shape& shape : {Shape{4, 3}, Shape{12}, Shape{2, 6}, Shape{1, 12}}) {
      const ConstTensorView view(x.data(), shape);
      test::raises(errc::shape_mismatch, {}, [&] { layer.forward(view, y); });
      test::raises(errc::shape_mismatch, {"tq::FakeQuantize::forward"},
                   [&] { std::as_const(layer).forward(view, y); });
      test::raises(errc::shape_mismatch, {"tq::FakeQuantize::backward"},
                   [&] { layer.backward(view, gy, gx); });
    }
    const ConstTensorView scalar(x.data(), Shape{});
    test::raises(errc::bad_axis, {},
                 [&] { layer.forward(scalar, TensorView<float>(y.data(), Shape{})); });
    CHECK(y == std::vector<float>(12, 9.0f));
    CHECK(gx == std::vector<float>(12, 9.0f));
    CHECK(same_state(layer, state));
    CHECK_NOTHROW(forward(layer, x, {3, 4}));
  };
  refuses(Channels{});
  refuses(StepChannels{});
}

TEST_CASE("FakeQuantize: outputs and gradients of another shape are refused") {
  Plain layer;
  forward(layer, small);
  const auto state = layer.state();
  const ConstTensorView x(small.data(), Shape{2, 2});
  std::vector<float> good(4, 9.0f), bad(3, 9.0f);
  const std::vector<float> gy(4, 1.0f), short_gy(5, 1.0f);
  test::raises(errc::shape_mismatch, {"tq::FakeQuantize::forward"}, [&] { layer.forward(x, bad); });
  test::raises(errc::shape_mismatch, {},
               [&] { layer.forward(x, TensorView<float>(good.data(), Shape{4, 1})); });
  test::raises(errc::shape_mismatch, {}, [&] { std::as_const(layer).forward(x, bad); });
  test::raises(errc::shape_mismatch, {"tq::FakeQuantize::backward"},
               [&] { layer.backward(x, gy, bad); });
  test::raises(errc::shape_mismatch, {"tq::FakeQuantize::backward"},
               [&] { layer.backward(x, short_gy, good); });
  test::raises(errc::shape_mismatch, {},
               [&] { layer.backward(x, ConstTensorView(gy.data(), Shape{1, 4}), good); });
  CHECK(good == std::vector<float>(4, 9.0f));
  CHECK(bad == std::vector<float>(3, 9.0f));
  CHECK(same_state(layer, state));
}

TEST_CASE("FakeQuantize: a backward that is refused leaves the gradients of the one before") {
  StepChannels layer;
  const std::vector<float> x{1, -7, 3, 14, 2, 5}, gy{1, 2, 3, 4, 5, 6};
  forward(layer, x, {2, 3});
  backward(layer, x, gy, {2, 3});
  const std::vector<float> before(layer.gradients().begin(), layer.gradients().end());
  CHECK(before[1] != 0.0f);
  test::raises(errc::shape_mismatch, {}, [&] { backward(layer, x, gy, {3, 2}); });
  CHECK(std::vector<float>(layer.gradients().begin(), layer.gradients().end()) == before);
}

TEST_CASE("FakeQuantize: empty batches are legal at any time") {
  StepChannels layer;
  std::vector<float> none;
  const std::vector<float> x{1, -7, 3, 14, 2, 5};
  CHECK_NOTHROW(layer.forward(ConstTensorView(none.data(), Shape{0, 3}), none));
  CHECK_NOTHROW(std::as_const(layer).forward(ConstTensorView(none.data(), Shape{2, 0}), none));
  CHECK(layer.backward(ConstTensorView(none.data(), Shape{2, 0}), none, none).empty());
  CHECK_FALSE(layer.ready());
  CHECK(layer.observer().batches() == 0);
  forward(layer, x, {2, 3});
  const auto params = layer.params();
  backward(layer, x, x, {2, 3});
  CHECK_NOTHROW(layer.forward(ConstTensorView(none.data(), Shape{2, 0}), none));
  const std::span<const float> g =
      layer.backward(ConstTensorView(none.data(), Shape{2, 0}), none, none);
  CHECK(std::vector<float>(g.begin(), g.end()) == std::vector<float>{0, 0});
  CHECK(layer.params() == params);
  const TensorView<float> scalar(none.data(), Shape{});
  test::raises(errc::bad_axis, {}, [&] { layer.forward(scalar, scalar); });
}

TEST_CASE(
    "FakeQuantize: NaN of the output's gradient goes on, to its own slot only; NaN of the input "
    "takes no part") {
  StepChannels layer;
  const Shape shape{3, 4};
  std::vector<float> x{1, -7, 3, 0.4f, 14, 2, 5, 0.7f, 21, 3, 9, 1.3f},
      gy{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
  forward(layer, x, shape);
  backward(layer, x, gy, shape);
  const std::vector<float> clean(layer.gradients().begin(), layer.gradients().end());
  gy[6] = nan_value;
  const std::vector<float> gx = backward(layer, x, gy, shape);
  CHECK(std::isnan(gx[6]));
  CHECK(layer.gradients()[0] == clean[0]);
  CHECK(std::isnan(layer.gradients()[1]));
  CHECK(layer.gradients()[2] == clean[2]);
  const auto state = layer.state();
  test::raises(errc::not_finite, {}, [&] { layer.update(descend); });
  CHECK(same_state(layer, state));
  gy[6] = 3;
  x[6] = nan_value;
  CHECK(backward(layer, x, gy, shape)[6] == 0.0f);
  CHECK(std::isfinite(layer.gradients()[1]));
  CHECK(layer.gradients()[1] != clean[1]);
  CHECK_NOTHROW(layer.update(descend));
}

TEST_CASE("FakeQuantize: forward and backward in place") {
  Step<tq::PerGroup<8>> layer;
  const Shape shape{5, 24};
  const std::vector<float> x = inputs::normals(120, 3), gy = inputs::normals(120, 4);
  const std::vector<float> y = forward(layer, x, shape);
  const std::vector<float> gx = backward(layer, x, gy, shape);
  const std::vector<float> gradients(layer.gradients().begin(), layer.gradients().end());
  std::vector<float> both = gy;
  (void)layer.backward(ConstTensorView(x.data(), shape), both, both);
  CHECK(both == gx);
  CHECK(same_bits(layer.gradients(), gradients));
  both = x;
  layer.forward(ConstTensorView(both.data(), shape), both);
  CHECK(both == y);
}

TEST_CASE("FakeQuantize: training goes on from a stored state as if it had not stopped") {
  const auto check = [](auto layer) {
    using Layer = decltype(layer);
    const Shape shape{4, 50};
    const auto train = [&](Layer& l, std::uint64_t seed) {
      std::vector<float> all;
      for (std::uint64_t i = 0; i < 5; ++i) {
        const std::vector<float> x = inputs::normals(200, seed + i),
                                 gy = inputs::normals(200, seed + 100 + i);
        for (const float v : forward(l, x, shape)) all.push_back(v);
        for (const float v : backward(l, x, gy, shape)) all.push_back(v);
        if constexpr (Layer::learns) l.update(descend);
      }
      return all;
    };
    layer.delay(2);
    train(layer, 1);
    Layer other;
    other.restore(layer.state());
    CHECK(same_state(other, layer.state()));
    CHECK(other.batches() == 5);
    CHECK(same_bits(train(other, 50), train(layer, 50)));
    CHECK(same_state(other, layer.state()));
    layer.freeze();
    layer.quantize(false);
    other.restore(layer.state());
    CHECK_FALSE(other.observes());
    CHECK_FALSE(other.quantizes());
    CHECK_FALSE(other.is_learning());
    Layer fresh;
    other.restore(fresh.state());
    CHECK_FALSE(other.ready());
    CHECK(other.learned().empty());
  };
  check(Channels{});
  check(StepChannels{});
  using Bytes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  check(tq::FakeQuantize<Bytes, tq::MinMax, tq::LearnedAffine<tq::LogScale>>{});
}

TEST_CASE("FakeQuantize: a state that does not agree with itself is refused") {
  StepChannels layer;
  forward(layer, {1, -7, 3, 14, 2, 5}, {2, 3});
  const auto good = layer.state();
  const auto refused = [&](auto&& change) {
    auto s = good;
    change(s);
    s.batches = 77;
    test::raises(errc::malformed, {"tq::FakeQuantize::restore"}, [&] { layer.restore(s); });
    CHECK(same_state(layer, good));
  };
  refused([](auto& s) { s.learned.clear(); });
  refused([](auto& s) { s.learned.push_back(1); });
  refused([](auto& s) { s.params.reset(); });
  refused([](auto& s) { s.learned[1] = nan_value; });
  refused([](auto& s) { s.learned[0] = inf; });
  using Dynamic = Step<tq::PerChannel<>>;
  Dynamic rows(tq::PerChannel<>(0));
  Dynamic columns(tq::PerChannel<>(1));
  forward(rows, {1, 2, 3, 4}, {2, 2});
  forward(columns, {1, 2, 3, 4}, {2, 2});
  auto mixed = rows.state();
  mixed.observer = columns.state().observer;
  test::raises(errc::malformed, {}, [&] { rows.restore(mixed); });
  CHECK(rows.granularity() == tq::PerChannel<>(0));
}

TEST_CASE("FakeQuantize: LearnedStep brings the error of a Gaussian near the least") {
  constexpr std::size_t n = 4096;
  const std::vector<float> x = inputs::normals(n, 12);
  const distributions::Sorted sorted(x);
  double least = 1e9, best = 0;
  for (double s = 0.05; s < 1; s += 0.0005) {
    const double e = sorted.mse({static_cast<float>(s), 0}, -8, 7);
    if (e < least) {
      least = e;
      best = s;
    }
  }
  Step<tq::PerTensor> layer;
  std::vector<float> y = forward(layer, x), gy(n), gx(n);
  const double initial = sorted.mse({layer.params().scales()[0], 0}, -8, 7);
  for (int step = 0; step < 300; ++step) {
    layer.forward(x, y);
    for (std::size_t i = 0; i < n; ++i) gy[i] = y[i] - x[i];
    (void)layer.backward(x, gy, gx);
    layer.update(descend);
  }
  const double trained = sorted.mse({layer.params().scales()[0], 0}, -8, 7);
  INFO("error " << initial << " at first, " << trained << " at scale " << layer.params().scales()[0]
                << ", least " << least << " at scale " << best);
  CHECK(trained < 0.8 * initial);
  CHECK(trained < 1.05 * least);
}
