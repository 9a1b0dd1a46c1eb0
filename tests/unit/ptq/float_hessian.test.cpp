// SPDX-License-Identifier: MIT
#include <tq/ptq/float_hessian.hpp>

#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

TEST_CASE("a FloatHessian adds exact products in the order of tokens, however they are cut") {
  for (const std::size_t n : {1u, 7u, 8u, 33u}) {
    const std::size_t tokens = 700;
    const std::vector<float> x = ptq_test::activations(tokens, n, 21, false);
    const tq::ConstTensorView view(x.data(), {tokens, n});
    tq::FloatHessian h(n), parts(n), scalar(n);
    h.add(view);
    for (const std::size_t from : {0u, 1u, 300u, 699u})
      parts.add(view.slice(0, from,
                           from == 0     ? 1
                           : from == 1   ? 300
                           : from == 300 ? 699
                                         : 700),
                test::Threads{});
    scalar.add<tq::arch::scalar>(view, test::Backwards{});
    CHECK(parts == h);
    CHECK(scalar == h);
    std::vector<double> sums;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i; j < n; ++j) {
        double sum = 0;
        for (std::size_t t = 0; t < tokens; ++t)
          sum += static_cast<double>(x[t * n + i]) * static_cast<double>(x[t * n + j]);
        sums.push_back(sum);
      }
    CHECK(h.state().sums == sums);
    CHECK(h(n - 1, 0) == sums[n - 1] / 700.0);
    CHECK(tq::FloatHessian::from_state(h.state()) == h);
  }
}

TEST_CASE("a FloatHessian leaves out tokens without numbers and merges sums") {
  std::vector<float> x = {1, 2, std::numeric_limits<float>::quiet_NaN(), 3, -4, 5};
  tq::FloatHessian h(2), other(2);
  h.add(tq::ConstTensorView(x.data(), {3, 2}));
  other.add(tq::ConstTensorView(x.data(), {1, 2}));
  h.merge(other);
  CHECK(h.tokens() == 3);
  CHECK(h.left_out() == 1);
  CHECK(h.state().sums == std::vector<double>{18, -16, 33});
}

TEST_CASE("a FloatHessian refuses other shapes and impossible states") {
  using test::raises;
  const std::vector<float> x(6);
  raises(tq::errc::bad_argument, {"inputs, got 0"}, [] { tq::FloatHessian h(0); });
  tq::FloatHessian h(3);
  raises(tq::errc::shape_mismatch, {"[..., 3], got [3, 2]"},
         [&] { h.add(tq::ConstTensorView(x.data(), {3, 2})); });
  raises(tq::errc::shape_mismatch, {"3 inputs, got 2"}, [&] { h.merge(tq::FloatHessian(2)); });
  const auto refuses = [&](const char* text, tq::FloatHessian::State bad) {
    raises(tq::errc::malformed, {text},
           [&] { static_cast<void>(tq::FloatHessian::from_state(bad)); });
  };
  refuses("3 sums of 2 inputs, got 2", {2, 1, 0, {1, 1}});
  refuses("finite sums", {1, 1, 0, {std::numeric_limits<double>::infinity()}});
  refuses("sums of squares", {2, 1, 0, {1, 0, -1}});
}
