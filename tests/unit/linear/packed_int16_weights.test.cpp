// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/linear/packed_int16_weights.hpp>
#include <tq/ops/quantize.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::PackedInt16Weights;
using tq::Shape;
using tq::TensorView;

TEST_CASE("int16 weights are their high and low bytes") {
  const std::size_t inputs = 32768;
  std::vector<std::int16_t> w(2 * inputs);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(i) - 32768);
  const PackedInt16Weights packed(TensorView<const std::int16_t>(w.data(), Shape{2, inputs}),
                                  std::array{-32768, 9});
  REQUIRE(packed.outputs() == 2);
  REQUIRE(packed.inputs() == inputs);
  CHECK(packed.high().layout() == tq::PanelLayout::pairs_of_16);
  CHECK(packed.low().layout() == tq::PanelLayout::pairs_of_16);
  bool equal = true;
  for (std::size_t n = 0; n < 2; ++n) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < inputs; ++k) {
      const int code = w[n * inputs + k];
      equal = equal && 256 * packed.high().weight(n, k) + packed.low().weight(n, k) + 128 == code;
      sum += code - (n == 0 ? -32768 : 9);
    }
    CHECK(packed.sum(n) == sum);
  }
  CHECK(equal);
  CHECK_FALSE(packed.high().has_zero_points());
  CHECK(packed.low().zero_point(0) == -32768 - 128);
  CHECK(packed.low().zero_point(1) == 9 - 128);
}

TEST_CASE("quantized int16 weights are packed with their zero points") {
  const std::vector<float> w{-1, 0.5f, 2, 3, -4, 500};
  const TensorView<const float> view(w.data(), Shape{2, 3});
  using Params = tq::QuantParams<tq::int16, tq::PerChannel<0>, tq::Asymmetric>;
  const PackedInt16Weights packed(
      tq::quantize(view, tq::make_params<Params>({}, {0.5f, 0.25f}, {-300, 8})));
  CHECK(packed.sum(0) == 3);  // 1.5 / 0.5
  CHECK(packed.sum(1) == 4 * (500 - 1));
  using Whole = tq::QuantParams<tq::int16, tq::PerTensor, tq::Symmetric>;
  const PackedInt16Weights whole(tq::quantize(view, tq::make_params<Whole>({}, {0.5f})));
  CHECK(whole.sum(1) == 2 * (500 - 1));
}

TEST_CASE("int16 codes are taken as any tensor of them") {
  const std::int16_t codes[2][3] = {{300, -2, 1}, {0, 7, 9}};
  std::vector<std::int16_t> own(&codes[0][0], &codes[0][0] + 6);
  const TensorView<std::int16_t> writable(own.data(), Shape{2, 3});
  for (const PackedInt16Weights& packed :
       {PackedInt16Weights(codes), PackedInt16Weights(writable)}) {
    CHECK(packed.outputs() == 2);
    CHECK(packed.sum(0) == 299);
    CHECK(packed.sum(1) == 16);
  }
}

TEST_CASE("int16 weights that no product takes are refused") {
  const std::vector<std::int16_t> w(6);
  test::raises(tq::errc::shape_mismatch, {"PackedInt16Weights", "[outputs, inputs]", "[6]"},
               [&] { PackedInt16Weights(TensorView<const std::int16_t>(w.data(), Shape{6})); });
  const TensorView<const std::int16_t> view(w.data(), Shape{2, 3});
  test::raises(tq::errc::shape_mismatch, {"PackedInt16Weights", "0, 1 or 2 zero points", "3"},
               [&] { PackedInt16Weights(view, std::array{0, 0, 0}); });
  test::raises(tq::errc::bad_zero_point, {"PackedInt16Weights", "-32768 to 32767", "-32769"},
               [&] { PackedInt16Weights(view, std::array{-32769}); });
  test::raises(tq::errc::bad_argument, {"weights without elements", "2147483648"}, [&] {
    PackedInt16Weights(TensorView<const std::int16_t>(w.data(), Shape{0, std::size_t{1} << 31}));
  });
  const std::vector<float> floats(6, 1.0f);
  using Columns = tq::QuantParams<tq::int16, tq::PerChannel<1>, tq::Symmetric>;
  const auto q = tq::quantize(TensorView<const float>(floats.data(), Shape{2, 3}),
                              tq::make_params<Columns>({}, {1.0f, 1.0f, 1.0f}));
  test::raises(tq::errc::unsupported, {"one for each output", "3 parameters", "[2, 3]"},
               [&] { PackedInt16Weights{q}; });
}
