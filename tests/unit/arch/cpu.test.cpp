// SPDX-License-Identifier: MIT
#include <tq/arch/cpu.hpp>

#include <cstddef>

#include "support/catch.hpp"

TEST_CASE("the last cache has a size that can be", "[cpu]") {
  CHECK(tq::arch::last_level_cache() >= std::size_t{1} << 18);
  CHECK(tq::arch::last_level_cache() <= std::size_t{64} << 20);
}

// Compares with the compiler's library, which finds out the processor by itself.
TEST_CASE("the processor is the one that the compiler's library finds", "[cpu]") {
#if defined(__x86_64__) && defined(__GNUC__)
  using tq::arch::Processor;
  __builtin_cpu_init();
  const Processor p = tq::arch::processor();
  const bool family_19h = __builtin_cpu_is("amdfam19h") != 0, amd = __builtin_cpu_is("amd") != 0;
  CHECK((p == Processor::zen3 || p == Processor::zen4) == family_19h);
  CHECK((p == Processor::zen4) == (family_19h && __builtin_cpu_supports("avx512f") != 0));
  if (p == Processor::zen5) CHECK(amd);
  CHECK((p == Processor::intel) ==
        (__builtin_cpu_is("intel") != 0 && __builtin_cpu_supports("avx512f") != 0));
#else
  CHECK(tq::arch::processor() == tq::arch::Processor::other);
#endif
}
