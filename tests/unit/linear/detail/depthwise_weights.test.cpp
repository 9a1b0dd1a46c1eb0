// SPDX-License-Identifier: MIT
#include <tq/linear/detail/depthwise_weights.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

using tq::DepthwiseWeights;
using tq::PackedWeights;
using tq::Shape;
using tq::TensorView;

TEST_CASE("depthwise weights are less their zero points, pairs of taps beside each other") {
  const std::vector<std::uint8_t> codes{0, 255, 10, 20, 30, 40};  // [2, 3]
  const DepthwiseWeights w(
      PackedWeights(TensorView<const std::uint8_t>(codes.data(), Shape{2, 3}), std::array{255, 5}));
  CHECK(w.outputs() == 2);
  CHECK(w.taps() == 3);
  CHECK(w.pairs() == 2);
  CHECK(w.lanes() == 16);
  const int wanted[2][3] = {{-255, 0, -245}, {15, 25, 35}};
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t k = 0; k < 3; ++k) CHECK(w.weight(n, k) == wanted[n][k]);
  std::vector<std::int16_t> numbers(64);
  numbers[0] = -255, numbers[1] = 0, numbers[2] = 15, numbers[3] = 25;
  numbers[32] = -245, numbers[34] = 35;
  CHECK(std::vector<std::int16_t>(w.numbers(), w.numbers() + 64) == numbers);
  std::vector<std::int32_t> start(16);
  start[0] = 500 * 7, start[1] = -75 * 7;
  CHECK(w.start(7) == start);
  CHECK(w.reach(0) == 500);
  CHECK(w.reach(1) == 75);
  CHECK(w.bytes() == 64 * 2 + 2 * 8);
}
