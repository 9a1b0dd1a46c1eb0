// SPDX-License-Identifier: MIT
#include <tq/core/first_exception.hpp>
#include <tq/error.hpp>

#include <atomic>
#include <cstddef>
#include <new>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"

TEST_CASE("the first exception is kept, and tasks after it are left out", "[executor]") {
  tq::FirstException first;
  int calls = 0;
  first.run([&] { ++calls; });
  first.rethrow();
  first.run([] { tq::raise(tq::errc::bad_argument, "the first"); });
  first.run([&] { ++calls; });
  first.run([] { throw std::bad_alloc(); });
  test::raises(tq::errc::bad_argument, {"the first"}, [&] { first.rethrow(); });
  CHECK(calls == 1);
  first.run([&] { ++calls; });  // as new
  first.rethrow();
  CHECK(calls == 2);
}

TEST_CASE("a task on a thread throws in the caller, whatever it throws", "[executor]") {
  const test::Threads threads{4};
  for (std::size_t bad = 0; bad < 40; ++bad) {
    std::atomic<std::size_t> calls = 0;
    CHECK_THROWS_AS(threads(40,
                            [&](std::size_t i) {
                              ++calls;
                              if (i == bad) throw std::bad_alloc();
                            }),
                    std::bad_alloc);
    CHECK(calls >= 1);
    CHECK(calls <= 40);
  }
}
