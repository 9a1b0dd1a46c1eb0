// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>

#include <string>
#include <type_traits>

#include "support/catch.hpp"

TEST_CASE("the native instruction set follows the compiler's flags", "[isa]") {
  const std::string name = tq::arch::native::name();
  CAPTURE(name);
#if defined(TQ_FORCE_SCALAR)
  CHECK(std::is_same_v<tq::arch::native, tq::arch::scalar>);
#elif defined(__AVX512BW__)
  CHECK(std::is_same_v<tq::arch::native, xsimd::avx512bw>);
#elif defined(__AVX2__) && defined(__FMA__)
  CHECK(std::is_same_v<tq::arch::native, xsimd::fma3<xsimd::avx2> >);
#elif defined(__AVX2__)
  CHECK(std::is_same_v<tq::arch::native, xsimd::avx2>);
#elif defined(__SSE4_2__)
  CHECK(std::is_same_v<tq::arch::native, xsimd::sse4_2>);
#elif defined(__SSE2__)
  CHECK(std::is_same_v<tq::arch::native, xsimd::sse2>);
#elif defined(__aarch64__)
  CHECK(std::is_same_v<tq::arch::native, xsimd::neon64>);
#endif
}
