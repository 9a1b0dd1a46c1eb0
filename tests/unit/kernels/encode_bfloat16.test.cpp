// SPDX-License-Identifier: MIT
// bfloat16, which some processors convert themselves: this file is also built for those.
#include "unit/kernels/format_cases.hpp"

using format_cases::check_encode;
using tq::Divide, tq::PowerOfTwo, tq::Saturate, tq::NonSaturate;

TEST_CASE("encode to bfloat16 equals the reference bit for bit", "[encode]") {
  check_encode<tq::bfloat16, Divide, NonSaturate>(8);
  check_encode<tq::bfloat16, PowerOfTwo, Saturate>(14);
}
