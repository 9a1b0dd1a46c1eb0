// SPDX-License-Identifier: MIT
#include <tq/ptq/factor.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/hessian.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

tq::FloatHessian hessian(std::size_t tokens, std::size_t n, unsigned seed, bool dead = true) {
  const std::vector<float> x = ptq_test::activations(tokens, n, seed, dead);
  tq::FloatHessian h(n);
  h.add(tq::ConstTensorView(x.data(), {tokens, n}));
  return h;
}

bool same(const tq::HessianFactor& a, const tq::HessianFactor& b) {
  bool equal = std::ranges::equal(a.order(), b.order()) &&
               std::ranges::equal(a.pivots(), b.pivots()) && a.damping_used() == b.damping_used();
  for (std::size_t j = 0; j < a.inputs(); ++j)
    for (std::size_t i = 0; i < j; ++i) equal = equal && a.coefficient(i, j) == b.coefficient(i, j);
  return equal;
}

}  // namespace

TEST_CASE("L D L^T is the matrix, and no blocks, threads or instructions show") {
  for (const std::size_t n : {1u, 7u, 64u, 65u, 150u, 203u}) {
    const tq::FloatHessian h = hessian(400, n, 31, false);
    const auto fill = [&](tq::detail::LdlFactor& f) {
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i; j < n; ++j) f.row(i)[j] = h(i, j) + (i == j ? 0.5 : 0.0);
    };
    tq::detail::LdlFactor f(n), scalar(n);
    fill(f), fill(scalar);
    REQUIRE(f.run<tq::arch::native>(test::Threads{}) == n);
    REQUIRE(scalar.run<tq::arch::scalar>(tq::serial) == n);
    // The definition, column by column.
    std::vector<double> l(n * n), d(n);
    double worst = 0;
    bool equal = true;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = k; i < n; ++i) {
        double s = h(k, i) + (i == k ? 0.5 : 0.0);
        for (std::size_t p = 0; p < k; ++p)
          s += tq::detail::uncontracted(-d[p] * l[k * n + p] * l[i * n + p]);
        if (i == k) d[k] = s;
        l[i * n + k] = s / d[k];
        equal = equal && f.row(k)[i] == l[i * n + k] && scalar.row(k)[i] == l[i * n + k];
      }
    equal = equal && std::equal(d.begin(), d.end(), f.pivots().begin());
    CHECK(equal);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i; j < n; ++j) {
        double s = 0;
        for (std::size_t k = 0; k <= i; ++k) s += l[i * n + k] * d[k] * l[j * n + k];
        const double scale = std::sqrt(h(i, i) * h(j, j));
        worst = std::max(worst, std::fabs(s - h(i, j) - (i == j ? 0.5 : 0.0)) / scale);
      }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("U D U^T is the damped Hessian in the order of rounding") {
  const std::size_t n = 45;
  const tq::FloatHessian h = hessian(200, n, 33);
  for (const tq::ColumnOrder order :
       {tq::ColumnOrder{tq::NaturalOrder{}}, tq::ColumnOrder{tq::ByActivation{}},
        tq::ColumnOrder{tq::ByGroup{16}}}) {
    const tq::HessianFactor f = tq::factor(h, {.damping = 0.02, .order = order});
    double mean = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) mean += h(i, i) / static_cast<double>(n - 1);
    CHECK(std::fabs(f.damping_used() - 0.02 * mean) < 1e-12 * mean);
    CHECK(f.dead_columns() == 1);
    CHECK(f.tokens() == 200);
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i; j < n; ++j) {
        double s = i == j ? f.pivots()[j] : f.coefficient(i, j) * f.pivots()[j];
        for (std::size_t k = j + 1; k < n; ++k)
          s += static_cast<double>(f.coefficient(i, k)) * f.pivots()[k] *
               static_cast<double>(f.coefficient(j, k));
        const double wanted = h(f.order()[i], f.order()[j]) + (i == j ? f.damping_used() : 0.0);
        worst = std::max(worst, std::fabs(s - wanted));
      }
    CHECK(worst < 1e-6 * mean * 100);
    CHECK(same(f, tq::factor(h, {.damping = 0.02, .order = order}, test::Threads{})));
    CHECK(same(f, tq::factor<tq::arch::scalar>(h, {.damping = 0.02, .order = order})));
  }
}

TEST_CASE("a factor takes powers of two out, and permuted inputs, without a change") {
  const std::size_t n = 30, tokens = 90;
  std::vector<float> x = ptq_test::activations(tokens, n, 35);
  const auto factor_of = [&] {
    tq::FloatHessian h(n);
    h.add(tq::ConstTensorView(x.data(), {tokens, n}));
    return tq::factor(h);
  };
  const tq::HessianFactor f = factor_of();
  std::vector<float> reversed(x.size());
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < n; ++i) reversed[t * n + i] = 8.0f * x[t * n + n - 1 - i];
  x = reversed;
  const tq::HessianFactor g = factor_of();
  bool equal = g.damping_used() == 64 * f.damping_used();
  for (std::size_t j = 0; j < n; ++j) {
    equal = equal && g.order()[j] == n - 1 - f.order()[j] && g.pivots()[j] == 64 * f.pivots()[j];
    for (std::size_t i = 0; i < j; ++i) equal = equal && f.coefficient(i, j) == g.coefficient(i, j);
  }
  CHECK(equal);
}

TEST_CASE("a factor refuses Hessians that it cannot use") {
  using test::raises;
  const auto fails = [&](tq::errc code, const char* text, const tq::FloatHessian& h,
                         const tq::FactorOptions& options) {
    raises(code, {"tq::factor", text}, [&] { static_cast<void>(tq::factor(h, options)); });
  };
  fails(tq::errc::no_data, "got none", tq::FloatHessian(5), {.allow_few_tokens = true});
  fails(tq::errc::no_data, "at least 6 tokens", hessian(5, 21, 37), {});
  CHECK(tq::factor(hessian(5, 21, 37), {.allow_few_tokens = true}).tokens() == 5);
  CHECK(tq::factor(hessian(6, 21, 37)).tokens() == 6);
  CHECK(tq::factor(hessian(1, 1, 37, false)).inputs() == 1);
  fails(tq::errc::bad_argument, "damping", hessian(50, 9, 37), {.damping = -0.1});
  fails(tq::errc::bad_argument, "damping", hessian(50, 9, 37), {.damping = std::nan("")});
  raises(tq::errc::bad_group_size, {"tq::column_order"},
         [&] { static_cast<void>(tq::factor(hessian(50, 9, 37), {.order = tq::ByGroup{0}})); });
  fails(tq::errc::singular, "column 8", hessian(50, 9, 37), {.damping = 0});  // always 0
  fails(tq::errc::singular, "column", hessian(5, 9, 37, false), {.damping = 0});
  tq::FloatHessian dead(3);
  const std::vector<float> zeros(30);
  dead.add(tq::ConstTensorView(zeros.data(), {10, 3}));
  fails(tq::errc::no_data, "not always 0", dead, {});
}
