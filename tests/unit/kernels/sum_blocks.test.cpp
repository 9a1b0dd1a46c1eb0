// SPDX-License-Identifier: MIT
#include <tq/kernels/sum_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

#if TQ_HAS_SIMD
TEST_CASE("sums of every number come in whole blocks, and nothing behind their results is written",
          "[sums]") {
  using Arch = tq::arch::native;
  constexpr std::size_t block = tq::driver::block<Arch>;
  const auto expected = [](std::size_t i) { return static_cast<std::int16_t>(1000 + i); };
  for (std::size_t n = 0; n <= 3 * block + 1; ++n) {
    std::vector<std::int32_t> sums(n);
    for (std::size_t i = 0; i < n; ++i) sums[i] = 1000 + static_cast<std::int32_t>(i);
    std::vector<std::int16_t> out(n + 1, -7);
    std::size_t next = 0;
    bool zeros = true;
    tq::kernels::sum_blocks<Arch>(sums.data(), out.data(), n,
                                  [&](const std::int32_t* from, std::size_t i, std::int16_t* to) {
                                    CHECK(i == next);
                                    next += block;
                                    for (std::size_t k = 0; k < block; ++k) {
                                      zeros = zeros && (i + k < n || from[k] == 0);
                                      to[k] = static_cast<std::int16_t>(from[k]);
                                    }
                                  });
    CHECK(next == (n + block - 1) / block * block);
    CHECK(zeros);
    CHECK(out[n] == -7);
    bool same = true;
    for (std::size_t i = 0; i < n; ++i) same = same && out[i] == expected(i);
    CHECK(same);
  }
}
#endif
