// SPDX-License-Identifier: MIT
// Small floats and code books with scales of every type: one element of each family with all of
// them, the others of the family with float32 and one more.
#include "quantize_dynamic_cases.hpp"

namespace {

template <class Scale>
void check_coded() {
  using dynamic_cases::check;
  using tq::Symmetric;
  check<tq::float16, Symmetric, Scale>();
  check<tq::float8_e4m3fn, Symmetric, Scale>();
  check<tq::float8_e8m0fnu, Symmetric, Scale>();
  check<tq::float4_e2m1fn, Symmetric, Scale>();
  check<tq::nf4, Symmetric, Scale>();
  check<tq::dynamic8, Symmetric, Scale>();
  check<tq::binary, Symmetric, Scale>();
}

template <class T, class Scale>
void check_further() {
  dynamic_cases::check<T, tq::Symmetric, float>();
  dynamic_cases::check<T, tq::Symmetric, Scale>();
}

}  // namespace

TEST_CASE("coded elements with scales of their own blocks are those of two steps",
          "[quantize_dynamic]") {
  check_coded<float>();
  check_coded<tq::float16>();
  check_coded<tq::bfloat16>();
  check_coded<tq::float8_e8m0fnu>();
  check_coded<tq::float8_e4m3fn>();
}

TEST_CASE("coded elements with joint scales, and without any, are those of two steps",
          "[quantize_dynamic]") {
  check_coded<tq::TwoLevel<tq::float8_e4m3fn>>();
  check_coded<tq::TwoLevel<tq::float8_e4m3fn, tq::BlockScales::normal>>();
  check_coded<tq::DoubleQuantized>();
  check_coded<tq::Unscaled>();
}

TEST_CASE("the other coded elements are those of two steps", "[quantize_dynamic]") {
  check_further<tq::bfloat16, tq::Unscaled>();
  check_further<tq::float8_e5m2, tq::float16>();
  check_further<tq::float8_e4m3fnuz, tq::bfloat16>();
  check_further<tq::float8_e5m2fnuz, tq::float8_e8m0fnu>();
  check_further<tq::float6_e2m3fn, tq::float8_e8m0fnu>();
  check_further<tq::float6_e3m2fn, tq::float8_e4m3fn>();
  check_further<tq::fixed8, tq::float8_e8m0fnu>();
  check_further<tq::bnb_fp4, tq::DoubleQuantized>();
  check_further<tq::iq4_nl, tq::TwoLevel<tq::float8_e4m3fn>>();
}
