// SPDX-License-Identifier: MIT
// Integers with scales of float16.
#include "quantize_dynamic_cases.hpp"

TEST_CASE("integers with float16 scales are those of two steps", "[quantize_dynamic]") {
  using namespace dynamic_cases;
  check_symmetries<tq::int2, tq::float16>();
  check_symmetries<tq::int3, tq::float16>();
  check_symmetries<tq::int4, tq::float16>();
  check_symmetries<tq::int5, tq::float16>();
  check_symmetries<tq::int6, tq::float16>();
  check_symmetries<tq::int7, tq::float16>();
  check_symmetries<tq::int8, tq::float16>();
  check_symmetries<tq::int16, tq::float16>();
  check_symmetries<tq::int32, tq::float16>();
  check_symmetries<tq::ternary, tq::float16>();
  check_symmetries<tq::uint2, tq::float16>();
  check_symmetries<tq::uint3, tq::float16>();
  check_symmetries<tq::uint4, tq::float16>();
  check_symmetries<tq::uint5, tq::float16>();
  check_symmetries<tq::uint6, tq::float16>();
  check_symmetries<tq::uint7, tq::float16>();
  check_symmetries<tq::uint8, tq::float16>();
  check_symmetries<tq::uint16, tq::float16>();
}
