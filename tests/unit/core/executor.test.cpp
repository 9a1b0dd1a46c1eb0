// SPDX-License-Identifier: MIT
#include <tq/core/executor.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/thread_executor.hpp"

namespace {
struct WithoutConcurrency {
  template <class F>
  void operator()(std::size_t, F&&) const {}
};
static_assert(tq::Executor<tq::Serial>);
static_assert(tq::Executor<test::Threads>);
static_assert(!tq::Executor<WithoutConcurrency>);
static_assert(!tq::Executor<int>);
}  // namespace

TEST_CASE("the serial executor calls every index once, in order", "[executor]") {
  std::vector<std::size_t> seen;
  tq::serial(4, [&](std::size_t i) { seen.push_back(i); });
  CHECK(seen == std::vector<std::size_t>{0, 1, 2, 3});
  tq::serial(0, [&](std::size_t i) { seen.push_back(i); });
  CHECK(seen.size() == 4);
  CHECK(tq::serial.concurrency() == 1);
}
