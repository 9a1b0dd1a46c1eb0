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
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
using Moving = tq::MovingAverageMinMax;
}  // namespace

TEST_CASE("the first batch sets the range, others move it", "[moving_average]") {
  tq::Observer<Moving> seen({}, Moving(0.5));
  seen.observe(std::vector<float>{-4, 8});
  CHECK(seen.accumulators()[0].range() == tq::Range{-4, 8});
  seen.observe(std::vector<float>{-2, nan_value, 4});
  CHECK(seen.accumulators()[0].range() == tq::Range{-3, 6});
  seen.observe(std::vector<float>{nan_value, inf});  // moves nothing
  seen.observe(std::vector<float>{});
  CHECK(seen.accumulators()[0].range() == tq::Range{-3, 6});
  seen.observe(std::vector<float>{5});
  CHECK(seen.accumulators()[0].range() == tq::Range{1, 5.5});
  CHECK(seen.batches() == 5);
  CHECK(seen.accumulators()[0].count() == 8);
  CHECK(seen.accumulators()[0].nan_count() == 2);
  CHECK(seen.accumulators()[0].infinite_count() == 1);
  CHECK(Moving().constant() == 0.01);
  for (const double bad : {0.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()})
    test::raises(tq::errc::bad_argument, {"(0, 1]"}, [&] { (void)Moving(bad); });
  // The message shows the constant itself, not the bound that is next to it.
  test::raises(tq::errc::bad_argument, {"(0, 1], got 1.0000001"}, [] { (void)Moving(1.0000001); });
  test::raises(tq::errc::bad_argument, {"(0, 1], got -1e-09"}, [] { (void)Moving(-1e-9); });
}

namespace {
struct Averaged {
  double constant;
  std::vector<std::vector<float>> batches;
  tq::Range range;
};
// Results of MovingAverageMinMaxObserver of PyTorch 2.15 (BSD-3-Clause) for batches of two.
const std::vector<Averaged> averaged{
    {0.01,
     {{-0x1.8bde92p+0f, 0x1.937074p-3f},
      {-0x1.178236p-9f, 0x1.a0c856p-11f},
      {-0x1.4fcbb2p-11f, 0x1.fdd0d2p-9f},
      {-0x1.017654p+3f, -0x1.1aa76p+2f},
      {-0x1.0076ecp+5f, -0x1.7faecep+4f},
      {-0x1.0f8cd8p+0f, -0x1.edcfdap-1f}},
     {-0x1.e0a01p+0f, -0x1.a5b0a2p-4f}},
    {0.1,
     {{0x1.b59c32p+7f, 0x1.296b8cp+8f},
      {0x1.b5c4a8p-3f, 0x1.60f4fp-1f},
      {-0x1.81f366p+4f, 0x1.b4d46p+0f},
      {0x1.ebcfbcp-2f, 0x1.33e5d2p-1f},
      {-0x1.d88292p+1f, 0x1.99da5p+4f},
      {-0x1.673994p+8f, -0x1.1278bp+8f}},
     {0x1.6cf7bap+6f, 0x1.2d668p+7f}},
    {0.3,
     {{-0x1.0b2b6ep-6f, 0x1.876182p-8f},
      {-0x1.0d05cep+3f, 0x1.52b496p+4f},
      {-0x1.fafdbcp+8f, 0x1.0b4952p+8f},
      {-0x1.23bb7p+6f, 0x1.13420ep+5f},
      {-0x1.c829c4p-9f, 0x1.8c7db6p-7f},
      {0x1.9f72e6p-8f, 0x1.c4bb72p-4f}},
     {-0x1.fbfb3cp+5f, 0x1.10fc36p+5f}},
    {1.0,
     {{-0x1.1cb608p+9f, 0x1.771716p+10f},
      {0x1.93b786p-3f, 0x1.51398p-2f},
      {-0x1.e6fb9p-6f, 0x1.541bc4p-6f},
      {-0x1.627594p-5f, 0x1.5181ecp-7f},
      {0x1.04120ap-3f, 0x1.e1b6fep-2f},
      {-0x1.ff2318p-8f, 0x1.68cb4ep-5f}},
     {-0x1.ff23p-8f, 0x1.68cb5p-5f}},
};
}  // namespace

TEST_CASE("averages are rounded as PyTorch rounds them", "[moving_average]") {
  for (const Averaged& a : averaged) {
    CAPTURE(a.constant);
    tq::Observer<Moving> seen({}, Moving(a.constant));
    for (const std::vector<float>& batch : a.batches) seen.observe(batch);
    CHECK(seen.accumulators()[0].range() == a.range);
  }
}

TEST_CASE("averages of finite values are finite, and in order", "[moving_average]") {
  constexpr float largest = std::numeric_limits<float>::max();
  tq::Observer<Moving> seen({}, Moving(0.75));
  for (const float end : {-largest, largest, -largest}) {
    seen.observe(std::vector<float>{end});
    const tq::Range r = seen.accumulators()[0].range();
    CHECK((r.min >= -largest && r.min <= r.max && r.max <= largest));
  }
}

TEST_CASE("shards merge to the whole in any order, since batches are numbered",
          "[moving_average]") {
  const std::size_t batches = 40, size = 100;
  const std::vector<float> x = inputs::normals(batches * size, 2);
  const tq::Observer<Moving> empty({}, Moving(0.01, Moving::Keeps::batches));
  tq::Observer<Moving> whole = empty;
  for (std::size_t b = 0; b < batches; ++b) whole.observe(std::span(x).subspan(b * size, size));
  std::vector<tq::Observer<Moving>> shards(3, empty);
  for (std::size_t b = 0; b < batches; ++b) {
    shards[b % 3].set_next_batch(b);
    const std::size_t half = b % 2 == 0 ? size : size / 2;  // some batches are seen in two places
    shards[b % 3].observe(std::span(x).subspan(b * size, half));
    if (half == size) continue;
    shards[(b + 1) % 3].set_next_batch(b);
    shards[(b + 1) % 3].observe(std::span(x).subspan(b * size + half, size - half));
  }
  tq::Observer<Moving> merged = empty;
  for (const std::size_t k : {2u, 0u, 1u}) merged.merge(shards[k]);
  CHECK(merged.accumulators()[0] == whole.accumulators()[0]);
  CHECK(merged.accumulators()[0].range() == whole.accumulators()[0].range());
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
  CHECK(one.accumulators()[0] == many.accumulators()[0]);
}

TEST_CASE("states of moving averages restore, and impossible ones are refused",
          "[moving_average]") {
  tq::Observer<Moving> seen({}, Moving(0.25, Moving::Keeps::batches));
  for (const float v : {3.0f, 1.0f, 7.0f}) seen.observe(std::vector<float>{v, -v});
  const Moving& m = seen.accumulators()[0];
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
  refused([](auto& s) { s.average = Moving::Average{0, 1}; });
  refused([](auto& s) { s.keeps = Moving::Keeps::average; });
}

TEST_CASE("the average alone takes the same memory after any number of batches",
          "[moving_average]") {
  const std::size_t batches = 3000, channels = 3;
  const std::vector<float> x = inputs::normals(batches * channels, 6);
  tq::Observer<Moving, tq::PerChannel<1>> average, all({}, Moving(0.01, Moving::Keeps::batches));
  for (std::size_t b = 0; b < batches; ++b) {
    const tq::ConstTensorView batch(x.data() + b * channels, {1, channels});
    average.observe(batch);
    all.observe(batch);
    if (b > 40 && b % 500 != 0) continue;
    for (std::size_t c = 0; c < channels; ++c) {
      CHECK(average.accumulators()[c].batches().size() == 1);
      CHECK(average.accumulators()[c].range() == all.accumulators()[c].range());
      CHECK(Moving::from_state(average.accumulators()[c].state()) == average.accumulators()[c]);
    }
  }
  CHECK(all.accumulators()[0].batches().size() == batches);
  CHECK(average.accumulators()[0].count() == batches);
}

TEST_CASE("what was averaged takes only what comes after it", "[moving_average]") {
  const auto seen = [](Moving m, std::vector<std::uint64_t> batches) {
    for (const std::uint64_t b : batches) {
      m.begin_batch(b);
      m.add(std::vector<float>{-1.0f - static_cast<float>(b), static_cast<float>(b)});
    }
    return m;
  };
  const Moving average = seen(Moving(0.5), {2, 5});
  const auto refused = [&](auto&& change, const char* text) {
    Moving m = average;
    test::raises(tq::errc::bad_argument, {text, "Keeps::batches"}, [&] { change(m); });
    CHECK(m.range() == average.range());
    CHECK(m.count() == average.count());
  };
  refused([&](Moving& m) { m = seen(m, {4}); }, "add: expected batches from 5 on");
  refused([&](Moving& m) { m.merge(seen(Moving(0.5), {4})); }, "merge: expected batches from 5 on");
  refused([&](Moving& m) { m.merge(seen(Moving(0.5), {6, 7})); }, "an average of them");
  refused([&](Moving& m) { Moving(0.5, Moving::Keeps::batches).merge(m); }, "an average of them");
  Moving m = average;
  m.merge(seen(Moving(0.5, Moving::Keeps::batches), {5, 6, 8}));
  CHECK(m == [&] {
    Moving one = seen(Moving(0.5), {2, 5});
    one.begin_batch(5);
    one.add(std::vector<float>{-6, 5});
    return seen(one, {6, 8});
  }());
  Moving empty(0.5);
  empty.merge(average);
  CHECK(empty == average);
}
