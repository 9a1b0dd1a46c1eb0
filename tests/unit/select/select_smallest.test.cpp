// SPDX-License-Identifier: MIT
// The smallest files, against all selections that there are.
#include <tq/select/select_smallest.hpp>

#include "sized_nodes.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace {

using namespace tq;
using namespace sized_test;

template <class BytesOf>
std::uint64_t least_of_all(const PrecisionSelector& selector, const BytesOf& bytes_of) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for_each_selection(selector, [&](const PrecisionSelection& s) {
    least = std::min<std::uint64_t>(least, bytes_of(s));
  });
  return least;
}

}  // namespace

TEST_CASE("no selection has smaller files than the smallest") {
  const PrecisionSelector selector(three_nodes());
  CHECK(file_bytes(select_smallest(selector, others, file_bytes)) ==
        least_of_all(selector, file_bytes));
}

TEST_CASE("headers that are larger than codes decide, with ties and without") {
  std::mt19937 random(7);
  const auto draw = [&](std::uint64_t most) { return std::uint64_t{random()} % most; };
  for (int model = 0; model < 40; ++model) {
    INFO(model);
    PrecisionModel nodes;
    for (int i = 0; i < 5; ++i) {
      PrecisionNode node{std::to_string(i), 64, {{"float", 100 + draw(100), 0}}};
      for (const char* const scheme : {"int8", "int5", "int4"})
        node.candidates.push_back({scheme, 20 + draw(150), 1e-3 * static_cast<double>(draw(9))});
      nodes.nodes.push_back(std::move(node));
    }
    if (model % 2 == 1) nodes.ties = {{0, 3}, {1, 4}};
    const PrecisionSelector selector(std::move(nodes));
    const auto bytes_of = [&](const PrecisionSelection& s) {
      std::uint64_t headers = 0, place = 0;
      for (const SelectedPrecision& node : s.nodes)
        headers += (node.choice.bytes * 37 + 11 * ++place) % 90;
      return s.cost.bytes + 40 + headers;
    };
    CHECK(bytes_of(select_smallest(selector, 40, bytes_of)) == least_of_all(selector, bytes_of));
  }
}

TEST_CASE("floats may have smaller files than what all others have") {
  const PrecisionSelector selector(three_nodes());
  const auto bytes_of = [](const PrecisionSelection& s) {
    return s.cost.error == 0 ? std::uint64_t{10} : file_bytes(s);
  };
  CHECK(select_smallest(selector, others, bytes_of).cost.error == 0);
}

TEST_CASE("equal files have the selection of less error") {
  const PrecisionSelector selector({{{"a", 10, {{"float", 40, 0}, {"x", 9, 2}, {"y", 10, 1}}}}});
  const auto bytes_of = [](const PrecisionSelection& s) { return (s.cost.bytes + 7) / 8 * 8; };
  CHECK(select_smallest(selector, 0, bytes_of).nodes.front().choice.scheme == "y");
}

TEST_CASE("a model without nodes has one selection") {
  const PrecisionSelector selector(PrecisionModel{});
  const auto bytes_of = [](const PrecisionSelection&) { return std::uint64_t{57}; };
  CHECK(select_smallest(selector, 57, bytes_of).nodes.empty());
}
