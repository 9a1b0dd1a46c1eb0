// SPDX-License-Identifier: MIT
#include <tq/core/buffer.hpp>

#include <type_traits>
#include <utility>

#include "support/catch.hpp"

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

TEST_CASE("an empty buffer", "[buffer]") {
  const tq::Buffer<float> none;
  CHECK(none.size() == 0);
  const tq::Buffer<float> zero(0), copy = zero;
  CHECK(copy.span().empty());
}
