// SPDX-License-Identifier: MIT
#include <tq/core/fit_params.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <string>
#include <vector>

using namespace tq;
using test::has;
using test::refused;

static_assert(Granularity<AnyGranularity>);

namespace {

QuantSpec spec_with(const char* granularity) {
  QuantSpec spec;
  spec.granularity = granularity;
  spec.axis = 1;
  spec.group_size = 4;
  spec.block_rows = 2;
  spec.block_cols = 3;
  return spec;
}

const std::vector<Shape> shapes{{}, {0}, {7}, {1, 5}, {6, 5}, {3, 0}, {3, 4, 9}, {2, 3, 4, 5}};

template <Granularity G>
void same_as(const G& typed, const char* name) {
  INFO(name);
  const AnyGranularity any(spec_with(name));
  for (const Shape& shape : shapes) {
    REQUIRE(any.check(shape) == typed.check(shape));
    if (typed.check(shape) != errc::ok) continue;
    CHECK(any.block(shape) == typed.block(shape));
    CHECK(param_shape(any, shape) == param_shape(typed, shape));
    CHECK(any.grid(shape) ==
          (std::string(name) == "per_tensor" ? Shape{1} : param_shape(typed, shape)));
  }
  QuantSpec told;
  any.describe(told);
  CHECK(told == spec_with(name));
  CHECK(AnyGranularity(told) == any);
}

}  // namespace

TEST_CASE("a granularity by name has the blocks of its type") {
  same_as(PerTensor{}, "per_tensor");
  same_as(PerChannel<1>{}, "per_channel");
  same_as(PerGroup<4, 1>{}, "per_group");
  same_as(PerToken{}, "per_token");
  same_as(PerBlock<2, 3>{}, "per_block");
  CHECK(AnyGranularity{} == AnyGranularity(spec_with("per_tensor")));
  CHECK_FALSE(AnyGranularity{} == AnyGranularity(spec_with("per_token")));
}

TEST_CASE("a granularity by name says what it is and what it needs") {
  CHECK(to_string(AnyGranularity(spec_with("per_group"))) == "per_group(4, axis 1)");
  CHECK(to_string(AnyGranularity(spec_with("per_block"))) == "per_block(2, 3)");
  CHECK(to_string(AnyGranularity{}) == "per_tensor");
  const auto refuse = [](const char* name, const Shape& shape) {
    return refused(errc::bad_axis, [&] { AnyGranularity(spec_with(name)).require("f", shape); });
  };
  CHECK(refuse("per_channel", {7}) ==
        "f: expected a tensor with an axis 1 for per_channel, got shape [7]");
  CHECK(has(refuse("per_block", {7}), "a tensor of rank 2 or more for per_block"));
  CHECK(has(refuse("per_token", {}), "a tensor of rank 1 or more for per_token, got shape []"));
  AnyGranularity{}.require("f", {});
  CHECK(
      has(refused(errc::unknown_name, [] { AnyGranularity(spec_with("per_row")); }), "per_token"));
  QuantSpec none = spec_with("per_group");
  none.group_size = 0;
  CHECK(has(refused(errc::bad_group_size, [&] { (void)AnyGranularity(none); }), "at least 1"));
}

TEST_CASE("parameters may have a granularity that is chosen at run time") {
  using P = QuantParams<int8, AnyGranularity, Asymmetric>;
  const AnyGranularity channels(spec_with("per_channel"));
  const std::vector<Range> ranges{{-1, 2}, {0, 3}};
  const P params = fit_params<P>(channels, ranges);
  const auto typed = fit_params<QuantParams<int8, PerChannel<1>, Asymmetric>>({}, ranges);
  CHECK(params.check({5, 2}) == errc::ok);
  CHECK(params.check({5, 3}) == errc::shape_mismatch);
  for (std::size_t i = 0; i < 2; ++i) CHECK(params.affine(i) == typed.affine(i));
  CHECK(spec_of(params) == spec_of(typed));
}
