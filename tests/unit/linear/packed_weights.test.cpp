// SPDX-License-Identifier: MIT
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/quantize.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::PackedWeights;
using tq::Shape;
using tq::TensorView;

TEST_CASE("panels have the pairs of 16 outputs beside each other, and zeros at their ends") {
  const std::size_t outputs = 18, inputs = 5;
  std::vector<std::int8_t> w(outputs * inputs);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int8_t>(i % 120 + 1);
  const PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}));
  REQUIRE(packed.outputs() == outputs);
  REQUIRE(packed.inputs() == inputs);
  REQUIRE(packed.pairs() == 3);
  REQUIRE(packed.panels() == 2);
  CHECK_FALSE(packed.has_zero_points());
  bool equal = true;
  for (std::size_t n = 0; n < 32; ++n)
    for (std::size_t k = 0; k < 6; ++k) {
      const int wanted = n < outputs && k < inputs ? w[n * inputs + k] : 0;
      equal = equal && packed.panel(n / 16)[(k / 2 * 16 + n % 16) * 2 + k % 2] == wanted;
    }
  CHECK(equal);
}

TEST_CASE("unsigned weights and their zero points are kept 128 lower") {
  const std::vector<std::uint8_t> w{0, 128, 255, 7};
  const TensorView<const std::uint8_t> view(w.data(), Shape{2, 2});
  const PackedWeights packed(view, std::array{128, 0});
  CHECK(packed.panel(0)[0] == -128);
  CHECK(packed.panel(0)[1] == 0);
  CHECK(packed.panel(0)[2] == 127);
  CHECK(packed.zero_point(0) == 0);
  CHECK(packed.zero_point(1) == -128);
  CHECK(packed.reach(0) == 128);
  CHECK(packed.reach(1) == 262);
  CHECK(packed.reach() == 262);
  CHECK_FALSE(PackedWeights(view, std::array{128}).has_zero_points());
  CHECK(PackedWeights(view).zero_point(1) == -128);
}

TEST_CASE("quantized weights are unpacked, with their zero points") {
  std::vector<float> w{-1, 0.5f, 2, 3, -4, 5};
  const TensorView<const float> view(w.data(), Shape{2, 3});
  using Params = tq::QuantParams<tq::uint4, tq::PerChannel<0>, tq::Asymmetric>;
  const auto params = tq::make_params<Params>({}, {0.5f, 1.0f}, {3, 8});
  const auto q = tq::quantize(view, params);
  const PackedWeights packed(q);
  CHECK(packed.inputs() == 3);
  for (std::size_t n = 0; n < 2; ++n) {
    const float scale = n == 0 ? 0.5f : 1.0f;
    for (std::size_t k = 0; k < 3; ++k) {
      const int code = packed.panel(0)[(k / 2 * 16 + n) * 2 + k % 2];
      CHECK(static_cast<float>(code - packed.zero_point(n)) * scale == w[n * 3 + k]);
    }
  }
}

TEST_CASE("weights whose parameters are not those of outputs are refused") {
  std::vector<float> w(6, 1.0f);
  const TensorView<const float> view(w.data(), Shape{2, 3});
  using Columns = tq::QuantParams<tq::int8, tq::PerChannel<1>, tq::Symmetric>;
  const auto q = tq::quantize(view, tq::make_params<Columns>({}, {1.0f, 1.0f, 1.0f}));
  test::raises(tq::errc::unsupported, {"one for each output", "3 parameters", "[2, 3]"},
               [&] { PackedWeights{q}; });
}

TEST_CASE("no weights are weights, too") {
  const PackedWeights none(TensorView<const std::int8_t>(nullptr, Shape{0, 4}));
  CHECK(none.panels() == 0);
  CHECK(none.reach() == 0);
  const PackedWeights empty(TensorView<const std::int8_t>(nullptr, Shape{3, 0}));
  CHECK(empty.panels() == 1);
  CHECK(empty.pairs() == 0);
}
