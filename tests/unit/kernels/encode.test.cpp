// SPDX-License-Identifier: MIT
#include "unit/kernels/format_cases.hpp"

using format_cases::check_encode;
using tq::Divide, tq::Reciprocal, tq::PowerOfTwo, tq::Saturate, tq::NonSaturate;

TEST_CASE("encode to 8-bit floats equals the reference bit for bit", "[encode]") {
  check_encode<tq::float8_e4m3fn, Divide, Saturate>(1);
  check_encode<tq::float8_e4m3fn, Reciprocal, NonSaturate>(2);
  check_encode<tq::float8_e4m3fn, PowerOfTwo, Saturate>(3);
  check_encode<tq::float8_e5m2, Divide, NonSaturate>(4);
}

TEST_CASE("encode to 4-bit floats, packed or not, equals the reference bit for bit", "[encode]") {
  check_encode<tq::float4_e2m1fn, Divide, Saturate, tq::NearestEven, false>(5);
  check_encode<tq::float4_e2m1fn, PowerOfTwo, Saturate>(6);
}

TEST_CASE("encode to float16 equals the reference bit for bit", "[encode]") {
  check_encode<tq::float16, Divide, Saturate>(7);
}

TEST_CASE("encode to code books equals the reference bit for bit", "[encode]") {
  check_encode<tq::nf4, Reciprocal, Saturate>(9);
  check_encode<tq::bnb_fp4, Divide, Saturate, tq::NearestEven, false>(10);
}

TEST_CASE("encode by other roundings equals the reference bit for bit", "[encode]") {
  check_encode<tq::float8_e4m3fn, Divide, Saturate, tq::Stochastic>(11);
  check_encode<tq::float4_e2m1fn, PowerOfTwo, Saturate, tq::Stochastic>(12);
  check_encode<tq::float16, Reciprocal, NonSaturate, tq::Floor>(13);
}
