// SPDX-License-Identifier: MIT
#include <tq/linear/detail/packed_filters.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

TEST_CASE("codes of filters are taken as any tensor of them") {
  const std::int8_t codes[2][2][1][3] = {{{{1, -2, 3}}, {{4, 5, -6}}}, {{{7, 0, 8}}, {{-9, 2, 1}}}};
  std::vector<std::int8_t> own{1, -2, 3, 4, 5, -6, 7, 0, 8, -9, 2, 1};
  const TensorView<std::int8_t> writable(own.data(), Shape{2, 2, 1, 3});
  for (const PackedFilters& filters : {PackedFilters(codes), PackedFilters(writable)})
    for (std::size_t n = 0; n < 2; ++n)
      for (std::size_t k = 0; k < 6; ++k) CHECK(filters.group(0).weight(n, k) == own[6 * n + k]);
}

TEST_CASE("filters whose channels come last are read by their strides") {
  const std::vector<std::int8_t> last{1, 2, 3, 4, 5, 6, 7, 8};  // [1, 2, 2, channels 2]
  const PackedFilters filters(
      TensorView<const std::int8_t>(last.data(), Shape{1, 2, 2, 2}, tq::Strides{8, 1, 4, 2}));
  const int wanted[] = {1, 3, 5, 7, 2, 4, 6, 8};
  for (std::size_t k = 0; k < 8; ++k) CHECK(filters.group(0).weight(0, k) == wanted[k]);
}

TEST_CASE("filters of one channel are packed for all of them at once, unless a channel has many") {
  std::vector<std::uint8_t> w(6 * 2 * 3);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::uint8_t>(7 * i);
  const TensorView<const std::uint8_t> weights(w.data(), Shape{6, 1, 2, 3});
  const std::array zero_points{0, 1, 2, 3, 4, 255};
  const PackedFilters filters(weights, 3, zero_points);
  REQUIRE(filters.is_depthwise());
  CHECK(filters.groups() == 3);
  CHECK(filters.outputs() == 6);
  CHECK(filters.outputs_of_group() == 2);
  CHECK(filters.channels_of_group() == 1);
  std::int64_t most = 0;
  for (std::size_t n = 0; n < 6; ++n) {
    std::int64_t reach = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      const int wanted = w[6 * n + k] - zero_points[n];
      CHECK(filters.depthwise().weight(n, k) == wanted);
      reach += std::abs(wanted);
    }
    CHECK(filters.reach(n) == reach);
    most = std::max(most, reach);
  }
  CHECK(filters.reach() == most);
  const std::vector<std::int8_t> wide(32, 1);
  const auto depthwise = [&](const Shape& shape, std::size_t groups) {
    return PackedFilters(TensorView<const std::int8_t>(wide.data(), shape), groups).is_depthwise();
  };
  CHECK(depthwise({15, 1, 1, 1}, 1));
  CHECK(depthwise({30, 1, 1, 1}, 2));
  CHECK_FALSE(depthwise({32, 1, 1, 1}, 2));
  CHECK_FALSE(depthwise({4, 2, 2, 2}, 4));
  CHECK_FALSE(depthwise({0, 1, 2, 2}, 1));
}

TEST_CASE("filters know how far the sums of every output reach") {
  const std::vector<std::int8_t> w{1, -2, 3, 4, -128, 127, 0, 0, 5, 5, 5, 5};  // [6, 2, 1, 1]
  const PackedFilters filters(TensorView<const std::int8_t>(w.data(), Shape{6, 2, 1, 1}), 3);
  const std::int64_t wanted[] = {3, 7, 255, 0, 10, 10};
  for (std::size_t n = 0; n < 6; ++n) CHECK(filters.reach(n) == wanted[n]);
  CHECK(filters.reach() == 255);
}

TEST_CASE("filters hold what their groups hold") {
  const std::vector<std::int8_t> w(16, 1);
  const auto packed = [&](const Shape& shape, std::size_t groups) {
    return PackedFilters(TensorView<const std::int8_t>(w.data(), shape), groups);
  };
  const PackedFilters two = packed({4, 2, 1, 2}, 2);
  CHECK(two.bytes() == two.group(0).bytes() + two.group(1).bytes());
  const PackedFilters depthwise = packed({4, 1, 2, 2}, 4);
  CHECK(depthwise.bytes() == depthwise.depthwise().bytes());
}

TEST_CASE("filters that are none are refused") {
  const std::vector<std::int8_t> w(12);
  const auto pack = [&](Shape shape, std::size_t groups, std::vector<std::int32_t> zero_points) {
    PackedFilters(TensorView<const std::int8_t>(w.data(), shape), groups, zero_points);
  };
  test::raises(tq::errc::shape_mismatch, {"[3, 4]"}, [&] { pack({3, 4}, 1, {}); });
  test::raises(tq::errc::shape_mismatch, {"2 groups divide", "[3, 1, 2, 2]"},
               [&] { pack({3, 1, 2, 2}, 2, {}); });
  test::raises(tq::errc::shape_mismatch, {"0 groups divide"}, [&] { pack({3, 1, 2, 2}, 0, {}); });
  test::raises(tq::errc::shape_mismatch, {"0, 1 or 3 zero points", "2"},
               [&] { pack({3, 1, 2, 2}, 3, {0, 0}); });
}
