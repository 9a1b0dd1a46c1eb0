// SPDX-License-Identifier: MIT
#include <tq/core/granularity.hpp>

#include <type_traits>

#include "support/catch.hpp"

namespace {

struct PerMatrix {
  static constexpr std::string_view name = "per_matrix";
  static tq::errc check(const tq::Shape& s) noexcept {
    return s.rank() == 3 ? tq::errc::ok : tq::errc::bad_axis;
  }
  static tq::Shape block(const tq::Shape& s) noexcept { return {1, s[1], s[2]}; }
};
struct CheckMayThrow {
  static constexpr std::string_view name = "check_may_throw";
  static tq::errc check(const tq::Shape&) { return tq::errc::ok; }
  static tq::Shape block(const tq::Shape& s) noexcept { return s; }
};

static_assert(tq::Granularity<tq::PerTensor>);
static_assert(tq::Granularity<tq::PerChannel<0>>);
static_assert(tq::Granularity<tq::PerChannel<>>);
static_assert(tq::Granularity<tq::PerGroup<32>>);
static_assert(tq::Granularity<tq::PerGroup<>>);
static_assert(tq::Granularity<tq::PerGroup<tq::dynamic, tq::dynamic>>);
static_assert(tq::Granularity<tq::PerToken>);
static_assert(tq::Granularity<tq::PerBlock<2, 3>>);
static_assert(tq::Granularity<tq::PerBlock<>>);
static_assert(tq::Granularity<PerMatrix>);
static_assert(!tq::Granularity<CheckMayThrow>);
static_assert(!tq::Granularity<int>);

// Numbers in the type take no room and need no argument.
static_assert(std::is_empty_v<tq::PerChannel<1>> && std::is_empty_v<tq::PerGroup<32>> &&
              std::is_empty_v<tq::PerBlock<8>>);
static_assert(!std::is_default_constructible_v<tq::PerChannel<>>);
static_assert(!std::is_default_constructible_v<tq::PerGroup<>>);
static_assert(!std::is_convertible_v<int, tq::PerChannel<>>);

}  // namespace

TEST_CASE("per tensor: one parameter, for an empty tensor too", "[granularity]") {
  const tq::PerTensor g;
  CHECK(param_count(g, {2, 3}) == 1);
  CHECK(param_count(g, {}) == 1);
  CHECK(param_count(g, {2, 0}) == 1);
  CHECK(g.check({}) == tq::errc::ok);
}

TEST_CASE("per channel: one parameter per index of an axis", "[granularity]") {
  CHECK(param_count(tq::PerChannel<0>{}, {2, 3, 4}) == 2);
  CHECK(param_count(tq::PerChannel<1>{}, {2, 3, 4}) == 3);
  CHECK(param_count(tq::PerChannel<-1>{}, {2, 3, 4}) == 4);
  CHECK(param_count(tq::PerChannel<-3>{}, {2, 3, 4}) == 2);
  CHECK(tq::PerChannel<-4>{}.check({2, 3, 4}) == tq::errc::bad_axis);
  CHECK(tq::PerChannel<3>{}.check({2, 3, 4}) == tq::errc::bad_axis);
  CHECK(tq::PerChannel<0>{}.check({}) == tq::errc::bad_axis);
  const tq::PerChannel<> d(1);
  CHECK(d.axis() == 1);
  CHECK(param_count(d, {2, 3, 4}) == 3);
  CHECK(tq::PerChannel<>(9).check({2}) == tq::errc::bad_axis);
  CHECK(tq::PerChannel<>(1) == d);
  CHECK_FALSE(tq::PerChannel<>(0) == d);
  CHECK(param_count(tq::PerChannel<0>{}, {3, 0}) == 3);
  CHECK(param_count(tq::PerChannel<1>{}, {3, 0}) == 0);
  CHECK(param_count(tq::PerChannel<1>{}, {0, 3}) == 3);
}

TEST_CASE("per group: the last group of a line may be shorter", "[granularity]") {
  CHECK(param_shape(tq::PerGroup<4>{}, {3, 10}) == tq::Shape{3, 3});
  CHECK(param_shape(tq::PerGroup<4, 0>{}, {10, 3}) == tq::Shape{3, 3});
  CHECK(param_shape(tq::PerGroup<32>{}, {3, 10}) == tq::Shape{3, 1});
  CHECK(param_shape(tq::PerGroup<>(5), {2, 10}) == tq::Shape{2, 2});
  CHECK(param_shape(tq::PerGroup<tq::dynamic, tq::dynamic>(5, -2), {11, 2}) == tq::Shape{3, 2});
  CHECK(tq::PerGroup<>(0).check({4}) == tq::errc::bad_group_size);
  CHECK(tq::PerGroup<>(-3).check({4}) == tq::errc::bad_group_size);
  CHECK(tq::PerGroup<4>{}.check({}) == tq::errc::bad_axis);
  CHECK(tq::PerGroup<4, 2>{}.check({4, 4}) == tq::errc::bad_axis);
  CHECK(param_count(tq::PerGroup<4>{}, {3, 0}) == 0);
}

TEST_CASE("per token: one parameter per row", "[granularity]") {
  CHECK(param_count(tq::PerToken{}, {2, 3, 4}) == 6);
  CHECK(param_count(tq::PerToken{}, {4}) == 1);
  CHECK(param_count(tq::PerToken{}, {2, 3, 0}) == 6);
  CHECK(param_count(tq::PerToken{}, {2, 0, 3}) == 0);
  CHECK(tq::PerToken{}.check({}) == tq::errc::bad_axis);
}

TEST_CASE("per block: tiles over the last two axes", "[granularity]") {
  CHECK(param_shape(tq::PerBlock<2, 3>{}, {5, 7}) == tq::Shape{3, 3});
  CHECK(param_shape(tq::PerBlock<2>{}, {4, 5, 7}) == tq::Shape{4, 3, 4});
  CHECK(param_shape(tq::PerBlock<>(128, 128), {5, 300}) == tq::Shape{1, 3});
  CHECK(param_shape(tq::PerBlock<2, 3>{}, {0, 7}) == tq::Shape{0, 3});
  CHECK(tq::PerBlock<>(0, 3).check({4, 4}) == tq::errc::bad_group_size);
  CHECK(tq::PerBlock<2>{}.check({4}) == tq::errc::bad_axis);
}

TEST_CASE("a granularity of the user's own", "[granularity]") {
  CHECK(tq::param_count(PerMatrix{}, {4, 2, 3}) == 4);
}
