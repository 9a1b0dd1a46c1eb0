// SPDX-License-Identifier: MIT
#include <tq/ptq/hadamard.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;

// The matrix R, row by row.
std::vector<float> matrix_of(const tq::Hadamard& h) {
  const std::size_t n = h.inputs();
  std::vector<float> identity(n * n);
  for (std::size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
  return h.rotate(tq::ConstTensorView(identity.data(), {n, n}));
}

void check_orthogonal(std::size_t n, const tq::HadamardOptions& options) {
  INFO("order " << n << ", blocks of " << options.block);
  const tq::Hadamard h(n, options);
  const std::vector<float> r = matrix_of(h);
  const std::size_t b = h.block();
  double largest = 0, sizes = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += double{r[i * n + k]} * double{r[j * n + k]};
      largest = std::max(largest, std::fabs(sum - (i == j ? 1.0 : 0.0)));
      const double size = i / b == j / b ? 1 / std::sqrt(static_cast<double>(b)) : 0.0;
      sizes = std::max(sizes, std::fabs(std::fabs(double{r[i * n + j]}) - size));
    }
  CHECK(largest < 1e-6);
  CHECK(sizes < 1e-7);
  // Back again.
  const std::vector<float> x = ptq_test::activations(3, n, 1);
  const std::vector<float> y = h.rotate(tq::ConstTensorView(x.data(), {3, n})),
                           z = h.rotate_back(tq::ConstTensorView(y.data(), {3, n}));
  double difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    difference = std::max(difference, std::fabs(double{x[i]} - double{z[i]}));
  CHECK(difference < 1e-4);
}

}  // namespace

TEST_CASE("Hadamard matrices are orthogonal, and their entries have one size") {
  for (const std::size_t n : {1u, 2u, 4u, 64u, 12u, 20u, 24u, 44u, 48u, 60u, 88u, 108u})
    check_orthogonal(n, {.seed = n});
  check_orthogonal(172, {.block = 4});
  check_orthogonal(96, {.block = 32, .seed = 7});
  check_orthogonal(36, {.block = 12, .seed = 7});
}

TEST_CASE("a rotation is that of its signs, and of the small matrices of Sylvester and Paley") {
  const tq::Hadamard h({1, -1, 1, 1});
  const float x[4] = {1, 2, 3, 4};
  CHECK((h.rotate(x) == std::vector<float>{3, 1, -4, 2}));
  const tq::Hadamard twelve(12);
  const std::vector<float> m = matrix_of(twelve);
  const float one = 1 / std::sqrt(12.0f);
  const int row[12] = {-1, 1, -1, 1, -1, -1, -1, 1, 1, 1, -1, 1};  // 1, 3, 4, 5, 9 are squares
  for (std::size_t j = 0; j < 12; ++j) {
    CHECK(m[j] == one);
    CHECK(m[12 + j] == one * static_cast<float>(row[j]));
  }
  CHECK(tq::Hadamard(64, {.seed = 5}).signs() == tq::Hadamard(64, {.seed = 5}).signs());
  CHECK(tq::Hadamard(64, {.seed = 5}).signs() != tq::Hadamard(64, {.seed = 6}).signs());
  const std::vector<std::int8_t> ones(64, 1);
  CHECK(tq::Hadamard(64).signs() == ones);
}

TEST_CASE("rotated inputs and weights have the products of those before") {
  const Layer l(9, 40, 3);
  const tq::Hadamard h(40, {.seed = 3});
  const std::vector<float> x = h.rotate(l.inputs()), w = h.rotate(l.view());
  CHECK((h.rotate(l.inputs(), test::Threads{}) == x));
  double largest = 0, size = 0;
  for (std::size_t t = 0; t < l.tokens; ++t)
    for (std::size_t r = 0; r < l.outputs; ++r) {
      double before = 0, after = 0;
      for (std::size_t c = 0; c < 40; ++c) {
        before += double{l.x[t * 40 + c]} * double{l.w[r * 40 + c]};
        after += double{x[t * 40 + c]} * double{w[r * 40 + c]};
      }
      largest = std::max(largest, std::fabs(before - after));
      size = std::max(size, std::fabs(before));
    }
  CHECK(largest < 1e-6 * size);

  // The Hessian of rotated inputs, which are rounded to float32 here.
  tq::FloatHessian seen(40);
  seen.add(tq::ConstTensorView(x.data(), {l.tokens, 40}));
  const tq::FloatHessian got = h.rotate_hessian(l.h);
  CHECK(got == h.rotate_hessian(l.h, test::Threads{}));
  CHECK(got.tokens() == l.tokens);
  double difference = 0;
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 40; ++j)
      difference = std::max(difference,
                            std::fabs(got(i, j) - seen(i, j)) / std::sqrt(seen(i, i) * seen(j, j)));
  CHECK(difference < 1e-6);
}

TEST_CASE("rotations refuse orders without a matrix, and other inputs") {
  using test::raises;
  raises(tq::errc::unsupported, {"tq::Hadamard", "got 28"}, [] { tq::Hadamard(28); });
  raises(tq::errc::unsupported, {"got 13696"}, [] { tq::Hadamard(13696); });
  raises(tq::errc::unsupported, {"got 3"}, [] { tq::Hadamard(3); });
  raises(tq::errc::bad_group_size, {"got 16 of 40 inputs"},
         [] { tq::Hadamard(40, {.block = 16}); });
  raises(tq::errc::bad_group_size, {"got 0 of 0"}, [] { tq::Hadamard(0); });
  raises(tq::errc::bad_argument, {"signs of 1 or -1, got 0 for input 1"},
         [] { tq::Hadamard(std::vector<std::int8_t>{1, 0}); });
  const Layer l(2, 12, 1);
  const tq::Hadamard h(24);
  raises(tq::errc::shape_mismatch, {"tq::Hadamard::rotate", "24"},
         [&] { static_cast<void>(h.rotate(l.view())); });
  raises(tq::errc::shape_mismatch, {"rotate_hessian", "expected 24 inputs, got 12"},
         [&] { static_cast<void>(h.rotate_hessian(l.h)); });
}
