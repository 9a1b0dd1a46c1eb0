// SPDX-License-Identifier: MIT
#include <tq/kernels/values.hpp>

#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>

#include <cstdint>
#include <string>

#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;

// Bits above the format's are drawn too where codes have whole bytes.
template <class T, class Source, int Bits>
void check(const char* how, std::uint64_t seed) {
  using F = typename T::format;
  using Code = tq::kernels::format_code<F>;
  sweep_cases::check<Code, float>(
      {std::string(T::name) + how,
       tq::driver::kernel<Arch, Source, tq::kernels::Scaled, tq::kernels::ToFloats<float>>,
       [](Code code, float scale, std::int32_t) { return tq::reference::decode<F>(code, scale); },
       {0, (1 << Bits) - 1},
       Bits},
      seed);
}
template <class T>
void check_values(std::uint64_t seed) {
  check<T, tq::kernels::Values<typename T::format>,
        8 * sizeof(tq::kernels::format_code<typename T::format>)>("", seed);
}
template <class T>
void check_packed(std::uint64_t seed) {
  check<T, tq::kernels::PackedValues<typename T::format>, T::bits>(", packed", seed);
}

}  // namespace

TEST_CASE("values of small floats, times their scale, bit for bit", "[values]") {
  check_values<tq::float8_e4m3fn>(1);
  check_values<tq::float8_e5m2>(2);
  check_values<tq::float4_e2m1fn>(3);
  check_values<tq::float16>(4);
  check_values<tq::bfloat16>(5);
  check_values<tq::float8_e4m3fnuz>(11);
  check_values<tq::float6_e2m3fn>(13);
  check_packed<tq::float4_e2m1fn>(21);
  check_packed<tq::float6_e2m3fn>(22);
}

TEST_CASE("values of the other formats, times their scale, bit for bit", "[values]") {
  check_values<tq::nf4>(6);
  check_values<tq::float8_e8m0fnu>(15);
  check_values<tq::fixed8>(16);
  check_values<tq::binary>(18);
  check_packed<tq::nf4>(23);
  check_packed<tq::binary>(24);
}

// Tables of more than 16 entries are gathered on AVX2, and qemu 7.2 forgets the index where it is
// in ymm4: not emulated.
TEST_CASE("values of large code books, times their scale, bit for bit", "[values][slow]") {
  check_values<tq::dynamic8>(7);
}
