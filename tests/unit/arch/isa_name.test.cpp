// SPDX-License-Identifier: MIT
#include <tq/arch/isa_name.hpp>
#include <tq/arch/processor_has.hpp>

#include <string>

#include "support/catch.hpp"

TEST_CASE("the instruction set of this build has a name, and the processor that runs it has it") {
  const std::string name(tq::arch::isa_name<tq::arch::native>());
  INFO(name);
#if defined(TQ_FORCE_SCALAR)
  CHECK(name == "scalar");
#elif defined(__AVX512BW__)
  CHECK(name == "avx512");
#elif defined(__AVX2__)
  CHECK(name == "avx2");
#elif defined(__SSE4_2__)
  CHECK(name == "sse4_2");
#elif defined(__SSE2__)
  CHECK(name == "sse2");
#elif defined(__aarch64__)
  CHECK(name == "neon64");
#endif
  CHECK(tq::arch::processor_has(name));
  CHECK(tq::arch::isa_name<tq::arch::scalar>() == "scalar");
}
