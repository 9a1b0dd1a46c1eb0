// SPDX-License-Identifier: MIT
// Choices by rising bytes, against all choices, sorted.
#include <tq/select/detail/rising_choices.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace {

using namespace tq;

PrecisionNode node_of(const std::vector<std::uint64_t>& bytes) {
  PrecisionNode out{"n", 1, {}};
  for (const std::uint64_t b : bytes) out.candidates.push_back({"s", b, 0});
  return out;
}

}  // namespace

TEST_CASE("every choice comes once, by rising bytes") {
  const std::vector<std::vector<std::uint64_t>> lists{
      {9, 4, 4, 20}, {7}, {1, 100, 2}, {5, 5}, {3, 8, 6}};
  PrecisionModel model;
  for (const auto& list : lists) model.nodes.push_back(node_of(list));
  std::vector<std::uint64_t> all{0};
  for (const auto& list : lists) {
    std::vector<std::uint64_t> sums;
    for (const std::uint64_t sum : all)
      for (const std::uint64_t b : list) sums.push_back(sum + b);
    all = std::move(sums);
  }
  std::ranges::sort(all);
  detail::RisingChoices choices(model);
  std::set<std::vector<std::size_t>> seen;
  std::vector<std::uint64_t> found;
  while (const std::optional<detail::RisingChoice> choice = choices.next()) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lists.size(); ++i) sum += lists[i][choice->candidates[i]];
    CHECK(sum == choice->bytes);
    CHECK(seen.insert(choice->candidates).second);
    found.push_back(choice->bytes);
  }
  CHECK(found == all);
}

TEST_CASE("tied nodes have the same candidate") {
  PrecisionModel model{{node_of({9, 4}), node_of({1, 50}), node_of({2, 1})}, {{0, 2}}};
  detail::RisingChoices choices(model);
  const std::vector<std::vector<std::size_t>> expected{{1, 0, 1}, {0, 0, 0}, {1, 1, 1}, {0, 1, 0}};
  const std::vector<std::uint64_t> bytes{6, 12, 55, 61};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto choice = choices.next();
    REQUIRE(choice);
    CHECK(choice->candidates == expected[i]);
    CHECK(choice->bytes == bytes[i]);
  }
  CHECK(!choices.next());
}

TEST_CASE("a model without nodes has one choice") {
  detail::RisingChoices choices{PrecisionModel{}};
  CHECK(choices.next()->bytes == 0);
  CHECK(!choices.next());
}
