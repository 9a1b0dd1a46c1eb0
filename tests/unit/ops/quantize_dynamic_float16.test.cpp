// SPDX-License-Identifier: MIT
// Integers with scales of float16.
#include "quantize_dynamic_cases.hpp"

TEST_CASE("integers with float16 scales are those of two steps", "[quantize_dynamic]") {
  using namespace dynamic_cases;
  using namespace tq;
  check<int2, Symmetric, float16>();
  check<int3, Asymmetric, float16>();
  check<int4, SymmetricHalf, float16>();
  check<int5, SymmetricHalfDown, float16>();
  check<int6, SymmetricNarrow, float16>();
  check<int7, Symmetric, float16>();
  check<int8, Asymmetric, float16>();
  check<int16, SymmetricHalf, float16>();
  check<int32, SymmetricNarrow, float16>();
  check<ternary, Symmetric, float16>();
  check<uint2, Asymmetric, float16>();
  check<uint3, SymmetricHalf, float16>();
  check<uint4, SymmetricHalfDown, float16>();
  check<uint5, Symmetric, float16>();
  check<uint6, Asymmetric, float16>();
  check<uint7, SymmetricHalf, float16>();
  check<uint8, SymmetricHalfDown, float16>();
  check<uint16, Asymmetric, float16>();
}
