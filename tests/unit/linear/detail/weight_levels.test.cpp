// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/linear/detail/weight_levels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/catch.hpp"

using tq::WeightLevels;

TEST_CASE("levels of integers are codes above the lowest, in the bits that they need") {
  const auto check = [](const WeightLevels& map, int width, int highest, int zero) {
    CHECK(map.has_levels);
    CHECK(!map.has_table);
    CHECK(!map.is_coded);
    CHECK(map.width == width);
    CHECK(map.highest == highest);
    CHECK(map.zero == zero);
    CHECK(map.lower == -zero);
    CHECK(map.divisor == 1);
  };
  check(WeightLevels::of<tq::uint2>(), 2, 3, 0);
  check(WeightLevels::of<tq::ternary>(), 2, 2, 1);
  check(WeightLevels::of<tq::int3>(), 3, 7, 4);
  check(WeightLevels::of<tq::int4>(), 4, 15, 8);
  check(WeightLevels::of<tq::uint4>(), 4, 15, 0);
  check(WeightLevels::of<tq::int5>(), 8, 31, 16);
  check(WeightLevels::of<tq::int8>(), 8, 255, 128);
}

TEST_CASE("floats and code books whose values are integers or halves have levels, by a table") {
  constexpr WeightLevels e2m1 = WeightLevels::of<tq::float4_e2m1fn>();
  static_assert(e2m1.has_levels && e2m1.has_table && e2m1.width == 4);
  CHECK(e2m1.divisor == 2);
  CHECK(e2m1.highest == 24);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(e2m1.packed[i] == i);
    CHECK(static_cast<float>(e2m1.table[i] - e2m1.zero) / 2 ==
          tq::float4_e2m1fn::format::decode(static_cast<std::uint32_t>(i)));
  }
  CHECK(e2m1.reals[e2m1.padding] == 0.0f);

  constexpr WeightLevels iq4 = WeightLevels::of<tq::iq4_nl>();
  CHECK(iq4.divisor == 1);
  CHECK(iq4.highest == 240);
  CHECK(iq4.table[0] == 0);
  CHECK(iq4.table[15] - iq4.zero == 113);
  CHECK(iq4.reals[iq4.padding] == 1.0f);

  constexpr WeightLevels binary = WeightLevels::of<tq::binary>();
  static_assert(binary.has_levels && !binary.has_table && binary.width == 2);
  CHECK(binary.packed[0] == 0);
  CHECK(binary.packed[1] == 2);
  CHECK(binary.zero == 1);
}

TEST_CASE("other code books have no levels, but values") {
  constexpr WeightLevels map = WeightLevels::of<tq::nf4>();
  static_assert(!map.has_levels && !map.has_table && map.width == 4);
  CHECK(map.reals == tq::codebooks::nf4::values);
  CHECK(map.padding == 7);
  static_assert(!WeightLevels::of<tq::bnb_fp4>().has_levels);
  static_assert(!tq::GroupedElement<tq::int16> && !tq::GroupedElement<tq::float8_e4m3fn>);
}

TEST_CASE("what a code is packed as, and what no code is") {
  const auto packed = [](const WeightLevels& map) {
    int count = 0;
    for (int v = 0; v < 256; ++v) count += map.is_packed(static_cast<std::uint8_t>(v)) ? 1 : 0;
    return count;
  };
  constexpr WeightLevels int3 = WeightLevels::of<tq::int3>();
  CHECK(int3.pack(-4) == 0);
  CHECK(int3.pack(3) == 7);
  CHECK(packed(int3) == 8);
  CHECK(packed(WeightLevels::of<tq::ternary>()) == 3);
  CHECK(packed(WeightLevels::of<tq::int8>()) == 256);
  constexpr WeightLevels binary = WeightLevels::of<tq::binary>();
  CHECK(binary.pack(1) == 2);
  CHECK(packed(binary) == 2);
  CHECK(!binary.is_packed(1));
  CHECK(packed(WeightLevels::of<tq::iq4_nl>()) == 16);
  CHECK(packed(WeightLevels::of<tq::nf4>()) == 16);
}
