// SPDX-License-Identifier: MIT
// Integers with scales that are stored as codes, each by itself.
#include "quantize_dynamic_cases.hpp"

TEST_CASE("integers with scales of other types are those of two steps", "[quantize_dynamic]") {
  using namespace dynamic_cases;
  check_integers<tq::bfloat16>();
  check_integers<tq::float8_e8m0fnu>();
  check_integers<tq::float8_e4m3fn>();
  check_integers<tq::float8_e5m2fnuz>();
}
