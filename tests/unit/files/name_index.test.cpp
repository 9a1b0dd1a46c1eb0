// SPDX-License-Identifier: MIT
#include <tq/files/name_index.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

struct Named {
  std::string name;
};

}  // namespace

TEST_CASE("an index of no names has none", "[name_index]") {
  const std::vector<Named> none;
  CHECK_FALSE(tq::io::NameIndex().find(none, ""));
  CHECK_FALSE(tq::io::NameIndex(0).find(none, "a"));
}

TEST_CASE("names are found where they are, and those that are there twice are said",
          "[name_index]") {
  std::mt19937 random(11);
  for (const std::size_t count : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    INFO(count);
    std::vector<Named> list;
    std::map<std::string, std::size_t> expected;
    tq::io::NameIndex index(count);
    while (list.size() < count) {
      const std::string name =
          "layers." + std::to_string(random() % (2 * count)) + std::string(random() % 2, '\0');
      list.push_back({name});
      const bool is_new = expected.emplace(name, list.size() - 1).second;
      CHECK(index.add_next(list) == is_new);
    }
    for (std::size_t i = 0; i < 2 * count; ++i)
      for (const std::string& end : {std::string(), std::string(1, '\0')}) {
        const std::string name = "layers." + std::to_string(i) + end;
        const auto found = expected.find(name);
        CHECK(index.find(list, name) ==
              (found == expected.end() ? std::nullopt : std::optional<std::size_t>(found->second)));
      }
    CHECK_FALSE(index.find(list, ""));
    CHECK_FALSE(index.find(list, "layers."));
  }
}

TEST_CASE("a list that moves keeps its index", "[name_index]") {
  std::vector<Named> list{{"a"}, {"b"}};
  tq::io::NameIndex index(2);
  CHECK(index.add_next(list));
  CHECK(index.add_next(list));
  const std::vector<Named> moved = std::move(list);
  const tq::io::NameIndex copy = index;
  CHECK(copy.find(moved, "b") == 1u);
}
