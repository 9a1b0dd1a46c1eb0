// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>

#include <cstdint>
#include <type_traits>

#include "support/catch.hpp"

namespace {

struct int1 {  // the smallest model
  static constexpr tq::ElementKind kind = tq::ElementKind::integer;
  static constexpr int bits = 1;
  using code_type = std::uint8_t;
  static constexpr std::int32_t qmin = 0, qmax = 1;
  static constexpr std::string_view name = "int1";
};
struct without_range {
  static constexpr tq::ElementKind kind = tq::ElementKind::integer;
  static constexpr int bits = 4;
  using code_type = std::int8_t;
  static constexpr std::string_view name = "without_range";
};

static_assert(tq::IntegerElement<int1>);
static_assert(tq::Element<without_range> && !tq::IntegerElement<without_range>);
static_assert(!tq::Element<std::int8_t>);

template <class T, class Code, int Bits>
void check(std::int32_t qmin, std::int32_t qmax, const char* name) {
  STATIC_REQUIRE(tq::IntegerElement<T>);
  STATIC_REQUIRE(std::is_same_v<typename T::code_type, Code>);
  STATIC_REQUIRE(T::bits == Bits);
  CHECK(T::qmin == qmin);
  CHECK(T::qmax == qmax);
  CHECK(T::name == name);
}

}  // namespace

TEST_CASE("integers of every width have their range and name", "[element]") {
  check<tq::int2, std::int8_t, 2>(-2, 1, "int2");
  check<tq::int3, std::int8_t, 3>(-4, 3, "int3");
  check<tq::int4, std::int8_t, 4>(-8, 7, "int4");
  check<tq::int5, std::int8_t, 5>(-16, 15, "int5");
  check<tq::int6, std::int8_t, 6>(-32, 31, "int6");
  check<tq::int7, std::int8_t, 7>(-64, 63, "int7");
  check<tq::int8, std::int8_t, 8>(-128, 127, "int8");
  check<tq::int16, std::int16_t, 16>(-32768, 32767, "int16");
  check<tq::int32, std::int32_t, 32>(-2147483647 - 1, 2147483647, "int32");
  check<tq::uint2, std::uint8_t, 2>(0, 3, "uint2");
  check<tq::uint3, std::uint8_t, 3>(0, 7, "uint3");
  check<tq::uint4, std::uint8_t, 4>(0, 15, "uint4");
  check<tq::uint5, std::uint8_t, 5>(0, 31, "uint5");
  check<tq::uint6, std::uint8_t, 6>(0, 63, "uint6");
  check<tq::uint7, std::uint8_t, 7>(0, 127, "uint7");
  check<tq::uint8, std::uint8_t, 8>(0, 255, "uint8");
  check<tq::uint16, std::uint16_t, 16>(0, 65535, "uint16");
}

TEST_CASE("float32 holds the codes of all elements but int32", "[element]") {
  STATIC_REQUIRE(tq::SmallInteger<tq::int16> && tq::SmallInteger<tq::uint16> &&
                 tq::SmallInteger<tq::ternary>);
  STATIC_REQUIRE(tq::IntegerElement<tq::int32> && !tq::SmallInteger<tq::int32> &&
                 !tq::ExactInFloat32<tq::int32>);
  STATIC_REQUIRE(tq::ExactInFloat32<tq::uint16> && tq::ExactInFloat32<tq::float16> &&
                 tq::ExactInFloat32<tq::nf4>);
  STATIC_REQUIRE(!tq::SmallInteger<tq::float16>);
}

TEST_CASE("ternary is -1, 0 and 1", "[element]") {
  check<tq::ternary, std::int8_t, 2>(-1, 1, "ternary");
}

namespace {

struct sign {  // the smallest coded model
  static constexpr tq::ElementKind kind = tq::ElementKind::coded;
  using format = tq::binary::format;
  static constexpr int bits = format::bits;
  using code_type = std::uint8_t;
  static constexpr std::string_view name = "sign";
};
struct without_format {
  static constexpr tq::ElementKind kind = tq::ElementKind::coded;
  static constexpr int bits = 1;
  using code_type = std::uint8_t;
  static constexpr std::string_view name = "without_format";
};
static_assert(tq::CodedElement<sign> && !tq::IntegerElement<sign>);
static_assert(!tq::CodedElement<without_format> && !tq::CodedElement<tq::int8> &&
              !tq::CodedElement<tq::ternary>);

template <class T, class Code, int Bits>
void check_coded(const char* name) {
  STATIC_REQUIRE(tq::CodedElement<T>);
  STATIC_REQUIRE_FALSE(tq::IntegerElement<T>);
  STATIC_REQUIRE(std::is_same_v<typename T::code_type, Code>);
  STATIC_REQUIRE(T::bits == Bits);
  CHECK(T::name == name);
  CHECK(T::max_finite == T::format::max_finite);
}

}  // namespace

TEST_CASE("coded elements have the names of ONNX and ml_dtypes", "[element]") {
  check_coded<tq::float16, std::uint16_t, 16>("float16");
  check_coded<tq::bfloat16, std::uint16_t, 16>("bfloat16");
  check_coded<tq::float8_e4m3fn, std::uint8_t, 8>("float8_e4m3fn");
  check_coded<tq::float8_e5m2, std::uint8_t, 8>("float8_e5m2");
  check_coded<tq::float8_e4m3fnuz, std::uint8_t, 8>("float8_e4m3fnuz");
  check_coded<tq::float8_e5m2fnuz, std::uint8_t, 8>("float8_e5m2fnuz");
  check_coded<tq::float8_e8m0fnu, std::uint8_t, 8>("float8_e8m0fnu");
  check_coded<tq::float6_e2m3fn, std::uint8_t, 6>("float6_e2m3fn");
  check_coded<tq::float6_e3m2fn, std::uint8_t, 6>("float6_e3m2fn");
  check_coded<tq::float4_e2m1fn, std::uint8_t, 4>("float4_e2m1fn");
  check_coded<tq::fixed8, std::uint8_t, 8>("fixed8");
  check_coded<tq::nf4, std::uint8_t, 4>("nf4");
  check_coded<tq::bnb_fp4, std::uint8_t, 4>("bnb_fp4");
  check_coded<tq::iq4_nl, std::uint8_t, 4>("iq4_nl");
  check_coded<tq::dynamic8, std::uint8_t, 8>("dynamic8");
  check_coded<tq::binary, std::uint8_t, 1>("binary");
}
