// SPDX-License-Identifier: MIT
#include <tq/layouts/detail/scale_grid.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

using Extents = std::vector<std::size_t>;

void check(const Extents& shape, const Extents& block, const Extents& grid) {
  const tq::Shape s{std::span<const std::size_t>(shape)};
  const tq::ScaleGrid blocks{block};
  CHECK(blocks.extents(s) == grid);
  inputs::Random r(shape.size() + 1);
  std::size_t count = 1;
  for (const std::size_t e : grid) count *= e;
  const std::vector<float> scales = bits::scales(r, count), before = bits::scales(r, s.size());
  std::vector<float> x = before;
  tq::multiply_by_blocks(x, s, blocks, scales);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, at = 0, stride = 1;  // from the last axis on
    for (std::size_t a = shape.size(); a-- > 0;) {
      at += rest % shape[a] / block[a] * stride;
      stride *= grid[a];
      rest /= shape[a];
    }
    REQUIRE(x[i] == static_cast<float>(double{before[i]} * double{scales[at]}));
  }
}

}  // namespace

TEST_CASE("values are multiplied by the scale of their block", "[scale_grid]") {
  check({}, {}, {});
  check({7}, {3}, {3});
  check({5, 7}, {5, 7}, {1, 1});
  check({5, 7}, {1, 7}, {5, 1});
  check({5, 7}, {2, 3}, {3, 3});
  check({3, 5, 7}, {1, 2, 4}, {3, 3, 2});
  check({0, 4}, {1, 4}, {0, 1});
}

TEST_CASE("grids that do not fit, and scales that cannot be meant, are refused", "[scale_grid]") {
  std::vector<float> x(6, 2.0f);
  const tq::ScaleGrid grid{{1, 3}};
  const auto multiply = [&](const tq::ScaleGrid& g, std::vector<float> scales) {
    tq::multiply_by_blocks(x, {2, 3}, g, scales);
  };
  test::raises(tq::errc::shape_mismatch, {"tq::multiply_by_blocks: expected 2 scales, got 3"},
               [&] { multiply(grid, {1, 1, 1}); });
  test::raises(tq::errc::shape_mismatch, {"expected 2 block extents, got 1"},
               [&] { multiply({{3}}, {1}); });
  test::raises(tq::errc::bad_group_size, {"at least 1"}, [&] { multiply({{0, 3}}, {1, 1}); });
  for (const float bad : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()})
    test::raises(tq::errc::bad_scale, {"finite scales that are not negative", "for block 1"},
                 [&] { multiply(grid, {1, bad}); });
  CHECK(x == std::vector<float>(6, 2.0f));
  multiply(grid, {0, 1});
  CHECK(x == std::vector<float>{0, 0, 0, 2, 2, 2});
}

TEST_CASE("extents whose product overflows are not as many values as are left of it",
          "[scale_grid]") {
  std::vector<float> x(2, 2.0f);
  constexpr std::size_t half = std::size_t{1} << 63;  // 2 * half + 2 is 2 modulo 2^64
  test::raises(
      tq::errc::bad_argument, {"tq::multiply_by_blocks: expected extents that memory can hold"},
      [&] { tq::multiply_by_blocks(x, {2, half + 1}, {{2, half + 1}}, std::vector<float>{1}); });
  CHECK(x == std::vector<float>(2, 2.0f));
}
