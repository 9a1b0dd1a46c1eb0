// SPDX-License-Identifier: MIT
#include <tq/linear/packed_filters.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::PackedFilters;
using tq::Shape;
using tq::TensorView;

TEST_CASE(
    "each group has the weights of its outputs, by channels, rows and columns of the kernel") {
  const Shape shape{4, 2, 2, 3};
  std::vector<std::int8_t> w(shape.size());
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int8_t>(i);
  const PackedFilters filters(TensorView<const std::int8_t>(w.data(), shape), 2,
                              std::array{0, 1, 2, 3});
  REQUIRE(filters.groups() == 2);
  CHECK(filters.outputs() == 4);
  CHECK(filters.channels_of_group() == 2);
  CHECK(filters.kernel() == std::array<std::size_t, 2>{2, 3});
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t n = 0; n < 2; ++n) {
      CHECK(filters.group(g).zero_point(n) == static_cast<int>(2 * g + n));
      for (std::size_t k = 0; k < 12; ++k)
        CHECK(filters.group(g).weight(n, k) == w[(2 * g + n) * 12 + k]);
    }
}

TEST_CASE("filters whose channels come last are read by their strides") {
  const std::vector<std::int8_t> last{1, 2, 3, 4, 5, 6, 7, 8};  // [1, 2, 2, channels 2]
  const PackedFilters filters(
      TensorView<const std::int8_t>(last.data(), Shape{1, 2, 2, 2}, tq::Strides{8, 1, 4, 2}));
  const int wanted[] = {1, 3, 5, 7, 2, 4, 6, 8};
  for (std::size_t k = 0; k < 8; ++k) CHECK(filters.group(0).weight(0, k) == wanted[k]);
}

TEST_CASE("filters that are none are refused") {
  const std::vector<std::int8_t> w(12);
  const auto pack = [&](Shape shape, std::size_t groups, std::vector<std::int32_t> zero_points) {
    PackedFilters(TensorView<const std::int8_t>(w.data(), shape), groups, zero_points);
  };
  test::raises(tq::errc::shape_mismatch, {"[3, 4]"}, [&] { pack({3, 4}, 1, {}); });
  test::raises(tq::errc::shape_mismatch, {"2 groups divide", "[3, 1, 2, 2]"}, [&] {
    pack({3, 1, 2, 2}, 2, {});
  });
  test::raises(tq::errc::shape_mismatch, {"0 groups divide"}, [&] { pack({3, 1, 2, 2}, 0, {}); });
  test::raises(tq::errc::shape_mismatch, {"0, 1 or 3 zero points", "2"}, [&] {
    pack({3, 1, 2, 2}, 3, {0, 0});
  });
}
