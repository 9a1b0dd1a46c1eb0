// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::PackedWeights;
using tq::PanelLayout;
using tq::Shape;
using tq::TensorView;

namespace {
constexpr PanelLayout layouts[] = {PanelLayout::pairs_of_16, PanelLayout::fours_of_16,
                                   PanelLayout::fours_of_64, PanelLayout::narrow_fours_of_16,
                                   PanelLayout::eights_of_16};

std::vector<std::int8_t> some_weights(std::size_t n) {
  std::vector<std::int8_t> w(n);
  for (std::size_t i = 0; i < n; ++i) w[i] = static_cast<std::int8_t>(i % 64 + 1);
  return w;
}
}  // namespace

TEST_CASE("panels have the inputs of their outputs beside each other, and zeros at their ends") {
  const std::size_t outputs = 66, inputs = 5;
  const auto w = some_weights(outputs * inputs);
  struct Wanted {
    PanelLayout layout;
    std::size_t columns, depth, steps, panels;
  };
  for (const Wanted p : {Wanted{PanelLayout::pairs_of_16, 16, 2, 3, 5},
                         Wanted{PanelLayout::fours_of_16, 16, 4, 2, 5},
                         Wanted{PanelLayout::fours_of_64, 64, 4, 2, 2},
                         Wanted{PanelLayout::narrow_fours_of_16, 16, 4, 2, 5},
                         Wanted{PanelLayout::eights_of_16, 16, 8, 1, 5}}) {
    const PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}), {},
                               p.layout);
    REQUIRE(packed.layout() == p.layout);
    REQUIRE(packed.outputs() == outputs);
    REQUIRE(packed.inputs() == inputs);
    REQUIRE(packed.steps() == p.steps);
    REQUIRE(packed.panels() == p.panels);
    REQUIRE(packed.codes().size() == p.panels * p.steps * p.columns * p.depth);
    CHECK_FALSE(packed.has_zero_points());
    bool equal = true;
    for (std::size_t n = 0; n < p.panels * p.columns; ++n) {
      int sum = 0;
      for (std::size_t k = 0; k < p.steps * p.depth; ++k) {
        const int wanted = n < outputs && k < inputs ? w[n * inputs + k] : 0;
        sum += wanted;
        const std::int8_t* panel = packed.panel(n / p.columns);
        equal = equal &&
                panel[(k / p.depth * p.columns + n % p.columns) * p.depth + k % p.depth] == wanted;
      }
      equal = equal && packed.column_sums(n / p.columns)[n % p.columns] == sum;
    }
    CHECK(equal);
  }
}

TEST_CASE("weights are the same in every layout that they are packed in anew") {
  const std::size_t outputs = 70, inputs = 7;
  const auto w = some_weights(outputs * inputs);
  std::vector<std::int32_t> zero_points(outputs);
  for (std::size_t n = 0; n < outputs; ++n) zero_points[n] = static_cast<std::int32_t>(n) - 30;
  const TensorView<const std::int8_t> view(w.data(), Shape{outputs, inputs});
  for (const PanelLayout from : layouts)
    for (const PanelLayout to : layouts) {
      const PackedWeights direct(view, zero_points, to);
      const PackedWeights packed = PackedWeights(view, zero_points, from).repacked(to);
      CHECK(packed.layout() == to);
      CHECK(std::ranges::equal(packed.codes(), direct.codes()));
      bool equal = true;
      for (std::size_t n = 0; n < outputs; ++n) {
        equal =
            equal && packed.zero_point(n) == zero_points[n] && packed.reach(n) == direct.reach(n);
        for (std::size_t k = 0; k < inputs; ++k)
          equal = equal && packed.weight(n, k) == w[n * inputs + k];
      }
      CHECK(equal);
    }
}

TEST_CASE("weights whose sums may leave 32 bits lie in pairs, which are summed in 64") {
  const std::size_t inputs = 66'000;
  const std::vector<std::int8_t> w(inputs, -128);
  const TensorView<const std::int8_t> view(w.data(), Shape{1, inputs});
  const PackedWeights packed(view, {}, PanelLayout::fours_of_64);
  CHECK(packed.layout() == PanelLayout::pairs_of_16);
  CHECK(packed.repacked(PanelLayout::fours_of_16).layout() == PanelLayout::pairs_of_16);
  // As long, but near their zero point.
  CHECK(PackedWeights(view, std::array{-127}, PanelLayout::fours_of_64).layout() ==
        PanelLayout::fours_of_64);
}

TEST_CASE("weights of which two are not narrow lie in pairs, where narrow ones are asked for") {
  const auto layout = [](std::size_t outputs, std::vector<std::int8_t> w) {
    const TensorView<const std::int8_t> view(w.data(), Shape{outputs, w.size() / outputs});
    return PackedWeights(view, {}, PanelLayout::narrow_fours_of_16).layout();
  };
  constexpr PanelLayout narrow = PanelLayout::narrow_fours_of_16, pairs = PanelLayout::pairs_of_16;
  CHECK(layout(1, {64, 64, 127, 1, -64, -64, -128, 127}) == narrow);
  CHECK(layout(1, {0, 0, 0, 0, 0, 0, 64, 65}) == pairs);
  CHECK(layout(1, {0, 0, 0, 0, -128, -1, 0}) == pairs);
  CHECK(layout(1, {0, -128, -128, 0}) == narrow);      // of two lanes
  CHECK(layout(2, {0, 0, 127, 127, 0, 0}) == narrow);  // of two outputs
  CHECK(layout(2, {0, 0, 127, 127, 127, 0}) == pairs);
  CHECK(layout(2, {0, 0, 0, 0, 0, 0, 0, 0, -127, -2}) == narrow);
  // Weights of uint8 are narrow as they are kept.
  const std::vector<std::uint8_t> w{192, 192, 193, 192};
  const auto kept = [&](std::size_t from) {
    return PackedWeights(TensorView<const std::uint8_t>(w.data() + from, Shape{1, 2}), {},
                         PanelLayout::narrow_fours_of_16)
        .layout();
  };
  CHECK(kept(0) == PanelLayout::narrow_fours_of_16);
  CHECK(kept(2) == PanelLayout::pairs_of_16);
}

TEST_CASE("unsigned weights and their zero points are kept 128 lower") {
  const std::vector<std::uint8_t> w{0, 128, 255, 7};
  const TensorView<const std::uint8_t> view(w.data(), Shape{2, 2});
  const PackedWeights packed(view, std::array{128, 0}, PanelLayout::pairs_of_16);
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
      const int code = packed.weight(n, k);
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
  CHECK(empty.steps() == 0);
}

TEST_CASE("quantized weights without inputs keep their outputs, and multiply to zeros") {
  const auto sums = []<class Granularity>(const Shape& shape, Granularity granularity) {
    using Params = tq::QuantParams<tq::uint8, Granularity, tq::Asymmetric>;
    const PackedWeights packed(
        tq::quantize_dynamic<Params>(TensorView<const float>(nullptr, shape), granularity));
    CHECK(packed.outputs() == shape[0]);
    CHECK(packed.inputs() == shape[1]);
    CHECK(packed.reach() == 0);
    std::vector<std::int32_t> y(2 * shape[0], 7);
    const std::vector<std::int8_t> x(2 * shape[1], 1);
    tq::matmul_integer(TensorView<const std::int8_t>(x.data(), Shape{2, shape[1]}),
                       std::array{5, -3}, packed,
                       TensorView<std::int32_t>(y.data(), Shape{2, shape[0]}));
    return y;
  };
  CHECK(sums(Shape{3, 0}, tq::PerChannel<0>{}) == std::vector<std::int32_t>(6));
  CHECK(sums(Shape{3, 0}, tq::PerTensor{}) == std::vector<std::int32_t>(6));
  CHECK(sums(Shape{3, 0}, tq::PerToken{}) == std::vector<std::int32_t>(6));
  CHECK(sums(Shape{0, 4}, tq::PerChannel<0>{}).empty());
  CHECK(sums(Shape{0, 0}, tq::PerTensor{}).empty());
}

TEST_CASE("packed weights hold whole panels, and numbers of outputs") {
  const std::vector<std::int8_t> w(17 * 3, 1);
  const TensorView<const std::int8_t> weights(w.data(), Shape{17, 3});
  // Two panels of 16 outputs by 4 inputs, 32 sums, and 17 reaches.
  const PackedWeights plain(weights, {}, tq::PanelLayout::pairs_of_16);
  CHECK(plain.bytes() == 2 * 16 * 4 + 32 * 4 + 17 * 8);
  const PackedWeights zeros(weights, std::vector<std::int32_t>{5}, tq::PanelLayout::pairs_of_16);
  CHECK(zeros.bytes() == plain.bytes() + 32 * 4);
  CHECK(zeros.repacked(tq::PanelLayout::fours_of_64).bytes() == 64 * 4 + 2 * 64 * 4 + 17 * 8);
}
