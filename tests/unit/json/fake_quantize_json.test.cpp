// SPDX-License-Identifier: MIT
#include <tq/calibrate/percentile.hpp>
#include <tq/json/fake_quantize_json.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/percentile.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

using tq::errc;
using namespace tq;
using namespace tq::io;

namespace {

using Weights = FakeQuantize<QuantParams<int4, PerChannel<0>, Symmetric>, MeanAbs, LearnedStep<>,
                             LearnedStepCalibrator>;
using Inputs = FakeQuantize<QuantParams<uint8, PerTensor, Asymmetric>, Percentile,
                            LearnedAffine<LogScale>, PercentileCalibrator>;
using Floats = FakeQuantize<QuantParams<float8_e4m3fn, PerGroup<4>, Symmetric>>;

const Shape shape{3, 8};

std::vector<float> numbers(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(shape.size());
  for (float& v : x) v = static_cast<float>(random() % 2001) / 300 - 3;
  return x;
}

// A step of training, and what came of it.
template <class Layer>
std::vector<float> step(Layer& layer, unsigned seed) {
  const std::vector<float> x = numbers(seed), gy = numbers(seed + 100);
  std::vector<float> y(x.size()), gx(x.size());
  const ConstTensorView view(x.data(), shape);
  layer.forward(view, y);
  (void)layer.backward(view, gy, gx);
  if constexpr (Layer::learns)
    layer.update([](std::span<float> values, std::span<const float> gradients) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.01f * gradients[i];
    });
  y.insert(y.end(), gx.begin(), gx.end());
  return y;
}

template <class Layer>
Layer restored(const Layer& layer) {
  Layer out;
  fake_quantize_from_json(parse_json(fake_quantize_to_json(layer).dump()), out);
  return out;
}

template <class Layer>
void continues() {
  Layer whole, stored = restored(whole);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    CHECK(step(whole, seed) == step(stored, seed));
    stored = restored(stored);
    CHECK(fake_quantize_to_json(stored) == fake_quantize_to_json(whole));
    CHECK(stored.params() == whole.params());
    CHECK(std::vector<float>(stored.learned().begin(), stored.learned().end()) ==
          std::vector<float>(whole.learned().begin(), whole.learned().end()));
  }
}

}  // namespace

TEST_CASE("fake_quantize_json: training goes on where it stopped", "[json][train]") {
  continues<Weights>();
  continues<Inputs>();
  continues<Floats>();
}

TEST_CASE("fake_quantize_json: the switches are stored", "[json][train]") {
  Floats layer;
  layer.delay(7);
  layer.quantize(false);
  layer.freeze();
  const Floats same = restored(layer);
  CHECK(same.delay() == 7);
  CHECK_FALSE(same.quantizes());
  CHECK_FALSE(same.observes());
  CHECK_FALSE(same.ready());
}

TEST_CASE("fake_quantize_json: another layer's document is refused, and nothing changes",
          "[json][train]") {
  Weights layer;
  (void)step(layer, 1);
  const Json good = fake_quantize_to_json(layer);
  Weights target;
  (void)step(target, 2);
  const Json before = fake_quantize_to_json(target);
  const auto refuses = [&](errc code, std::initializer_list<const char*> words, auto&& change) {
    Json bad = good;
    change(bad);
    test::raises(code, words, [&] { fake_quantize_from_json(bad, target, "conv1"); });
    CHECK(fake_quantize_to_json(target) == before);
  };
  refuses(errc::bad_argument, {"conv1", "gradient", "learned_step", "dorefa"},
          [](Json& j) { j["gradient"] = "dorefa"; });
  refuses(errc::malformed, {"conv1", "observe", "true or false"},
          [](Json& j) { j["observe"] = 1; });
  refuses(errc::malformed, {"conv1", "delay"}, [](Json& j) { j["delay"] = -1; });
  refuses(errc::malformed, {"conv1", "learned"}, [](Json& j) { j.erase("learned"); });
  refuses(errc::malformed, {"conv1", "expected 3 learned", "got 2"},
          [](Json& j) { j["learned"].erase(0); });
  refuses(errc::malformed, {"conv1", "surplus"}, [](Json& j) { j["surplus"] = 0; });
  refuses(errc::bad_argument, {"type", "int4", "int8"},
          [](Json& j) { j["params"]["type"] = "int8"; });
  refuses(errc::bad_scale, {"positive"}, [](Json& j) { j["params"]["scales"][0] = -1; });
}
