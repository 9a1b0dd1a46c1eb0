// SPDX-License-Identifier: MIT
#include <tq/arch/prefetch.hpp>

#include <cstddef>

#include "support/catch.hpp"

TEST_CASE("asking for memory that does not exist does no harm", "[prefetch]") {
  const float one[2] = {1.0f, 2.0f};
  for (const std::ptrdiff_t offset : {-1000000, -64, -1, 0, 4, 64, 1000000}) {
    tq::arch::prefetch(one, offset);
    tq::arch::prefetch(nullptr, offset);
  }
  CHECK(one[0] + one[1] == 3.0f);
}
