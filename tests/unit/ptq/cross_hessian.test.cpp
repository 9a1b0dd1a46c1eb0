// SPDX-License-Identifier: MIT
#include <tq/ptq/cross_hessian.hpp>

#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

bool same(const tq::CrossHessian& a, const tq::CrossHessian& b) {
  for (std::size_t i = 0; i < a.inputs(); ++i)
    for (std::size_t j = 0; j < a.inputs(); ++j)
      if (a(i, j) != b(i, j)) return false;
  return a.tokens() == b.tokens() && a.left_out() == b.left_out();
}

}  // namespace

TEST_CASE("cross products are the mean products of changes with inputs") {
  constexpr std::size_t tokens = 300, n = 19;  // more tokens than are taken at once
  std::vector<float> x = ptq_test::activations(tokens, n, 1),
                     f = ptq_test::activations(tokens, n, 2);
  x[2 * n + 3] = std::numeric_limits<float>::quiet_NaN();
  f[5 * n] = std::numeric_limits<float>::infinity();
  const tq::ConstTensorView view(x.data(), {tokens, n}), other(f.data(), {tokens, n});
  tq::CrossHessian c(n);
  c.add(view, other);
  CHECK(c.tokens() == tokens - 2);
  CHECK(c.left_out() == 2);
  bool equal = true;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;  // of multiples of 2^-28 below 2^25: exact
      for (std::size_t t = 0; t < tokens; ++t)
        if (t != 2 && t != 5)
          sum += (static_cast<double>(f[t * n + i]) - static_cast<double>(x[t * n + i])) *
                 static_cast<double>(x[t * n + j]);
      equal = equal && c(i, j) == sum / (tokens - 2);
    }
  CHECK(equal);

  tq::CrossHessian cut(n), threads(n), scalar(n), merged(n);
  cut.add(view.slice(0, 0, 7), other.slice(0, 0, 7));
  cut.add(view.slice(0, 7, tokens), other.slice(0, 7, tokens));
  threads.add(view, other, test::Threads{});
  scalar.add<tq::arch::scalar>(view, other);
  merged.merge(c);
  CHECK(same(cut, c));
  CHECK(same(threads, c));
  CHECK(same(scalar, c));
  CHECK(same(merged, c));
}

TEST_CASE("cross products refuse other shapes") {
  using test::raises;
  const std::vector<float> x(12);
  tq::CrossHessian c(4);
  raises(tq::errc::shape_mismatch, {"tq::CrossHessian::add", "[3, 4], got [2, 4]"}, [&] {
    c.add(tq::ConstTensorView(x.data(), {3, 4}), tq::ConstTensorView(x.data(), {2, 4}));
  });
  raises(tq::errc::shape_mismatch, {"[..., 4], got [4, 3]"}, [&] {
    c.add(tq::ConstTensorView(x.data(), {4, 3}), tq::ConstTensorView(x.data(), {4, 3}));
  });
  raises(tq::errc::shape_mismatch, {"expected 4 inputs, got 3"},
         [&] { c.merge(tq::CrossHessian(3)); });
  raises(tq::errc::bad_argument, {"tq::CrossHessian"}, [] { tq::CrossHessian(0); });
  CHECK(c.tokens() == 0);
}
