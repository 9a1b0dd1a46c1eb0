// SPDX-License-Identifier: MIT
#include <tq/ptq/hessian.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

using ptq_test::ranges_of;

}  // namespace

TEST_CASE("a Hessian sums products of activations in steps, exactly") {
  const std::size_t n = 37;
  for (const std::size_t tokens : {1u, 2u, 63u, 2049u})
    for (const int bits : {14, 16}) {
      const std::vector<float> x = ptq_test::activations(tokens, n, 3);
      const tq::ConstTensorView view(x.data(), {tokens, n});
      tq::Hessian h(ranges_of(view), bits);
      h.add(view);
      const tq::Hessian::State state = h.state();
      CHECK(h.tokens() == tokens);
      bool equal = true;
      std::size_t at = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i; j < n; ++j) {
          const auto steps = [&](std::size_t t, std::size_t k) -> std::int64_t {
            if (x[t * n + k] == 0) return 0;
            return std::llrint(std::ldexp(static_cast<double>(x[t * n + k]), -state.exponents[k]));
          };
          std::int64_t sum = 0;
          for (std::size_t t = 0; t < tokens; ++t) sum += steps(t, i) * steps(t, j);
          equal = equal && state.sums[at++] == sum;
        }
      CHECK(equal);
      CHECK(h(n - 1, n - 1) == 0);
    }
}

TEST_CASE("the steps of a Hessian are the smallest powers of two that hold the range") {
  for (const int bits : {14, 16}) {
    const float limit = static_cast<float>((1 << (bits - 1)) - 1);
    for (const float top : {limit, limit + 0.5f, 1.0f, 0x1p-149f, 0x1.fffffep127f, 3.0f}) {
      const tq::ConstTensorView view(&top, {1, 1});
      const int e = tq::Hessian(ranges_of(view), bits).state().exponents[0];
      CHECK(static_cast<double>(top) <= std::ldexp(static_cast<double>(limit), e));
      CHECK(static_cast<double>(top) > std::ldexp(static_cast<double>(limit), e - 1));
    }
  }
}

TEST_CASE("any batches, threads, instructions and merges give the same Hessian") {
  const std::size_t n = 50, tokens = 1500;
  const std::vector<float> x = ptq_test::activations(tokens, n, 5);
  const tq::ConstTensorView view(x.data(), {tokens, n});
  for (const int bits : {14, 16}) {
    const tq::Hessian empty(ranges_of(view), bits);
    tq::Hessian whole = empty;
    whole.add(view);
    tq::Hessian scalar = empty;
    scalar.add<tq::arch::scalar>(view, test::Backwards{});
    CHECK(scalar == whole);
    tq::Hessian parts[3] = {empty, empty, empty};
    for (std::size_t from = 0, k = 0; from < tokens; ++k) {
      const std::size_t to = std::min(tokens, from + 1 + 97 * (k % 4));
      parts[k % 3].add(view.slice(0, from, to), test::Threads{});
      from = to;
    }
    const tq::Hessian stored = tq::Hessian::from_state(parts[1].state());
    parts[2].merge(parts[0]);
    parts[2].merge(stored);
    CHECK(parts[2] == whole);
  }
}

TEST_CASE("activations of any rank, strides and type are the same tokens") {
  const std::size_t n = 6;
  const std::vector<float> x = ptq_test::activations(8, n, 7);
  const tq::ConstTensorView view(x.data(), {8, n});
  const tq::Hessian empty(ranges_of(view));
  tq::Hessian expected = empty;
  expected.add(view);
  std::vector<float> turned(x.size());
  for (std::size_t t = 0; t < 8; ++t)
    for (std::size_t i = 0; i < n; ++i) turned[i * 8 + t] = x[t * n + i];
  tq::Hessian h = empty;
  h.add(tq::ConstTensorView(turned.data(), {n, 8}).transposed());
  CHECK(h == expected);
  h = empty;
  h.add(tq::ConstTensorView(x.data(), {2, 4, n}));
  CHECK(h == expected);
  const std::vector<double> wide(x.begin(), x.end());
  h = empty;
  h.add(tq::TensorView<const double>(wide.data(), {8, n}));
  CHECK(h == expected);
}

TEST_CASE("tokens with NaN or infinities are counted and left out") {
  std::vector<float> x = ptq_test::activations(5, 4, 9, false);
  tq::Hessian expected(ranges_of(tq::ConstTensorView(x.data(), {5, 4})));
  tq::Hessian h = expected;
  expected.add(tq::ConstTensorView(x.data(), {1, 4}));
  expected.add(tq::ConstTensorView(x.data() + 8, {1, 4}));
  expected.add(tq::ConstTensorView(x.data() + 16, {1, 4}));
  x[4] = not_a_number, x[15] = -infinity;
  h.add(tq::ConstTensorView(x.data(), {5, 4}));
  CHECK(h.tokens() == 3);
  CHECK(h.left_out() == 2);
  CHECK(h.state().sums == expected.state().sums);
}

TEST_CASE("a Hessian refuses what it cannot hold, and adds nothing then") {
  using test::raises;
  std::vector<float> x = ptq_test::activations(3000, 4, 11);
  const tq::ConstTensorView view(x.data(), {3000, 4});
  raises(tq::errc::no_data, {"tq::Hessian", "saw none"}, [] { tq::Hessian h{ptq_test::Ranges{}}; });
  raises(tq::errc::bad_argument, {"14 or 16 bits, got 8"},
         [&] { tq::Hessian h(ranges_of(view), 8); });
  tq::Hessian h(ranges_of(view));
  h.add(view);
  const tq::Hessian before = h;
  raises(tq::errc::shape_mismatch, {"[..., 4], got [2, 5]"},
         [&] { h.add(tq::ConstTensorView(x.data(), {2, 5})); });
  x[2999 * 4 + 1] = 1000.0f;
  raises(tq::errc::out_of_range, {"in input 1", "got 1000"}, [&] { h.add(view); });
  x[2999 * 4 + 1] = 0.0f;
  x[3] = 0x1p-149f;
  raises(tq::errc::out_of_range, {"in input 3"}, [&] { h.add(view); });
  raises(tq::errc::bad_argument, {"same steps"},
         [&] { h.merge(tq::Hessian(ranges_of(view.slice(0, 1, 9)))); });
  raises(tq::errc::shape_mismatch, {"4 inputs, got 3"},
         [&] { h.merge(tq::Hessian(ranges_of(view.slice(1, 0, 3)))); });
  CHECK(h == before);
}

TEST_CASE("a stored Hessian that no tokens lead to is refused") {
  using test::raises;
  const std::vector<float> x = ptq_test::activations(9, 3, 13);
  const tq::ConstTensorView view(x.data(), {9, 3});
  tq::Hessian h(ranges_of(view));
  h.add(view);
  const tq::Hessian::State good = h.state();
  CHECK(tq::Hessian::from_state(good) == h);
  const auto refuses = [&](const char* text, auto&& change) {
    tq::Hessian::State bad = good;
    change(bad);
    raises(tq::errc::malformed, {"tq::Hessian::from_state", text},
           [&] { static_cast<void>(tq::Hessian::from_state(bad)); });
  };
  refuses("14 or 16 bits", [](auto& s) { s.bits = 15; });
  refuses("6 sums of 3 inputs, got 7", [](auto& s) { s.sums.push_back(0); });
  refuses("inputs, got 0", [](auto& s) { s.exponents.clear(); });
  refuses("2^32 tokens", [](auto& s) { s.tokens = (std::uint64_t{1} << 32) + 1; });
  refuses("exponents", [](auto& s) { s.exponents[0] = 300; });
  refuses("sums of squares", [](auto& s) { s.sums[0] = -1; });
  refuses("within their range", [](auto& s) { s.sums[1] = std::int64_t{1} << 40; });
  refuses("those of squares allow", [](auto& s) { s.sums[1] = s.sums[0] + s.sums[3] + 1; });
  refuses("within their range", [](auto& s) { s.sums[5] = 1; });  // an input that is always 0
}
