// SPDX-License-Identifier: MIT
// Integers with scales that depend on those of other blocks, and without scales.
#include "quantize_dynamic_cases.hpp"

TEST_CASE("integers with scales on two levels are those of two steps", "[quantize_dynamic]") {
  dynamic_cases::check_integers<tq::TwoLevel<tq::float8_e4m3fn>>();
  dynamic_cases::check_integers<tq::TwoLevel<tq::float8_e4m3fn, tq::BlockScales::normal>>();
}

TEST_CASE("integers with quantized scales, and without any, are those of two steps",
          "[quantize_dynamic]") {
  dynamic_cases::check_integers<tq::DoubleQuantized>();
  dynamic_cases::check_integers<tq::Unscaled>();
}
