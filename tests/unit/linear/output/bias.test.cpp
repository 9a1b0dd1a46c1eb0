// SPDX-License-Identifier: MIT
#include <tq/linear/output/bias.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::Bias;
using tq::quantize_bias;

TEST_CASE("a bias keeps the type that it is given") {
  CHECK(Bias().empty());
  CHECK(Bias(std::vector<float>{}).empty());
  const Bias real(std::array{1.5f, -2.0f});
  CHECK(real.size() == 2);
  CHECK(real.floats()[1] == -2.0f);
  CHECK(real.integers().empty());
  const Bias whole(std::vector<std::int32_t>{7, 8, 9});
  CHECK(whole.size() == 3);
  CHECK(whole.integers()[2] == 9);
  CHECK(whole.floats().empty());
  real.require_fit("here", 2);
  Bias().require_fit("here", 2);
  test::raises(tq::errc::shape_mismatch, {"here", "0 or 2 biases", "3"},
               [&] { whole.require_fit("here", 2); });
  test::raises(tq::errc::not_finite, {"inf for output 1"}, [&] {
    Bias(std::array{0.0f, std::numeric_limits<float>::infinity()}).require_fit("here", 2);
  });
}

TEST_CASE("biases become steps of the sums, to nearest even") {
  // A step of 0.25, then of 0.5 and 2.
  CHECK(quantize_bias(std::array{0.375f, 0.125f, -0.375f, 1.0f}, 0.5f, std::array{0.5f}) ==
        std::vector<std::int32_t>{2, 0, -2, 4});
  CHECK(quantize_bias(std::array{0.75f, 5.0f}, 0.5f, std::array{1.0f, 4.0f}) ==
        std::vector<std::int32_t>{2, 2});
  CHECK(quantize_bias({}, 0.5f, {}).empty());
  // The product of the scales is no float32, but a double.
  CHECK(quantize_bias(std::array{1e-40f}, 1e-20f, std::array{1e-25f}) ==
        std::vector<std::int32_t>{static_cast<std::int32_t>(
            std::nearbyint(static_cast<double>(1e-40f) /
                           (static_cast<double>(1e-20f) * static_cast<double>(1e-25f))))});
}

TEST_CASE("biases of 2^31 steps or more are refused, with their output") {
  const std::array edge{0.0f, 2147483520.0f, -2147483520.0f};
  CHECK(quantize_bias(edge, 1.0f, std::array{1.0f}) ==
        std::vector<std::int32_t>{0, 2147483520, -2147483520});
  for (const float bad : {2147483648.0f, -2147483648.0f, 1e38f})
    test::raises(tq::errc::bad_argument, {"2^31 steps", "for output 1", "0.5 * 2"},
                 [&] { (void)quantize_bias(std::array{0.0f, bad}, 0.5f, std::array{1.0f, 2.0f}); });
  // 5 over 3.9e-11
  test::raises(tq::errc::bad_argument, {"5 for output 0"},
               [&] { (void)quantize_bias(std::array{5.0f}, 3.9e-11f, std::array{1.0f}); });
  test::raises(tq::errc::not_finite, {"nan for output 0"},
               [&] { (void)quantize_bias(std::array{std::nanf("")}, 1.0f, std::array{1.0f}); });
  test::raises(tq::errc::shape_mismatch, {"one for each bias", "2", "3"}, [&] {
    (void)quantize_bias(std::array{1.0f, 2.0f}, 1.0f, std::array{1.0f, 1.0f, 1.0f});
  });
}
