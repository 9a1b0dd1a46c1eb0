// SPDX-License-Identifier: MIT
#include <tq/core/granularity.hpp>
#include <tq/train/detail/slot_sizes.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <vector>

using tq::Shape;
using Sizes = std::vector<std::size_t>;

TEST_CASE("slots have the elements of their blocks, which are fewer at an end that is cut short") {
  CHECK(tq::detail::slot_sizes(tq::PerTensor{}, Shape{3, 5}, 1) == Sizes{15});
  CHECK(tq::detail::slot_sizes(tq::PerChannel<0>{}, Shape{3, 5}, 3) == Sizes{5, 5, 5});
  CHECK(tq::detail::slot_sizes(tq::PerChannel<1>{}, Shape{3, 5}, 5) == Sizes{3, 3, 3, 3, 3});
  CHECK(tq::detail::slot_sizes(tq::PerBlock<2, 2>{}, Shape{3, 5}, 6) == Sizes{4, 4, 2, 2, 2, 1});
}
