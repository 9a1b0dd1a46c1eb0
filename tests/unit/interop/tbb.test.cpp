// SPDX-License-Identifier: MIT
#include <tq/interop/tbb.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

static_assert(tq::Executor<tq::interop::Tbb>);

namespace {
// Threads even where there are no cores for them.
struct Allowed {
  tbb::global_control control;
  explicit Allowed(std::size_t threads)
      : control(tbb::global_control::max_allowed_parallelism, threads) {}
};
}  // namespace

TEST_CASE("TBB calls every index once, on no more threads than it may", "[tbb]") {
  const Allowed allowed(8);
  for (const int threads : {0, 1, 2, 7}) {
    const tq::interop::Tbb executor{threads};
    for (const std::size_t n : {1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> calls(n);
      std::atomic<std::size_t> running = 0, most = 0;
      executor(n, [&](std::size_t i) {
        const std::size_t now = ++running;
        for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        ++calls[i];
        --running;
      });
      for (const std::atomic<int>& c : calls) REQUIRE(c == 1);
      CHECK(most <= executor.concurrency());
    }
    executor(0, [&](std::size_t) { FAIL("there is nothing to do"); });
  }
  CHECK(tq::interop::Tbb{}.concurrency() >= 1);
  CHECK(tq::interop::Tbb{5}.concurrency() == 5);
  CHECK(tq::interop::Tbb{50}.concurrency() == 8);
  CHECK(tbb::task_arena(3).execute([] { return tq::interop::Tbb{}.concurrency(); }) == 3);
}

TEST_CASE("TBB gives the bits of the serial executor", "[tbb]") {
  const Allowed allowed(8);
  const std::vector<float> x = inputs::normals(3 * 137 * 1009, 1);
  const tq::ConstTensorView view(x.data(), {3, 137, 1009}), none(x.data(), {3, 0, 1009});
  const tq::QuantParams<tq::int4, tq::PerTensor, tq::Asymmetric> params(0.4f, 1);
  const auto one = tq::quantize(view, params);
  const std::vector<float> back = tq::dequantize(one);
  for (const int n : {0, 1, 2, 3, 8}) {
    const tq::interop::Tbb threads{n};
    CHECK(std::ranges::equal(tq::quantize(view, params, tq::Numerics<>{}, threads).bytes(),
                             one.bytes()));
    CHECK(tq::dequantize(one, threads) == back);
    CHECK(tq::quantize(none, params, tq::Numerics<>{}, threads).bytes().empty());
  }
}

TEST_CASE("observers see the same on TBB as on one thread", "[tbb]") {
  const Allowed allowed(8);
  const std::vector<float> x = inputs::normals(5 * 137 * 1009, 2);
  const tq::ConstTensorView view(x.data(), {5, 137, 1009});
  const auto same = [&](auto observer) {
    auto serial = observer;
    serial.observe(view);
    for (const int n : {0, 1, 2, 5}) {
      auto many = observer;
      many.observe(view, tq::interop::Tbb{n});
      many.observe(tq::ConstTensorView(x.data(), {0, 137, 1009}), tq::interop::Tbb{n});
      CHECK(std::ranges::equal(many.accumulators(), serial.accumulators()));
    }
  };
  same(tq::Observer<tq::MeanStd>());                   // threads share the slot
  same(tq::Observer<tq::MinMax, tq::PerGroup<32>>());  // and have some of their own
}

TEST_CASE("what a piece of work throws reaches the caller of TBB", "[tbb]") {
  const Allowed allowed(8);
  for (const int n : {0, 1, 2})
    test::raises(tq::errc::bad_argument, {"the 700th"}, [&] {
      tq::interop::Tbb{n}(1000, [](std::size_t i) {
        if (i == 700) tq::raise(tq::errc::bad_argument, "the 700th");
      });
    });
}
