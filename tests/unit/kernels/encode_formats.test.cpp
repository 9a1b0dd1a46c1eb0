// SPDX-License-Identifier: MIT
// Further formats and policies: the same kernels around other codecs, which codec.test.cpp has
// value by value.
#include "unit/kernels/format_cases.hpp"

namespace {

using format_cases::check_encode;
using tq::Divide, tq::Reciprocal, tq::PowerOfTwo, tq::Saturate, tq::NonSaturate;

// A format of the user with larger values than the published ones of 8 bits.
struct wide : tq::FloatElement<tq::FloatFormat<6, 1, 31, tq::FloatSpecials::nan_only>> {
  static constexpr std::string_view name = "wide";
};

}  // namespace

TEST_CASE("encode by every scaling and overflow equals the reference bit for bit", "[encode]") {
  check_encode<tq::float8_e4m3fn, Divide, NonSaturate>(21);
  check_encode<tq::float8_e4m3fn, PowerOfTwo, NonSaturate>(23);
  check_encode<tq::float16, PowerOfTwo, NonSaturate>(24);
}

TEST_CASE("encode to the other formats equals the reference bit for bit", "[encode]") {
  check_encode<tq::float8_e5m2fnuz, Divide, Saturate>(32);
  check_encode<tq::float6_e3m2fn, Reciprocal, Saturate>(33);
  check_encode<tq::float8_e8m0fnu, Divide, NonSaturate>(35);
  check_encode<tq::fixed8, PowerOfTwo, Saturate>(36);
}

TEST_CASE("encode to a format with values beyond 2^20 equals the reference bit for bit",
          "[encode]") {
  using Format = wide::format;
  const std::vector<double> marks =
      oracle::marks(oracle::detail::floats(oracle::Specials::nan_only, 6, 1, 31));
  format_cases::check_encoder(std::string(wide::name),
                              format_cases::encoder<Format, tq::Numerics<>>(),
                              format_cases::Scale::any, marks, 41);
}

// Tables of more than 16 entries are gathered on AVX2, and qemu 7.2 forgets the index where it is
// in ymm4: not emulated.
TEST_CASE("encode to large code books equals the reference bit for bit", "[encode][slow]") {
  check_encode<tq::dynamic8, Divide, Saturate>(37);
}
