// SPDX-License-Identifier: MIT
#include <tq/core/detail/small_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"
#include "support/sanitized.hpp"

using Small = tq::SmallBuffer<int, 8>;
static_assert(!std::is_copy_constructible_v<Small> && !std::is_move_constructible_v<Small>);

// Whether its elements lie within the buffer.
static bool is_within(const Small& b) {
  const auto begin = reinterpret_cast<std::uintptr_t>(&b),
             at = reinterpret_cast<std::uintptr_t>(b.data());
  return at >= begin && at + b.size() * sizeof(int) <= begin + sizeof b;
}

TEST_CASE("a small buffer has few elements within itself and many elsewhere", "[small_buffer]") {
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 1000u}) {
    Small b(n);
    CHECK(b.size() == n);
    CHECK(b.span().size() == n);
    CHECK(std::as_const(b).span().data() == b.data());
    CHECK(is_within(b) == (n <= 8));
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    for (std::size_t i = 0; i < n; ++i) b.data()[i] = static_cast<int>(i);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(b.span()[i] == static_cast<int>(i));
  }
}

TEST_CASE("a small buffer grows and shrinks", "[small_buffer]") {
  Small b;
  CHECK(b.size() == 0);
  CHECK(b.span().empty());
  for (const std::size_t n : {3u, 100u, 8u, 9u, 0u, 50u}) {
    b.reset(n);
    CHECK(b.size() == n);
    CHECK(is_within(b) == (n <= 8));
    for (int& v : b.span()) v = 1;
  }
}

#if !TQ_TEST_ADDRESS_SANITIZER  // which ends the program instead
TEST_CASE("a small buffer of more bytes than can be counted is refused and stays as it was",
          "[small_buffer]") {
  volatile std::size_t most = std::numeric_limits<std::size_t>::max();
  Small b(2);
  b.data()[1] = 5;
  CHECK_THROWS_AS(b.reset(most / sizeof(int) + 2), std::bad_alloc);
  CHECK(b.size() == 2);
  CHECK(b.data()[1] == 5);
}
#endif
