// SPDX-License-Identifier: MIT
#include <tq/ptq/mean_squares.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

TEST_CASE("mean squares are those of every input, exactly") {
  constexpr std::size_t n = 150;
  for (const std::size_t tokens : {1u, 2u, 300u}) {
    // Integers times a power of two for each input: sums of squares are exact in 64 bits.
    std::mt19937 random(5);
    std::vector<float> x(tokens * n);
    std::vector<std::uint64_t> sums(n);
    const auto exponent = [](std::size_t i) { return static_cast<int>(i % 3) * 100 - 140; };
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t i = 0; i < n; ++i) {
        const auto v = static_cast<std::int32_t>(random() % 2001) - 1000;
        x[t * n + i] = std::ldexp(static_cast<float>(v), exponent(i));
        sums[i] += static_cast<std::uint64_t>(v * v);
      }
    tq::MeanSquares squares(n);
    squares.add(tq::ConstTensorView(x.data(), {tokens, n}));
    CHECK(squares.tokens() == tokens);
    for (std::size_t i = 0; i < n; ++i) {
      const double sum = std::ldexp(static_cast<double>(sums[i]), 2 * exponent(i));
      CHECK(squares.sum(i) == sum);
      CHECK(squares.mean(i) == sum / static_cast<double>(tokens));
    }
  }
  // The extremes of float32, and cancellation of nothing.
  const std::vector<float> edges{0x1.fffffep127f, 0x1p-149f, -1.0f, 0.0f,
                                 0x1p-149f,       1.0f,      1.0f,  -0.0f};
  tq::MeanSquares squares(4);
  squares.add(tq::ConstTensorView(edges.data(), {2, 4}));
  CHECK(squares.sum(0) == 0x1.fffffep127 * 0x1.fffffep127);
  CHECK(squares.state().sums[0][0] == 1);
  CHECK(squares.sum(1) == 1.0);
  CHECK(squares.state().sums[1][0] == 1);
  CHECK(squares.mean(2) == 1.0);
  CHECK(squares.sum(3) == 0.0);
}

TEST_CASE("any batches, threads, instructions and merges give the same mean squares") {
  const std::size_t n = 130, tokens = 700;
  const std::vector<float> x = ptq_test::activations(tokens, n, 5);
  const tq::ConstTensorView view(x.data(), {tokens, n});
  tq::MeanSquares whole(n);
  whole.add(view);
  tq::MeanSquares scalar(n);
  scalar.add<tq::arch::scalar>(view, test::Backwards{});
  CHECK(scalar == whole);
  tq::MeanSquares parts[3] = {whole, tq::MeanSquares(n), tq::MeanSquares(n)};
  parts[0] = tq::MeanSquares(n);
  for (std::size_t from = 0, k = 0; from < tokens; ++k) {
    const std::size_t to = std::min(tokens, from + 1 + 97 * (k % 4));
    parts[k % 3].add(view.slice(0, from, to), test::Threads{});
    from = to;
  }
  const tq::MeanSquares stored = tq::MeanSquares::from_state(parts[1].state());
  parts[2].merge(parts[0]);
  parts[2].merge(stored);
  CHECK(parts[2] == whole);
  // Other ranks, strides and types.
  std::vector<float> turned(x.size());
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < n; ++i) turned[i * tokens + t] = x[t * n + i];
  tq::MeanSquares other(n);
  other.add(tq::ConstTensorView(turned.data(), {n, tokens}).transposed());
  CHECK(other == whole);
  const std::vector<double> wide(x.begin(), x.end());
  other = tq::MeanSquares(n);
  other.add(tq::TensorView<const double>(wide.data(), {7, 100, n}));
  CHECK(other == whole);
}

TEST_CASE("tokens with NaN or infinities do not count in mean squares") {
  std::vector<float> x = ptq_test::activations(5, 4, 9, false);
  tq::MeanSquares expected(4), squares(4);
  for (const std::size_t t : {0u, 2u, 4u})
    expected.add(tq::ConstTensorView(x.data() + 4 * t, {1, 4}));
  x[4] = std::numeric_limits<float>::quiet_NaN(), x[15] = -std::numeric_limits<float>::infinity();
  squares.add(tq::ConstTensorView(x.data(), {5, 4}));
  CHECK(squares.tokens() == 3);
  CHECK(squares.left_out() == 2);
  CHECK(squares.state().sums == expected.state().sums);
}

TEST_CASE("mean squares refuse other inputs and states that no tokens lead to") {
  using test::raises;
  const std::vector<float> x(20, 1.0f);
  tq::MeanSquares squares(4);
  CHECK(squares.mean(0) == 0.0);
  squares.add(tq::ConstTensorView(x.data(), {5, 4}));
  const tq::MeanSquares before = squares;
  raises(tq::errc::shape_mismatch, {"[..., 4], got [4, 5]"},
         [&] { squares.add(tq::ConstTensorView(x.data(), {4, 5})); });
  raises(tq::errc::shape_mismatch, {"expected 4 inputs, got 5"},
         [&] { squares.merge(tq::MeanSquares(5)); });
  CHECK(squares == before);
  const tq::MeanSquares::State state = squares.state();
  const auto refused = [&](auto&& change, const char* text) {
    tq::MeanSquares::State wrong = state;
    change(wrong);
    raises(tq::errc::malformed, {text},
           [&] { static_cast<void>(tq::MeanSquares::from_state(wrong)); });
  };
  refused([](auto& s) { s.tokens = (std::uint64_t{1} << 53) + 1; }, "2^53 tokens");
  refused([](auto& s) { s.sums[2][3] = std::uint64_t{1} << 32; }, "digits below 2^32");
  refused([](auto& s) { s.sums[2][20] = 1; }, "a larger one of input 2");
  refused([](auto& s) { s.tokens = 0; }, "squares of 0 tokens");
  tq::MeanSquares::State full = state;
  full.tokens = std::uint64_t{1} << 53;
  tq::MeanSquares most = tq::MeanSquares::from_state(full);
  raises(tq::errc::bad_argument, {"at most 2^53 tokens"}, [&] { most.merge(squares); });
  tq::MeanSquares none(0);
  none.add(tq::ConstTensorView(x.data(), {3, 0}));
  CHECK(none.tokens() == 0);
}
