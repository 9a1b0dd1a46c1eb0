// SPDX-License-Identifier: MIT
#include <tq/kernels/floats.hpp>

#include <tq/core/real.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/values.hpp>

#include <cstdint>
#include <string>

#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;

// One rounding to nearest even, from what float32 has; the largest finite value instead of an
// infinity.
template <class F>
std::uint16_t narrowed(float v) {
  return static_cast<std::uint16_t>(F::template encode<tq::Saturate>(v, tq::NearestEven{}, 0));
}

// Checks int16 codes, which give every kind of float, and values with NaN and infinities.
template <class T>
void check_halves(std::uint64_t seed) {
  using F = typename T::format;
  sweep_cases::check<std::int16_t, std::uint16_t>(
      {"int16 to " + std::string(T::name),
       tq::driver::kernel<Arch, IntegerCodes<std::int16_t>, Dequantize, ToHalves<F>>,
       [](std::int16_t code, float scale, std::int32_t zero) {
         return narrowed<F>(oracle::dequantize(code, scale, zero));
       },
       {-32768, 32767}},
      seed, 2);
  using Wide = tq::bfloat16::format;
  sweep_cases::check<std::uint16_t, std::uint16_t>(
      {"bfloat16 to " + std::string(T::name),
       tq::driver::kernel<Arch, Values<Wide>, Scaled, ToHalves<F>>,
       [](std::uint16_t code, float scale, std::int32_t) {
         return narrowed<F>(Wide::decode(code) * scale);
       },
       {0, 0x7f80}},
      seed + 1, 2);
}

}  // namespace

TEST_CASE("floats narrow to 16 bits with one rounding and saturate", "[floats]") {
  check_halves<tq::float16>(1);
  check_halves<tq::bfloat16>(3);
}

TEST_CASE("float64 takes the values of float32", "[floats]") {
  sweep_cases::check<std::int8_t, double>(
      {"int8 to float64",
       tq::driver::kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<double>>,
       [](std::int8_t code, float scale, std::int32_t zero) {
         return double(oracle::dequantize(code, scale, zero));
       },
       {-128, 127}},
      5, 2);
}
