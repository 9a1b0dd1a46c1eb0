// SPDX-License-Identifier: MIT
#include <tq/kernels/blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace {

constexpr std::size_t step = 128;

std::vector<std::size_t> plain(std::size_t first, std::size_t count) {
  std::vector<std::size_t> at;
  for (std::size_t i = first; i + step <= count; i += step) at.push_back(i);
  return at;
}

}  // namespace

TEST_CASE("blocks come in order, wherever a whole one fits", "[blocks]") {
  for (const std::size_t first : {0u, 5u, 127u})
    for (const std::size_t count : {0u, 1u, 127u, 128u, 129u, 133u, 300u, 1024u, 5000u}) {
      std::vector<std::size_t> seen;
      const std::size_t rest = tq::kernels::for_each_block<step>(first, count, [&](std::size_t i) { seen.push_back(i); });
      CHECK(seen == plain(first, count));
      CHECK(rest == (seen.empty() ? first : seen.back() + step));
    }
}

TEST_CASE("page by page every block comes once", "[blocks]") {
  for (const bool side_by_side : {false, true})
    for (const std::size_t first : {0u, 7u})
      for (const std::size_t count : {0u, 100u, 1023u, 1024u, 1031u, 4095u, 4096u, 4103u, 9000u, 20000u}) {
        std::vector<std::size_t> seen;
        const std::size_t rest = tq::kernels::for_each_block_by_page<step>(first, count, side_by_side,
                                                                           [&](std::size_t i) { seen.push_back(i); });
        if (side_by_side && count >= first + 4096) {
          CHECK(seen[1] == first + 1024);  // the next page
          CHECK(seen[4] == first + step);
        } else {
          CHECK(std::is_sorted(seen.begin(), seen.end()));
        }
        std::sort(seen.begin(), seen.end());
        CHECK(seen == plain(first, count));
        CHECK(rest == (seen.empty() ? first : seen.back() + step));
      }
}
