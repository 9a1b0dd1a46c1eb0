// SPDX-License-Identifier: MIT
#include <tq/ptq/column_order.hpp>

#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

TEST_CASE("columns are ordered by their mean squares, groups by their largest") {
  const std::vector<double> d = {1, 5, 2, 7, 7, 0, 5, 5, 9};
  const auto ordered = [&](const tq::ColumnOrder& order) { return tq::column_order(d, order); };
  using Places = std::vector<std::uint32_t>;
  CHECK(ordered(tq::NaturalOrder{}) == Places{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(ordered(tq::ByActivation{}) == Places{8, 3, 4, 1, 6, 7, 2, 0, 5});
  CHECK(ordered(tq::ByGroup{2}) == Places{3, 2, 4, 5, 1, 0, 6, 7, 8});
  CHECK(ordered(tq::ByGroup{3}) == Places{8, 6, 7, 3, 4, 5, 1, 2, 0});
  CHECK(ordered(tq::ByGroup{4}) == Places{3, 1, 2, 0, 4, 6, 7, 5, 8});
  CHECK(ordered(tq::ByGroup{100}) == ordered(tq::ByActivation{}));
  test::raises(tq::errc::bad_group_size, {"tq::column_order", "got 0"},
               [&] { static_cast<void>(ordered(tq::ByGroup{0})); });
}
