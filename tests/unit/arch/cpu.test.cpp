// SPDX-License-Identifier: MIT
#include <tq/arch/cpu.hpp>

#include "support/catch.hpp"

TEST_CASE("streaming starts above the size of the last cache", "[cpu]") {
  const std::size_t cache = tq::arch::last_level_cache();
  CHECK(cache > 0);
  CHECK_FALSE(tq::arch::worth_streaming(0));
  CHECK_FALSE(tq::arch::worth_streaming(cache));
  CHECK(tq::arch::worth_streaming(cache + 1));
}

// What the compiler's library says of the processor, which finds it out by itself.
TEST_CASE("the processor is the one that the compiler's library finds", "[cpu]") {
#if defined(__x86_64__) && defined(__GNUC__)
  using tq::arch::Processor;
  __builtin_cpu_init();
  const Processor p = tq::arch::processor();
  const bool family_19h = __builtin_cpu_is("amdfam19h") != 0, amd = __builtin_cpu_is("amd") != 0;
  CHECK((p == Processor::zen3 || p == Processor::zen4) == family_19h);
  CHECK((p == Processor::zen4) == (family_19h && __builtin_cpu_supports("avx512f") != 0));
  if (p == Processor::zen5) CHECK(amd);
#else
  CHECK(tq::arch::processor() == tq::arch::Processor::other);
#endif
}
