// SPDX-License-Identifier: MIT
#include "unit/kernels/format_cases.hpp"

using format_cases::check_decode;

TEST_CASE("decode of floats equals value * scale bit for bit", "[decode]") {
  check_decode<tq::float8_e4m3fn>(1);
  check_decode<tq::float8_e5m2>(2);
  check_decode<tq::float4_e2m1fn>(3);
  check_decode<tq::float16>(4);
  check_decode<tq::bfloat16>(5);
}

TEST_CASE("decode of code books equals value * scale bit for bit", "[decode]") {
  check_decode<tq::nf4>(6);
}

TEST_CASE("decode of the other formats equals value * scale bit for bit", "[decode]") {
  check_decode<tq::float8_e4m3fnuz>(11);
  check_decode<tq::float6_e2m3fn>(13);
  check_decode<tq::float8_e8m0fnu>(15);
  check_decode<tq::fixed8>(16);
  check_decode<tq::binary>(18);
}

// Tables of more than 16 entries are gathered on AVX2, and qemu 7.2 forgets the index where it is
// in ymm4: not emulated.
TEST_CASE("decode of large code books equals value * scale bit for bit", "[decode][slow]") {
  check_decode<tq::dynamic8>(7);
}
