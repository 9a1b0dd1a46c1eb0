// SPDX-License-Identifier: MIT
#include <tq/driver/tuning.hpp>

#include "support/catch.hpp"

TEST_CASE("tuning is of this machine, and distances are none that were bad", "[tuning]") {
  const tq::driver::Tuning& t = tq::driver::this_machine();
  CHECK(&t == &tq::driver::this_machine());
  CHECK(t.stream_from == tq::arch::last_level_cache());
  for (const std::ptrdiff_t ahead :
       {t.lines_ahead, t.pages_ahead, t.written_pages_ahead, t.weight_pages_ahead})
    CHECK(ahead >= 0);
  if (t.lines_ahead != 0) CHECK(t.lines_ahead % 2048 != 0);
}
