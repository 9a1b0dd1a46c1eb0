// SPDX-License-Identifier: MIT
#include <tq/driver/table.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using Arch = tq::arch::native;
using tq::driver::Parameters;
using Table = tq::driver::TableOf<Arch, 1024>;

struct Numbers {
  std::vector<float> scales;
  std::vector<std::int32_t> offsets;
  explicit Numbers(std::size_t n) : scales(n), offsets(n) {
    for (std::size_t i = 0; i < n; ++i) {
      scales[i] = 0.5f + static_cast<float>(i);
      offsets[i] = static_cast<std::int32_t>(i) - 7;
    }
  }
  [[nodiscard]] Parameters parameters() const {
    Parameters p;
    p.scales = tq::driver::plain<Arch>(scales.data());
    p.origins = tq::driver::plain<Arch>(offsets.data());
    return p;
  }
};

}  // namespace

TEST_CASE("a table has an entry for every parameter that is taken", "[table]") {
  const Numbers numbers(3000);
  static Table table(false);
  std::size_t failed = 0;
  for (const std::size_t stride : {1u, 3u})
    for (const std::size_t at : {0u, 5u}) {
      table.read(at, numbers.parameters(), 2, 900, stride);
      for (std::size_t i = 0; i < 900; ++i)
        failed += table.scale[at + i] != numbers.scales[2 + i * stride] ||
                  table.origin[at + i] != numbers.offsets[2 + i * stride];
    }
  CHECK(failed == 0);
}

TEST_CASE("a table has an entry for every element, wherever in a group it begins", "[table]") {
  const Numbers numbers(6000);
  static Table table(false);
  inputs::Random r(1);
  std::size_t failed = 0;
  for (int round = 0; round < 200; ++round) {
    Parameters p = numbers.parameters();
    p.group = 1 + r.below(r.chance(50) ? 5 : 700);
    p.step = 1 + r.below(2);
    p.row_step = r.below(50);
    p.first = r.below(9);
    const std::size_t row = r.below(3), begin = r.below(1000), n = 1 + r.below(1024);
    table.take_lanes(p, row, begin, n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = p.first + row * p.row_step + (begin + i) / p.group * p.step;
      failed += table.scale[i] != numbers.scales[k] || table.origin[i] != numbers.offsets[k];
    }
  }
  CHECK(failed == 0);
}

TEST_CASE("entries are repeated in their order", "[table]") {
  const Numbers numbers(100);
  static Table table(false);
  for (const std::size_t times : {2u, 3u, 7u}) {
    table.take(numbers.parameters(), 0, 100, 1);
    table.repeat(100, times);
    std::size_t failed = 0;
    for (std::size_t i = 0; i < 100 * times; ++i)
      failed += table.scale[i] != numbers.scales[i / times] ||
                table.origin[i] != numbers.offsets[i / times];
    CHECK(failed == 0);
  }
}

TEST_CASE("a plane of ones has as many as are asked for", "[table]") {
  Parameters p;
  p.scales = tq::driver::ones<Arch>();
  p.row_step = 0;
  static Table table(false);
  table.take_lanes({.scales = p.scales, .group = 1000}, 0, 0, 300);
  std::size_t failed = 0;
  for (std::size_t i = 0; i < 300; ++i) failed += table.scale[i] != 1.0f;
  CHECK(failed == 0);
}

TEST_CASE("a table is copied row after row", "[table]") {
  const Numbers numbers(100);
  static Table table(true);
  table.take(numbers.parameters(), 0, 100, 1);
  table.copy(100, 9);
  std::size_t failed = 0;
  for (std::size_t i = 0; i < 900; ++i)
    failed += table.scale[i] != numbers.scales[i % 100] ||
              table.origin[i] != numbers.offsets[i % 100] ||
              table.inverse[i] != 1.0f / numbers.scales[i % 100];
  CHECK(failed == 0);
}

TEST_CASE("a table that divides has reciprocals, and knows whether all of them can be corrected",
          "[table]") {
  Numbers numbers(700);
  static Table table(true);
  inputs::Random r(3);
  const auto check = [&](const Parameters& p, std::size_t n, bool correctable) {
    std::size_t failed = 0;
    if (p.group == tq::driver::whole_row) table.take(p, 0, n, 1);
    else table.take_lanes(p, 0, 0, n);
    for (std::size_t i = 0; i < n; ++i) failed += table.inverse[i] != 1.0f / table.scale[i];
    CHECK(failed == 0);
    if constexpr (!std::is_same_v<Arch, tq::arch::scalar>)
      CHECK(table.all_correctable == correctable);
  };
  for (const std::size_t n : {1u, 5u, 64u, 700u})
    for (const float bad : {1.0f, 0x1p-65f, 0x1.8p64f, 0.0f, -1.0f})
      for (const std::size_t group : {tq::driver::whole_row, std::size_t{1}, std::size_t{3}}) {
        const std::size_t at = r.below(group == 3 ? (n + 2) / 3 : n);
        const float before = std::exchange(numbers.scales[at], bad);
        Parameters p = numbers.parameters();
        p.group = group;
        check(p, n, bad == 1.0f);
        numbers.scales[at] = before;
      }
}

TEST_CASE("behind the entries are scales of 1 and origins of 0 for two blocks", "[table]") {
  const Numbers numbers(700);
  static Table table(false);
  for (const std::size_t group : {1u, 3u, 50u})
    for (const std::size_t n : {1u, 63u, 500u}) {
      Parameters p = numbers.parameters();
      p.group = group;
      table.take_lanes({.scales = p.scales, .origins = p.origins, .first = 600}, 0, 0, 700);
      table.take_lanes(p, 0, 0, n);
      std::size_t failed = 0;
      for (std::size_t i = n; i < n + 2 * tq::driver::block<Arch>; ++i)
        failed += table.scale[i] != 1.0f || table.origin[i] != 0;
      CHECK(failed == 0);
    }
}

TEST_CASE("a table of one entry has what one of many has, in every lane", "[table]") {
  constexpr std::size_t lanes =
      std::is_same_v<Arch, tq::arch::scalar> ? 1 : tq::driver::block<Arch> / 4;
  Numbers numbers(3);
  numbers.scales = {0.3f, 3e38f, 1e-38f};
  for (std::size_t i = 0; i < numbers.scales.size(); ++i) {
    tq::driver::TableOf<Arch, 1> one(true), usual(true);
    one.take_one(numbers.parameters(), i);
    usual.take(numbers.parameters(), i, 1, 0);
    CHECK(one.has_origins);
    CHECK(one.origin[0] == numbers.offsets[i]);
    CHECK(one.all_correctable == usual.all_correctable);
    for (std::size_t k = 0; k < lanes; ++k) {
      CHECK(one.scale[k] == numbers.scales[i]);
      CHECK(one.inverse[k] == usual.inverse[0]);
      CHECK(one.rest[k] == usual.rest[0]);
    }
  }
}

TEST_CASE("tables without reciprocals or origins have the scales of one that holds all",
          "[table]") {
  Numbers numbers(1000);
  numbers.scales[700] = 1e-38f;
  Parameters p = numbers.parameters();
  p.group = 1;
  p.step = 1;
  using tq::driver::TableColumns, tq::driver::TableOf;
  static Table all(true, false);
  static TableOf<Arch, 1024, TableColumns::origins> with_origins(true, false);
  all.take_lanes(p, 0, 3, 900);
  with_origins.take_lanes(p, 0, 3, 900);
  p.origins = {};
  static TableOf<Arch, 1024, TableColumns::scales> scales(true, false);
  scales.take_lanes(p, 0, 3, 900);
  CHECK(with_origins.all_correctable == all.all_correctable);
  CHECK(scales.all_correctable == all.all_correctable);
  std::size_t failed = 0;
  for (std::size_t i = 0; i < 900 + Table::padding; ++i)
    failed += with_origins.scale[i] != all.scale[i] || with_origins.origin[i] != all.origin[i] ||
              scales.scale[i] != all.scale[i];
  CHECK(failed == 0);
}
