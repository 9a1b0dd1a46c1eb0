// SPDX-License-Identifier: MIT
#include <tq/layouts/grouped_weight.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

using Order = std::vector<std::size_t>;
using Groups = std::vector<std::int32_t>;

// Loads codes that count up in the order of the checkpoint.
template <int Axis>
auto counting(const tq::GroupedShape& shape, const Groups& g_idx) {
  using Params = tq::GroupedParams<tq::uint8, Axis, tq::Asymmetric>;
  std::vector<float> scales(shape.groups() * shape.outputs);
  std::vector<std::int32_t> zeros(scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = static_cast<float>(i + 1);
    zeros[i] = static_cast<std::int32_t>(i);
  }
  return tq::detail::grouped_weight<Params>("f", shape, scales, zeros, g_idx,
                                            [](std::span<std::uint8_t> codes) {
                                              for (std::size_t i = 0; i < codes.size(); ++i)
                                                codes[i] = static_cast<std::uint8_t>(i);
                                            });
}

template <int Axis>
void check_values(const tq::GroupedShape& shape, const Groups& g_idx) {
  const auto weight = counting<Axis>(shape, g_idx);
  const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
  CHECK(weight.tensor.shape() == (Axis == 0 ? tq::Shape{k, n} : tq::Shape{n, k}));
  const std::vector<float> got = tq::dequantize(weight);
  REQUIRE(got.size() == k * n);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t at = Axis == 0 ? i * n + j : j * k + i;
      const std::size_t g =
          g_idx.empty() ? i / shape.group_size : static_cast<std::size_t>(g_idx[i]);
      const std::size_t param = Axis == 0 ? g * n + j : j * groups + g;
      const auto code = static_cast<double>(at % 256);
      INFO("axis " << Axis << ", input " << i << ", output " << j);
      CHECK(static_cast<double>(got[at]) ==
            (code - static_cast<double>(param)) * static_cast<double>(param + 1));
    }
}

}  // namespace

TEST_CASE("groups cover the inputs, the last one the rest", "[grouped_weight]") {
  CHECK(tq::GroupedShape{64, 1, 32}.groups() == 2);
  CHECK(tq::GroupedShape{65, 1, 32}.groups() == 3);
  CHECK(tq::GroupedShape{5, 1, 32}.groups() == 1);
  CHECK(tq::GroupedShape{0, 1, 32}.groups() == 0);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK(tq::GroupedShape{most, 1, 2}.groups() == most / 2 + 1);
}

TEST_CASE("the order of inputs puts groups together and keeps theirs", "[grouped_weight]") {
  CHECK(tq::group_order({6, 1, 2}, Groups{2, 0, 1, 0, 2, 1}) == Order{1, 3, 2, 5, 0, 4});
  CHECK(tq::group_order({6, 1, 2}, Groups{0, 0, 1, 1, 2, 2}) == Order{0, 1, 2, 3, 4, 5});
  CHECK(tq::group_order({5, 1, 2}, Groups{2, 1, 0, 1, 0}) == Order{2, 4, 1, 3, 0});
  CHECK(tq::group_order({0, 1, 2}, Groups{}) == Order{});
}

TEST_CASE("a g_idx that describes no groups is refused", "[grouped_weight]") {
  test::raises(tq::errc::shape_mismatch,
               {"tq::group_order", "expected 4 entries of g_idx", "got 3"},
               [] { (void)tq::group_order({4, 1, 2}, Groups{0, 0, 1}); });
  test::raises(tq::errc::bad_argument, {"expected groups in [0, 2)", "got 2 for input 3"},
               [] { (void)tq::group_order({4, 1, 2}, Groups{0, 0, 1, 2}); });
  test::raises(tq::errc::bad_argument, {"got -1 for input 0"},
               [] { (void)tq::group_order({4, 1, 2}, Groups{-1, 0, 1, 1}); });
  test::raises(tq::errc::unsupported, {"expected 2 inputs in group 0, got more"},
               [] { (void)tq::group_order({4, 1, 2}, Groups{0, 0, 0, 1}); });
  test::raises(tq::errc::unsupported, {"expected 1 inputs in group 2, got more"},
               [] { (void)tq::group_order({5, 1, 2}, Groups{0, 0, 2, 1, 2}); });
  test::raises(tq::errc::bad_group_size, {"expected a group size", "got 0"},
               [] { (void)tq::group_order({4, 1, 0}, Groups{0, 0, 1, 1}); });
}

TEST_CASE("a weight is dequantized in the order of the checkpoint", "[grouped_weight]") {
  check_values<0>({6, 3, 2}, {});
  check_values<1>({6, 3, 2}, {});
  check_values<0>({6, 3, 2}, {2, 0, 1, 0, 2, 1});
  check_values<1>({6, 3, 2}, {2, 0, 1, 0, 2, 1});
  check_values<0>({5, 4, 2}, {2, 1, 0, 1, 0});
  check_values<1>({5, 4, 2}, {2, 1, 0, 1, 0});
  check_values<0>({0, 4, 2}, {});
  check_values<1>({4, 0, 2}, {});

  CHECK(counting<0>({6, 3, 2}, {0, 0, 1, 1, 2, 2}).input_order.empty());
  CHECK(counting<0>({6, 3, 2}, {2, 0, 1, 0, 2, 1}).input_order == Order{1, 3, 2, 5, 0, 4});
}

TEST_CASE("an output or an order of another size is refused", "[grouped_weight]") {
  auto weight = counting<0>({6, 3, 2}, {});
  std::vector<float> out(17, 4.0f);
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "18", "got 17"},
               [&] { tq::dequantize(weight, out); });
  out.push_back(4.0f);
  weight.input_order = {0, 1, 2, 3, 4};
  test::raises(tq::errc::shape_mismatch, {"an input order of 6, got 5"},
               [&] { tq::dequantize(weight, out); });
  weight.input_order = {0, 1, 2, 3, 4, 6};
  test::raises(tq::errc::bad_argument, {"expected inputs in [0, 6)", "got 6"},
               [&] { tq::dequantize(weight, out); });
  CHECK(out == std::vector<float>(18, 4.0f));
}

TEST_CASE("group sizes and extents out of range are refused", "[grouped_weight]") {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  test::raises(tq::errc::bad_group_size, {"f", "[1, 2147483647]", "got 2147483648"},
               [] { tq::detail::require_grouped("f", {1, 1, std::size_t{1} << 31}); });
  test::raises(tq::errc::bad_argument, {"f", "inputs and outputs"},
               [] { tq::detail::require_grouped("f", {most, 2, 1}); });
}
