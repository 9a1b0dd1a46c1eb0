// SPDX-License-Identifier: MIT
#include <tq/linear/activation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using tq::Shape;
using tq::TensorView;

static_assert(tq::Activation<tq::DynamicActivation<>>);
static_assert(
    tq::Activation<tq::StaticActivation<tq::QuantParams<tq::uint8, tq::PerTensor, tq::Symmetric>>>);

struct Trained {
  using params_type = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  [[nodiscard]] params_type params() const { return params_type(0.5f, 100); }
  [[nodiscard]] auto numerics() const { return tq::numerics::torch{}; }
};

const auto listed = [](const auto& buffer) {
  return std::vector(buffer.span().begin(), buffer.span().end());
};

}  // namespace

TEST_CASE("DynamicActivation: every row has the scale of its largest magnitude") {
  const std::vector<float> x{1, -2, 0.5f, 0, 0, 0, 127, 63.5f, -1};
  const auto codes = tq::DynamicActivation<>{}.codes({x.data(), Shape{3, 3}});
  CHECK(listed(codes.scales) == std::vector<float>{2.0f / 127, 1.0f, 1.0f});
  CHECK(codes.zero_points.size() == 0);
  const std::vector<std::int8_t> wanted{64, -127, 32, 0, 0, 0, 127, 64, -1};
  CHECK(std::vector<std::int8_t>(codes.codes.data(), codes.codes.data() + 9) == wanted);
}

TEST_CASE("DynamicActivation: images of any strides are rows, and NaN is no value of the range") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{0, 1, nan, 255, 128, 3};  // two images, each element after the other
  const TensorView<const float> view(x.data(), Shape{2, 3, 1}, tq::Strides{1, 2, 1});
  const auto codes = tq::DynamicActivation<tq::uint8, tq::Asymmetric>{}.codes(view);
  CHECK(listed(codes.scales) == std::vector<float>{128.0f / 255, 1.0f});
  CHECK(listed(codes.zero_points) == std::vector<std::int32_t>{0, 0});
  const std::vector<std::uint8_t> wanted{0, 0, 255, 1, 255, 3};
  CHECK(std::vector<std::uint8_t>(codes.codes.data(), codes.codes.data() + 6) == wanted);
}

TEST_CASE("StaticActivation: one scale and zero point, of the trained layer with its numerics") {
  const tq::StaticActivation made{Trained{}};
  CHECK(made.scale() == 0.5f);
  CHECK(made.zero_point() == 100);
  const std::vector<float> x{0.75f, 0.25f, -60, 1000};
  const auto codes = made.codes({x.data(), Shape{2, 2}});
  CHECK(listed(codes.scales) == std::vector<float>{0.5f});
  CHECK(listed(codes.zero_points) == std::vector<std::int32_t>{100});
  const std::vector<std::uint8_t> wanted{102, 100, 0, 255};
  CHECK(std::vector<std::uint8_t>(codes.codes.data(), codes.codes.data() + 4) == wanted);
}

TEST_CASE("DynamicActivation: a row of many has the codes that it has alone") {
  constexpr std::size_t rows = 70, length = 33;
  const std::vector<float> x = inputs::normals(rows * length, 5);
  const auto all =
      tq::DynamicActivation<tq::int8, tq::Asymmetric>{}.codes({x.data(), Shape{rows, length}});
  for (std::size_t r = 0; r < rows; ++r) {
    const auto one = tq::DynamicActivation<tq::int8, tq::Asymmetric>{}.codes(
        {x.data() + r * length, Shape{1, length}});
    CHECK(one.scales.span()[0] == all.scales.span()[r]);
    CHECK(one.zero_points.span()[0] == all.zero_points.span()[r]);
    CHECK(std::equal(one.codes.data(), one.codes.data() + length, all.codes.data() + r * length));
  }
}
