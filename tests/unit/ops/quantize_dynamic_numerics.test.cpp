// SPDX-License-Identifier: MIT
// Other numerics than the default: parameters and codes are those of two steps under the same.
#include "quantize_dynamic_cases.hpp"

namespace {

template <class N>
void check_numerics() {
  using dynamic_cases::check;
  check<tq::int8, tq::Symmetric, float, N>();
  check<tq::uint4, tq::Asymmetric, float, N>();
  check<tq::int4, tq::Symmetric, tq::float16, N>();
  check<tq::uint8, tq::Asymmetric, tq::float16, N>();
  check<tq::int3, tq::SymmetricNarrow, tq::float8_e8m0fnu, N>();
  check<tq::uint8, tq::Asymmetric, tq::TwoLevel<tq::float8_e4m3fn>, N>();
  check<tq::float4_e2m1fn, tq::Symmetric, tq::float8_e8m0fnu, N>();
  check<tq::float8_e5m2, tq::Symmetric, float, N>();
}

template <class E>
using WithRule =
    tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne, tq::Saturate, E>;

}  // namespace

TEST_CASE("presets make the same together as apart", "[quantize_dynamic]") {
  check_numerics<tq::numerics::torch>();
  check_numerics<tq::numerics::bitsandbytes>();
  check_numerics<tq::numerics::exact>();
  dynamic_cases::check<tq::nf4, tq::Symmetric, tq::DoubleQuantized, tq::numerics::bitsandbytes>();
  dynamic_cases::check<tq::dynamic8, tq::Symmetric, float, tq::numerics::bitsandbytes>();
}

TEST_CASE("exponent rules make the same together as apart", "[quantize_dynamic]") {
  using dynamic_cases::check;
  using Power = tq::float8_e8m0fnu;
  check<tq::float4_e2m1fn, tq::Symmetric, Power, WithRule<tq::ExponentRCeil>>();
  check<tq::fixed8, tq::Symmetric, Power, WithRule<tq::ExponentCeil>>();
  check<tq::int4, tq::Symmetric, Power, WithRule<tq::ExponentEven>>();
  check<tq::int32, tq::Asymmetric, Power, WithRule<tq::ExponentEven>>();
}

TEST_CASE("roundings make the same together as apart", "[quantize_dynamic]") {
  using dynamic_cases::check;
  check<tq::int8, tq::Asymmetric, tq::float16, tq::Numerics<tq::HalfAway>>();
  check<tq::uint4, tq::Asymmetric, float,
        tq::Numerics<tq::Stochastic>>();  // draws by the place of an element
  check<tq::int2, tq::Symmetric, tq::bfloat16, tq::Numerics<tq::Stochastic>>();
  check<tq::float4_e2m1fn, tq::Symmetric, tq::float8_e8m0fnu, tq::Numerics<tq::Stochastic>>();
}

TEST_CASE("packings make the same together as apart", "[quantize_dynamic]") {
  using dynamic_cases::check;
  using N = tq::numerics::onnx;
  check<tq::ternary, tq::Symmetric, tq::float16, N, tq::FiveInByte>();
  check<tq::int4, tq::Symmetric, tq::float16, N, tq::HighFirst>();
  check<tq::uint3, tq::Asymmetric, tq::bfloat16, N, tq::HighFirst>();
  check<tq::int5, tq::Asymmetric, tq::float16, N, tq::Unpacked>();
}
