// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/pair_products.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

TEST_CASE("products of pairs are exact for the largest numbers of 14 bits and of split 16 bits") {
  using tq::kernels::pair_columns;
  inputs::Random r(5);
  const auto agrees = [&](std::size_t pairs, std::size_t safe, int first, int second, bool all) {
    std::vector<std::int16_t> a(2 * pairs * pair_columns), b(a.size());
    for (auto& v : a) v = static_cast<std::int16_t>(all ? first : r.between(-first, first));
    for (auto& v : b) v = static_cast<std::int16_t>(all ? -second : r.between(-second, second));
    tq::kernels::PairSums sums{};
    sums[3] = 7;
    tq::kernels::add_pair_products<tq::arch::pair_dot<tq::arch::native>>(a.data(), b.data(), pairs,
                                                                         safe, 8, sums);
    bool equal = true;
    for (std::size_t i = 0; i < pair_columns; ++i)
      for (std::size_t j = 0; j < pair_columns; ++j) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < pairs; ++k)
          for (std::size_t h = 0; h < 2; ++h)
            sum +=
                std::int64_t{a[(k * pair_columns + i) * 2 + h]} * b[(k * pair_columns + j) * 2 + h];
        equal = equal && sums[i * pair_columns + j] == 256 * sum + (i == 0 && j == 3 ? 7 : 0);
      }
    return equal;
  };
  for (const std::size_t pairs : {0u, 1u, 16u, 17u, 600u}) {
    CHECK(agrees(pairs, 16, 8191, 8191, true));
    CHECK(agrees(pairs, 16, 8191, 8191, false));
    CHECK(agrees(pairs, 255, 32767, 128, true));
    CHECK(agrees(pairs, 255, 32767, 128, false));
  }
}
