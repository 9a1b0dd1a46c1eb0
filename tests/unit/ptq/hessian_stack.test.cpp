// SPDX-License-Identifier: MIT
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ptq/hessian_stack.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

constexpr std::size_t groups = 5, inputs_of_group = 6, tokens = 40, all = groups * inputs_of_group;

// The inputs of a group by themselves.
std::vector<float> of_group(const std::vector<float>& x, std::size_t g) {
  std::vector<float> out;
  for (std::size_t t = 0; t < x.size() / all; ++t)
    for (std::size_t i = 0; i < inputs_of_group; ++i)
      out.push_back(x[t * all + g * inputs_of_group + i]);
  return out;
}
tq::ConstTensorView view_of(const std::vector<float>& x, std::size_t width) {
  return {x.data(), {x.size() / width, width}};
}
using ptq_test::Ranges;
using ptq_test::ranges_of;

}  // namespace

TEST_CASE("a stack has the Hessian of every group, however tokens are cut, merged and threaded") {
  std::vector<float> x = ptq_test::activations(tokens, all, 3);
  x[7 * all + 9] = std::numeric_limits<float>::quiet_NaN();  // of group 1
  const tq::ConstTensorView view = view_of(x, all);
  const Ranges range = ranges_of(view_of(ptq_test::activations(tokens, all, 3), all));
  tq::HessianStack<tq::Hessian> whole(groups, range), threaded = whole, first = whole,
                                                      second = whole;
  tq::HessianStack<tq::FloatHessian> floats(groups, inputs_of_group);
  whole.add(view);
  threaded.add(view, test::Threads{3});
  first.add(view.slice(0, 0, 13));
  second.add(view.slice(0, 13, tokens));
  first.merge(second);
  floats.add(view.slice(0, 0, 13));
  floats.add(view.slice(0, 13, tokens), test::Threads{2});
  CHECK(threaded == whole);
  CHECK(first == whole);
  CHECK(whole.tokens() == tokens - 1);
  CHECK(whole.left_out() == 1);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::vector<float> own = of_group(x, g);
    tq::Hessian h(std::span(range.accumulators()).subspan(g * inputs_of_group, inputs_of_group));
    h.add(view_of(own, inputs_of_group));
    tq::FloatHessian f(inputs_of_group);
    f.add(view_of(own, inputs_of_group));
    CHECK(whole[g] == h);
    CHECK(floats[g] == f);
    CHECK(h.tokens() == tokens - (g == 1));
  }
}

TEST_CASE("a stack has the blocks on the diagonal of the Hessian of all inputs") {
  const std::vector<float> x = ptq_test::activations(tokens, all, 8);
  const tq::ConstTensorView view = view_of(x, all);
  tq::Hessian whole(ranges_of(view));
  tq::FloatHessian floats(all);
  tq::HessianStack<tq::Hessian> h(groups, ranges_of(view));
  tq::HessianStack<tq::FloatHessian> f(groups, inputs_of_group);
  whole.add(view);
  floats.add(view);
  h.add(view);
  f.add(view);
  CHECK(tq::HessianStack<tq::Hessian>::of_whole(whole, groups) == h);
  CHECK(tq::HessianStack<tq::FloatHessian>::of_whole(floats, groups) == f);
  test::raises(tq::errc::shape_mismatch, {"multiple of 7", "got 30"},
               [&] { (void)tq::HessianStack<tq::Hessian>::of_whole(whole, 7); });
}

TEST_CASE("tokens that do not fit a stack change nothing") {
  using Stack = tq::HessianStack<tq::Hessian>;
  std::vector<float> x = ptq_test::activations(tokens, all, 3);
  const Ranges range = ranges_of(view_of(x, all));
  Stack h(groups, range);
  h.add(view_of(x, all));
  const Stack before = h;
  x[all - 2] = 1e6f;  // of the last group
  CHECK_THROWS_AS(h.add(view_of(x, all)), tq::error);
  test::raises(tq::errc::shape_mismatch, {"[..., 30]", "5 groups of 6 inputs", "[50, 24]"},
               [&] { h.add(tq::ConstTensorView(x.data(), {50, 24})); });
  test::raises(tq::errc::shape_mismatch, {"expected 5 groups, got 3"},
               [&] { h.merge(Stack(3, range)); });
  CHECK(h == before);
  test::raises(tq::errc::shape_mismatch, {"multiple of 4", "got 30"}, [&] { Stack(4, range); });
  test::raises(tq::errc::bad_argument, {"expected groups of inputs, got none"},
               [&] { Stack(0, range); });
  test::raises(tq::errc::shape_mismatch, {"groups of 2 inputs each, got 3"}, [&] {
    tq::HessianStack<tq::FloatHessian>({tq::FloatHessian(2), tq::FloatHessian(3)});
  });
}
