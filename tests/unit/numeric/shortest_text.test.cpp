// SPDX-License-Identifier: MIT
// Numbers in messages are those that came.
#include <tq/numeric/shortest_text.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <random>
#include <string>

TEST_CASE("numbers of messages are read back as they were", "[shortest_text]") {
  using tq::detail::shortest_text;
  CHECK(shortest_text(1) == "1");
  CHECK(shortest_text(4.5) == "4.5");
  CHECK(shortest_text(0.1) == "0.1");
  CHECK(shortest_text(1.0000001) == "1.0000001");
  CHECK(shortest_text(NAN) == "nan");
  CHECK(shortest_text(-INFINITY) == "-inf");
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const double x =
        std::ldexp(static_cast<double>(random()) / 3, static_cast<int>(random() % 600) - 300);
    CHECK(std::stod(shortest_text(x)) == x);
  }
}
