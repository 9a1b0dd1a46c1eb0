// SPDX-License-Identifier: MIT
#include <tq/scheme/detail/stored_numbers.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace tq;

TEST_CASE("numbers whose type is not known read as those of the type") {
  const StoredNumbers<float> none;
  CHECK(none.empty());
  CHECK(none.values().empty());
  CHECK(none.get_if<Scales<float>>() == nullptr);

  const Scales<TwoLevel<float8_e4m3fn>> scales({0x38, 0x40, 0x00}, 0.5f);
  const StoredNumbers<float> some = scales;
  CHECK(some.size() == 3);
  CHECK(some.values() == std::vector<float>{0.5f, 1.0f, 0.0f});
  CHECK(some[1] == 1.0f);
  REQUIRE(some.get_if<Scales<TwoLevel<float8_e4m3fn>>>() != nullptr);
  CHECK(*some.get_if<Scales<TwoLevel<float8_e4m3fn>>>() == scales);
  CHECK(some.get_if<Scales<float8_e4m3fn>>() == nullptr);

  const std::vector<std::int32_t> zeros{-4, 3, 0};
  const StoredNumbers<std::int32_t> points = ZeroPoints<int3>(std::span(zeros));
  CHECK(points.values() == zeros);
  CHECK(points.get_if<ZeroPoints<int3>>()->stored().size() == 2);
  CHECK(points.get_if<ZeroPoints<int4>>() == nullptr);
}

TEST_CASE("equal numbers of different types are not the same") {
  const StoredNumbers<float> none, a = Scales<float>{1, 2}, b = Scales<float>{1, 2},
                                   c = Scales<float>{1, 3}, d = Scales<float16>({0x3c00, 0x4000});
  CHECK(a == b);
  CHECK_FALSE(a == c);
  CHECK(a.values() == d.values());
  CHECK_FALSE(a == d);
  CHECK_FALSE(a == none);
  CHECK(none == StoredNumbers<float>());
}

TEST_CASE("numbers move in and out without a copy, and what was moved from has none") {
  std::vector<float> memory{1, 2, 3};
  const float* const where = memory.data();
  StoredNumbers<float> a = Scales<float>(std::move(memory));
  CHECK(a.get_if<Scales<float>>()->values().data() == where);
  StoredNumbers<float> b = std::move(a);
  CHECK(a.empty());  // NOLINT: that is what is asked
  CHECK(a == StoredNumbers<float>());
  const Scales<float> out = std::move(*b.get_if<Scales<float>>());
  CHECK(out.values().data() == where);
}
