// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/train/dorefa.hpp>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class Type, class Gran, class Symmetry = tq::Symmetric>
using Layer = tq::FakeQuantize<tq::QuantParams<Type, Gran, Symmetry>, tq::MinMax, tq::DoReFa>;

// t = tanh(x) / tanh(m), m the largest magnitude of the slot, taken for a constant. y = t and what
// rounding adds to it.
template <class L>
void check_weights(const tq::Shape& shape, std::uint64_t seed, double levels) {
  L layer;
  const std::size_t n = shape.size();
  const std::vector<std::size_t> slots = slots_of(layer.granularity(), shape);
  inputs::Random r(seed);
  std::vector<float> x(n), gy(n), gx(n), y(n);
  std::vector<double> most(tq::param_count(layer.granularity(), shape));
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(r.normal() * (0.2 + static_cast<double>(slots[i] % 5)));
    gy[i] = static_cast<float>(r.normal());
    most[slots[i]] = std::max(most[slots[i]], std::fabs(static_cast<double>(x[i])));
  }
  const tq::ConstTensorView view(x.data(), shape);
  layer.forward(view, y);
  CHECK(layer.backward(view, gy, gx).empty());
  const std::vector<float> t = layer.transformed(view);
  for (std::size_t i = 0; i < n; ++i) {
    INFO("x " << x[i] << ", slot " << slots[i]);
    const double m = std::tanh(most[slots[i]]), h = 1e-6;
    const auto xi = static_cast<double>(x[i]), code = std::nearbyint(std::tanh(xi) / m * levels);
    const double slope = (std::tanh(xi + h) - std::tanh(xi - h)) / (2 * h) / m;
    CHECK(std::fabs(static_cast<double>(t[i]) - std::tanh(xi) / m) < 1e-6);
    if (std::fabs(std::tanh(xi) / m * levels - code) < 0.499)
      CHECK(std::fabs(static_cast<double>(y[i]) - code / levels) < 1e-5);
    CHECK(std::fabs(static_cast<double>(gx[i]) - static_cast<double>(gy[i]) * slope) <=
          1e-3 * std::fabs(static_cast<double>(gy[i]) * slope) + 1e-6);
  }
}

// The four values of the paper for two bits.
struct quarter {
  static constexpr std::string_view name = "dorefa2";
  static constexpr std::array<float, 4> values{-1.0f, -1.0f / 3, 1.0f / 3, 1.0f};
};

}  // namespace

TEST_CASE("DoReFa: the gradient of weights agrees with differences of the smooth function") {
  check_weights<Layer<tq::int4, tq::PerTensor>>({6, 64}, 1, 7);
  check_weights<Layer<tq::int4, tq::PerChannel<0>, tq::SymmetricNarrow>>({6, 64}, 2, 7);
  check_weights<Layer<tq::int8, tq::PerChannel<1>>>({64, 6}, 3, 127);
  check_weights<Layer<tq::int8, tq::PerGroup<16>>>({6, 64}, 4, 127);
}

TEST_CASE("DoReFa: activations are clipped to [0, 1] and not transformed") {
  Layer<tq::uint4, tq::PerTensor> layer;
  const std::vector<float> x{-1.0f, -0.03f, -0.04f, 0.0f, 0.5f, 0.2f,
                             1.0f,  1.03f,  1.04f,  5.0f, inf,  nan_value};
  std::vector<float> y(x.size()), gx(x.size());
  const std::vector<float> gy(x.size(), 2.0f);
  layer.forward(x, y);
  CHECK(layer.params().scales()[0] == 1.0f / 15);
  CHECK(y[0] == 0.0f);
  CHECK(std::fabs(y[5] - 0.2f) < 1e-6f);
  CHECK(std::fabs(y[9] - 1.0f) < 1e-6f);
  layer.backward(x, gy, gx);
  // By the rounded value: half a step beyond the ends still has a code.
  CHECK(gx == std::vector<float>{0, 2, 0, 2, 2, 2, 2, 2, 0, 0, 0, 0});
}

TEST_CASE("DoReFa: what is quantized in place of activations is the activations") {
  Layer<tq::uint4, tq::PerTensor> layer;
  const std::vector<float> x{-1.0f, -0.03f, 0.0f, 0.5f, 0.2f, 1.0f, 5.0f};
  std::vector<float> y(x.size());
  layer.forward(x, y);
  CHECK(layer.transformed(x) == x);
}

TEST_CASE(
    "DoReFa: NaN and infinities in weights take no part, and the largest magnitude is that of the "
    "others") {
  Layer<tq::int4, tq::PerTensor> layer;
  const std::vector<float> x{0.5f, nan_value, -1.0f, inf, -inf}, gy{1, 1, 1, 1, 1};
  std::vector<float> y(5), gx(5);
  layer.forward(x, y);
  CHECK(y[1] == 0.0f);
  CHECK(std::fabs(y[2] + 1.0f) < 1e-6f);
  CHECK(y[3] == 1.0f);
  layer.backward(x, gy, gx);
  CHECK(gx[0] > 0.0f);
  CHECK(gx[1] == 0.0f);
  CHECK(gx[3] == 0.0f);
  CHECK(gx[4] == 0.0f);
}

TEST_CASE("DoReFa: the paper's grid without a zero is a code book") {
  Layer<tq::Codebook<quarter>, tq::PerTensor> layer;
  const std::vector<float> x{-2.0f, -0.5f, 0.1f, 2.0f, 1.5f};
  std::vector<float> y(5), gx(5);
  const std::vector<float> gy(5, 1.0f);
  layer.forward(x, y);
  CHECK(y == std::vector<float>{-1.0f, -1.0f / 3, 1.0f / 3, 1.0f, 1.0f});
  layer.backward(x, gy, gx);
  for (std::size_t i = 0; i < 5; ++i) {
    const double t = std::tanh(static_cast<double>(x[i]));
    CHECK(std::fabs(static_cast<double>(gx[i]) - (1 - t * t) / std::tanh(2.0)) < 1e-6);
  }
}

TEST_CASE("DoReFa: a slot of zeros stays zeros, and no gradient passes") {
  Layer<tq::int4, tq::PerChannel<0>> layer;
  const std::vector<float> x{0, 0, 0, 1, -2, 0.5f}, gy(6, 3.0f);
  std::vector<float> y(6, 9), gx(6, 9);
  const tq::Shape shape{2, 3};
  layer.forward(tq::ConstTensorView(x.data(), shape), y);
  layer.backward(tq::ConstTensorView(x.data(), shape), gy, gx);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(y[i] == 0.0f);
    CHECK(gx[i] == 0.0f);
    CHECK(gx[3 + i] > 0.0f);
  }
}
