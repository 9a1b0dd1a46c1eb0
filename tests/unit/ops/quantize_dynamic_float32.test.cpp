// SPDX-License-Identifier: MIT
// Integers with scales of float32.
#include "quantize_dynamic_cases.hpp"

TEST_CASE("integers with float32 scales are those of two steps", "[quantize_dynamic]") {
  using namespace dynamic_cases;
  check_symmetries<tq::int2, float>();
  check_symmetries<tq::int3, float>();
  check_symmetries<tq::int4, float>();
  check_symmetries<tq::int5, float>();
  check_symmetries<tq::int6, float>();
  check_symmetries<tq::int7, float>();
  check_symmetries<tq::int8, float>();
  check_symmetries<tq::int16, float>();
  check_symmetries<tq::int32, float>();
  check_symmetries<tq::ternary, float>();
  check_symmetries<tq::uint2, float>();
  check_symmetries<tq::uint3, float>();
  check_symmetries<tq::uint4, float>();
  check_symmetries<tq::uint5, float>();
  check_symmetries<tq::uint6, float>();
  check_symmetries<tq::uint7, float>();
  check_symmetries<tq::uint8, float>();
  check_symmetries<tq::uint16, float>();
}
