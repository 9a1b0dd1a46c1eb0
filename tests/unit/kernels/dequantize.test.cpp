// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using Floats = tq::kernels::ToFloats<float>;

template <class Source, class Code, class Stage = tq::kernels::Dequantize>
void check(std::uint64_t seed, int bits = 8 * sizeof(Code), bool low_first = true) {
  constexpr bool is_signed = std::is_signed_v<Code>;
  cases::CodeRange codes{static_cast<std::int32_t>(std::numeric_limits<Code>::min()),
                         static_cast<std::int32_t>(std::numeric_limits<Code>::max())};
  if (bits < 8)
    codes = is_signed ? cases::CodeRange{-(1 << (bits - 1)), (1 << (bits - 1)) - 1}
                      : cases::CodeRange{0, (1 << bits) - 1};
  sweep_cases::check<Code, float>(
      {std::to_string(bits) + (low_first ? " bits" : " bits, high first"),
       tq::driver::kernel<Arch, Source, Stage, Floats>,
       [](Code code, float scale, std::int32_t zero) {
         return oracle::dequantize(code, scale, zero);
       },
       codes, bits, low_first},
      seed, bits < 8 ? 1 : 3);
}

template <class Code, int Bits, bool LowFirst = true>
void check_packed(std::uint64_t seed) {
  check<tq::kernels::PackedCodes<Code, Bits, LowFirst>, Code>(seed, Bits, LowFirst);
}

}  // namespace

TEST_CASE("dequantize equals (code - zero point) * scale bit for bit", "[dequantize]") {
  check<tq::kernels::IntegerCodes<std::int8_t>, std::int8_t>(1);
  check<tq::kernels::IntegerCodes<std::uint8_t>, std::uint8_t>(2);
  check<tq::kernels::IntegerCodes<std::int16_t>, std::int16_t>(3);
  check<tq::kernels::IntegerCodes<std::uint16_t>, std::uint16_t>(4);
  check<tq::kernels::IntegerCodes<std::int32_t>, std::int32_t, tq::kernels::DequantizeWide>(9);
}

TEST_CASE("dequantize of packed codes equals that of the codes, wherever in a byte they begin",
          "[dequantize]") {
  check_packed<std::int8_t, 4>(5);
  check_packed<std::uint8_t, 4>(6);
  check_packed<std::int8_t, 2>(7);
  check_packed<std::uint8_t, 2>(8);
  check_packed<std::int8_t, 3>(10);
  check_packed<std::uint8_t, 1>(11);
  check_packed<std::uint8_t, 5>(12);
  check_packed<std::int8_t, 6>(13);
  check_packed<std::int8_t, 7>(14);
}

TEST_CASE("dequantize of codes that are packed from the high end", "[dequantize]") {
  check_packed<std::int8_t, 4, false>(15);
  check_packed<std::uint8_t, 3, false>(16);
}
