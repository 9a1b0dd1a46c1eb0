// SPDX-License-Identifier: MIT
#include <tq/kernels/nearest_int32.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"

namespace {

using tq::kernels::NearestInt32;

struct Case {
  float v;
  std::int32_t rounded;
};
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
constexpr Case cases[] = {{0.0f, 0},
                          {-0.0f, 0},
                          {0.5f, 0},
                          {1.5f, 2},
                          {-0.5f, 0},
                          {-2.5f, -2},
                          {2.50001f, 3},
                          {8388607.5f, 8388608},
                          {-1e9f, -1000000000},
                          {2147483520.0f, 2147483520},
                          {0x1p31f, 2147483520},
                          {1e30f, 2147483520},
                          {infinity, 2147483520},
                          {-0x1p31f, lowest},
                          {-1e30f, lowest},
                          {-infinity, lowest}};

}  // namespace

TEST_CASE("floats become the nearest integers of 32 bits", "[requantize]") {
  for (const Case& c : cases) {
    INFO(c.v);
    CHECK(NearestInt32::one(c.v) == c.rounded);
  }
  CHECK(NearestInt32::one(std::nanf("")) == lowest);
}

#if TQ_HAS_SIMD
TEST_CASE("lanes of floats become the nearest integers of 32 bits", "[requantize]") {
  using Arch = tq::arch::native;
  for (const Case& c : cases) {
    INFO(c.v);
    std::int32_t rounded[tq::arch::width<Arch>];
    NearestInt32::lanes<Arch>(tq::arch::floats<Arch>(c.v)).store_unaligned(rounded);
    for (const std::int32_t r : rounded) CHECK(r == c.rounded);
  }
}
#endif
