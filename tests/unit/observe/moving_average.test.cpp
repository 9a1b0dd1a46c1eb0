// SPDX-License-Identifier: MIT
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>

#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

static_assert(tq::RangeAccumulator<tq::MovingAverageMinMax>);

namespace {
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
using Moving = tq::MovingAverageMinMax;
}  // namespace

TEST_CASE("the first batch sets the range, others move it", "[moving_average]") {
  tq::Observer<Moving> seen({}, Moving(0.5));
  seen.observe(std::vector<float>{-4, 8});
  CHECK(seen.slots()[0].range() == tq::Range{-4, 8});
  seen.observe(std::vector<float>{-2, nan_value, 4});
  CHECK(seen.slots()[0].range() == tq::Range{-3, 6});
  seen.observe(std::vector<float>{nan_value, inf});  // moves nothing
  seen.observe(std::vector<float>{});
  CHECK(seen.slots()[0].range() == tq::Range{-3, 6});
  seen.observe(std::vector<float>{5});
  CHECK(seen.slots()[0].range() == tq::Range{1, 5.5});
  CHECK(seen.batches() == 5);
  CHECK(seen.slots()[0].count() == 8);
  CHECK(seen.slots()[0].nan_count() == 2);
  CHECK(seen.slots()[0].infinite_count() == 1);
  CHECK(Moving().constant() == 0.01);
  for (const double bad : {0.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()})
    test::raises(tq::errc::bad_argument, {"(0, 1]"}, [&] { (void)Moving(bad); });
}

TEST_CASE("shards merge to the whole in any order, since batches are numbered", "[moving_average]") {
  const std::size_t batches = 40, size = 100;
  const std::vector<float> x = inputs::normals(batches * size, 2);
  tq::Observer<Moving> whole;
  for (std::size_t b = 0; b < batches; ++b) whole.observe(std::span(x).subspan(b * size, size));
  std::vector<tq::Observer<Moving>> shards(3);
  for (std::size_t b = 0; b < batches; ++b) {
    shards[b % 3].set_next_batch(b);
    const std::size_t half = b % 2 == 0 ? size : size / 2;  // some batches are seen in two places
    shards[b % 3].observe(std::span(x).subspan(b * size, half));
    if (half == size) continue;
    shards[(b + 1) % 3].set_next_batch(b);
    shards[(b + 1) % 3].observe(std::span(x).subspan(b * size + half, size - half));
  }
  tq::Observer<Moving> merged;
  for (const std::size_t k : {2u, 0u, 1u}) merged.merge(shards[k]);
  CHECK(merged.slots()[0] == whole.slots()[0]);
  CHECK(merged.slots()[0].range() == whole.slots()[0].range());
  CHECK(merged.batches() == batches);
  test::raises(tq::errc::bad_argument, {"constant"}, [&] {
    Moving a(0.1);
    a.merge(Moving(0.2));
  });
}

TEST_CASE("a batch that is spread over threads is one batch", "[moving_average]") {
  const std::vector<float> x = inputs::normals(1 << 19, 4);
  tq::Observer<Moving> one, many;
  const test::Awkward executor{{3}};
  for (int i = 0; i < 3; ++i) {
    const std::span<const float> batch = std::span(x).subspan(static_cast<std::size_t>(i) * 1000);
    one.observe(batch);
    many.observe(batch, executor);
  }
  CHECK(one.slots()[0] == many.slots()[0]);
}

TEST_CASE("states of moving averages restore, and impossible ones are refused", "[moving_average]") {
  tq::Observer<Moving> seen({}, Moving(0.25));
  for (const float v : {3.0f, 1.0f, 7.0f}) seen.observe(std::vector<float>{v, -v});
  const Moving& m = seen.slots()[0];
  CHECK(Moving::from_state(m.state()) == m);
  const auto refused = [&](auto&& change) {
    Moving::State s = m.state();
    change(s);
    test::raises(tq::errc::malformed, {"from_state"}, [&] { (void)Moving::from_state(s); });
  };
  refused([](auto& s) { s.batches[1].index = 0; });
  refused([](auto& s) { s.batches[1].min = 9; });
  refused([](auto& s) { s.batches[1].max = inf; });
  refused([](auto& s) { s.finite = 2; });
  refused([](auto& s) { s.batches.clear(); });
}
