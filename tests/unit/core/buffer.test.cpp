// SPDX-License-Identifier: MIT
#include <tq/core/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"
#include "support/sanitized.hpp"

static_assert(std::is_nothrow_move_constructible_v<tq::Buffer<float>>);

TEST_CASE("a buffer copies deeply and leaves nothing behind when moved", "[buffer]") {
  tq::Buffer<int> a(3);
  for (int i = 0; i < 3; ++i) a.data()[i] = i;
  tq::Buffer<int> b = a;
  b.data()[1] = 9;
  CHECK(a.data()[1] == 1);
  CHECK(b.span()[2] == 2);
  const tq::Buffer<int> c = std::move(b);
  CHECK(c.size() == 3);
  CHECK(c.span()[1] == 9);
  CHECK(b.size() == 0);  // NOLINT(bugprone-use-after-move): what a moved-from buffer is
  CHECK(b.span().empty());
  a = c;
  CHECK(a.data()[1] == 9);
  tq::Buffer<int>& same = a;
  a = same;
  CHECK(a.size() == 3);
  CHECK(a.data()[1] == 9);
}

TEST_CASE("a buffer begins where the largest registers are aligned", "[buffer]") {
  for (const std::size_t n : {1u, 7u, 1000u}) {
    const tq::Buffer<char> b(n);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
  }
}

#if !TQ_TEST_ADDRESS_SANITIZER  // which ends the program instead
TEST_CASE("a buffer of more bytes than can be counted is refused", "[buffer]") {
  volatile std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(tq::Buffer<double>(most / sizeof(double) + 2), std::bad_alloc);
}
#endif

TEST_CASE("an empty buffer", "[buffer]") {
  const tq::Buffer<float> none;
  CHECK(none.size() == 0);
  const tq::Buffer<float> zero(0), copy = zero;
  CHECK(copy.span().empty());
}
