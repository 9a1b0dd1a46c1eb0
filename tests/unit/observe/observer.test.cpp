// SPDX-License-Identifier: MIT
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/extents.hpp"
#include "support/tensor_oracle.hpp"
#include "support/thread_executor.hpp"

namespace {

// Sums and counts, with nothing but what the concept asks for: the observer has to gather columns
// for it.
struct Sum {
  double sum = 0;
  std::uint64_t n = 0;
  void add(std::span<const float> x) {
    for (const float v : x) sum += static_cast<double>(v);
    n += x.size();
  }
  void merge(const Sum& o) {
    sum += o.sum;
    n += o.n;
  }
  [[nodiscard]] bool empty() const { return n == 0; }
};

// Small integers: sums are exact in any order.
template <class G>
void check(const G& g, int least, std::uint64_t seed) {
  inputs::Random r(seed);
  int failed = 0;
  for (int rank = least; rank <= 8; ++rank)
    for (int round = 0; round < 20; ++round) {
      const tq::Shape shape = oracle::shape(r, rank, 700), block = oracle::block(g, shape);
      const oracle::Layout l = oracle::layout(shape, r, r.chance(40), r.chance(40), r.chance(20));
      std::vector<float> memory(l.extent, 1e9f);
      std::vector<double> sums(oracle::params(shape, block));
      std::vector<std::uint64_t> counts(sums.size());
      oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
        const auto v = static_cast<float>(r.between(-100, 100));
        memory[static_cast<std::size_t>(l.first + oracle::offset(i, l.strides))] = v;
        sums[oracle::param(i, shape, block)] += static_cast<double>(v);
        ++counts[oracle::param(i, shape, block)];
      });
      const tq::ConstTensorView x(memory.data() + l.first, shape, l.strides);
      tq::Observer<Sum, G> sum(g);
      tq::Observer<tq::MinMax, G> range(g);
      sum.observe(x);
      range.observe(x);
      if (shape.size() == 0) {
        failed += !sum.accumulators().empty();
        continue;
      }
      const std::vector<tq::Range> ranges = oracle::ranges(x, block);
      bool ok =
          sum.accumulators().size() == sums.size() && range.accumulators().size() == sums.size();
      for (std::size_t i = 0; ok && i < sums.size(); ++i)
        ok = sum.accumulators()[i].sum == sums[i] && sum.accumulators()[i].n == counts[i] &&
             range.accumulators()[i].range() == ranges[i] &&
             range.accumulators()[i].count() == counts[i];
      failed += !ok;
    }
  INFO(G::name);
  CHECK(failed == 0);
}

// Tensors large enough to be cut into tasks: few slots, so that each task has its own, and many, so
// that tasks share them out.
template <class G>
void check_executors(const G& g, const tq::Shape& shape, const tq::Strides& strides) {
  inputs::Random r(11);
  std::vector<float> memory(shape.size());
  for (float& v : memory) v = static_cast<float>(r.between(-100, 100));
  const tq::ConstTensorView x(memory.data(), shape, strides);
  tq::Observer<Sum, G> sum(g);
  tq::Observer<tq::MinMax, G> range(g);
  sum.observe(x);
  range.observe(x);
  for (const bool parallel : {true, false})
    for (const std::size_t threads : {2u, 5u}) {
      const test::Awkward executor{{threads}, parallel};
      tq::Observer<Sum, G> other_sum(g);
      tq::Observer<tq::MinMax, G> other_range(g);
      other_sum.observe(x, executor);
      other_range.observe(x, executor);
      REQUIRE(other_sum.accumulators().size() == sum.accumulators().size());
      int failed = 0;
      for (std::size_t i = 0; i < sum.accumulators().size(); ++i)
        failed += other_sum.accumulators()[i].sum != sum.accumulators()[i].sum ||
                  other_sum.accumulators()[i].n != sum.accumulators()[i].n ||
                  !(other_range.accumulators()[i] == range.accumulators()[i]);
      INFO(G::name << " over " << to_string(shape));
      CHECK(failed == 0);
    }
}

}  // namespace

TEST_CASE("the slots do not depend on the executor", "[observer]") {
  const tq::Shape wide{700, 1000}, tall{100000, 7};
  const tq::Strides rows{1000, 1}, narrow{7, 1}, columns{1, 700};
  check_executors(tq::PerTensor{}, wide, rows);
  check_executors(tq::PerTensor{}, wide, columns);
  check_executors(tq::PerChannel<0>{}, wide, rows);
  check_executors(tq::PerChannel<1>{}, wide, rows);
  check_executors(tq::PerChannel<1>{}, wide, columns);
  check_executors(tq::PerChannel<1>{}, tall, narrow);
  check_executors(tq::PerChannel<0>{}, tall, narrow);
  check_executors(tq::PerGroup<32>{}, wide, rows);
  check_executors(tq::PerGroup<3, 0>{}, wide, rows);
  check_executors(tq::PerGroup<1>{}, wide, rows);
  check_executors(tq::PerBlock<64, 300>{}, wide, rows);
  check_executors(tq::PerBlock<400, 800>{}, wide, columns);
}

namespace {

// Groups along lines of memory, and elements with gaps: many lines of the same slots, more than
// wait for one another.
template <class G>
int differs_from_rows(const G& g, const tq::Shape& shape, const tq::Strides& strides,
                      std::size_t extent) {
  inputs::Random r(12);
  std::vector<float> memory(extent), rows;
  for (float& v : memory) v = static_cast<float>(r.between(-100, 100));
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    rows.push_back(memory[static_cast<std::size_t>(oracle::offset(i, strides))]);
  });
  tq::Observer<Sum, G> sum(g), sum_of_rows(g);
  tq::Observer<tq::MinMax, G> range(g), range_of_rows(g);
  sum.observe(tq::ConstTensorView(memory.data(), shape, strides));
  range.observe(tq::ConstTensorView(memory.data(), shape, strides));
  sum_of_rows.observe(tq::ConstTensorView(rows.data(), shape));
  range_of_rows.observe(tq::ConstTensorView(rows.data(), shape));
  int failed = sum.accumulators().size() != sum_of_rows.accumulators().size();
  for (std::size_t i = 0; failed == 0 && i < sum.accumulators().size(); ++i)
    failed += sum.accumulators()[i].sum != sum_of_rows.accumulators()[i].sum ||
              sum.accumulators()[i].n != sum_of_rows.accumulators()[i].n ||
              !(range.accumulators()[i] == range_of_rows.accumulators()[i]);
  return failed;
}

}  // namespace

TEST_CASE("turned tensors and those with gaps have the slots of rows", "[observer]") {
  CHECK(differs_from_rows(tq::PerGroup<32>{}, {70, 100}, {1, 70}, 7000) == 0);
  CHECK(differs_from_rows(tq::PerGroup<1500>{}, {40, 4000}, {1, 40}, 160000) == 0);
  CHECK(differs_from_rows(tq::PerGroup<8, 0>{}, {600, 3, 5}, {1, 3000, 600}, 9000) == 0);
  CHECK(differs_from_rows(tq::PerChannel<1>{}, {1300, 9}, {20, 2}, 26000) == 0);
  CHECK(differs_from_rows(tq::PerChannel<1>{}, {3, 9000}, {20000, 2}, 60000) == 0);
  CHECK(differs_from_rows(tq::PerBlock<4, 8>{}, {33, 70}, {1, 40}, 2800) == 0);
}

TEST_CASE("NaN and infinities can be refused, and nothing is observed then", "[observer]") {
  const float nan_value = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  tq::Observer<tq::MinMax, tq::PerTensor, tq::RaiseNonFinite> o({}, {}, "relu1");
  o.observe(std::vector<float>{1, 2});
  const std::vector<float> bad{5, nan_value, -inf, inf, 7};
  test::raises(tq::errc::not_finite,
               {"tq::Observer::observe", "'relu1'", "1 NaN", "2 infinite among 5"},
               [&] { o.observe(bad); });
  CHECK(o.accumulators()[0].range() == tq::Range{1, 2});
  CHECK(o.accumulators()[0].count() == 2);
  CHECK(o.batches() == 1);
  const tq::ConstTensorView gaps(bad.data(), {2}, {4});  // 5 and 7
  o.observe(gaps);
  CHECK(o.accumulators()[0].range() == tq::Range{1, 7});
}

TEST_CASE("every element goes to the slot of its parameter", "[observer]") {
  check(tq::PerTensor{}, 0, 1);
  check(tq::PerChannel<0>{}, 1, 2);
  check(tq::PerChannel<-1>{}, 1, 3);
  check(tq::PerChannel<>(1), 2, 4);
  check(tq::PerGroup<8>{}, 1, 5);
  check(tq::PerGroup<3, 0>{}, 1, 6);
  check(tq::PerToken{}, 1, 7);
  check(tq::PerBlock<2, 3>{}, 2, 8);
}

TEST_CASE("observing in parts and merging give the same slots", "[observer]") {
  const std::vector<float> x{1, -2, 3, 4, 5, -6};
  tq::Observer<tq::MinMax, tq::PerChannel<1>> whole, a, b;
  whole.observe(tq::ConstTensorView(x.data(), {2, 3}));
  a.observe(tq::ConstTensorView(x.data(), {1, 3}));
  b.observe(tq::ConstTensorView(x.data() + 3, {1, 3}));
  b.observe(tq::ConstTensorView(nullptr, {0, 3}));
  tq::Observer<tq::MinMax, tq::PerChannel<1>> merged;
  merged.merge(a);
  merged.merge(b);
  merged.merge(tq::Observer<tq::MinMax, tq::PerChannel<1>>());
  REQUIRE(merged.accumulators().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(merged.accumulators()[i].range() == whole.accumulators()[i].range());
    CHECK(merged.accumulators()[i].count() == 2);
  }
  merged.reset();
  CHECK(merged.accumulators().empty());
}

TEST_CASE("an observer refuses what does not fit", "[observer]") {
  const std::vector<float> x(6);
  tq::Observer<tq::MinMax, tq::PerChannel<1>> o, other;
  test::raises(tq::errc::bad_axis, {"tq::Observer::observe", "per_channel", "[6]"},
               [&] { o.observe(x); });
  o.observe(tq::ConstTensorView(x.data(), {2, 3}));
  test::raises(tq::errc::shape_mismatch, {"tq::Observer::observe", "3", "got 2"},
               [&] { o.observe(tq::ConstTensorView(x.data(), {3, 2})); });
  other.observe(tq::ConstTensorView(x.data(), {3, 2}));
  test::raises(tq::errc::shape_mismatch, {"tq::Observer::merge", "3", "got 2"},
               [&] { o.merge(other); });
  CHECK(o.accumulators()[0].count() == 2);
  tq::Observer<tq::MinMax, tq::PerGroup<>> groups(tq::PerGroup<>(0));
  test::raises(tq::errc::bad_group_size, {"tq::Observer::observe", "per_group"},
               [&] { groups.observe(x); });
}

TEST_CASE("observers of different axes do not merge, whatever they saw", "[observer]") {
  const std::vector<float> x{1, 2, 30, 40};
  const tq::ConstTensorView v(x.data(), {2, 2});
  tq::Observer<tq::MinMax, tq::PerChannel<>> rows(tq::PerChannel<>(0)), cols(tq::PerChannel<>(1));
  rows.observe(v);
  cols.observe(v);
  test::raises(tq::errc::bad_argument, {"tq::Observer::merge", "same per_channel"},
               [&] { rows.merge(cols); });
  CHECK(rows.accumulators()[0].range() == tq::Range{1, 2});
}

TEST_CASE("a granularity that does not fit is named with its numbers", "[observer]") {
  const std::vector<float> x(6);
  const tq::ConstTensorView v(x.data(), {2, 3});
  tq::Observer<tq::MinMax, tq::PerChannel<>> channels(tq::PerChannel<>(-3), {}, "conv1");
  test::raises(
      tq::errc::bad_axis,
      {"tq::Observer::observe: tensor 'conv1': expected", "an axis -3 for per_channel", "[2, 3]"},
      [&] { channels.observe(v); });
  tq::Observer<tq::MinMax, tq::PerGroup<>> groups(tq::PerGroup<>(-4));
  test::raises(tq::errc::bad_group_size, {"at least 1 for per_group", "got -4"},
               [&] { groups.observe(v); });
  tq::Observer<tq::MinMax, tq::PerBlock<>> blocks(tq::PerBlock<>(2, 0));
  test::raises(tq::errc::bad_group_size, {"at least 1 for per_block", "got 2 x 0"},
               [&] { blocks.observe(v); });
  tq::Observer<tq::MinMax, tq::PerBlock<>> flat(tq::PerBlock<>(2, 2));
  test::raises(tq::errc::bad_axis, {"rank 2 or more for per_block", "[6]"},
               [&] { flat.observe(x); });
}

namespace {

template <class G>
void check_parts(const G& g, int least, std::uint64_t seed) {
  inputs::Random r(seed);
  int failed = 0;
  for (int rank = least; rank <= 5; ++rank)
    for (int round = 0; round < 20; ++round) {
      const tq::Shape shape = oracle::shape(r, rank, 500);
      std::vector<float> x(shape.size());
      for (float& v : x) v = static_cast<float>(r.between(-100, 100));
      tq::Observer<Sum, G> whole(g), parts(g);
      tq::Observer<tq::MinMax, G> whole_range(g), range(g);
      whole.observe(tq::ConstTensorView(x.data(), shape));
      whole_range.observe(tq::ConstTensorView(x.data(), shape));
      parts.begin(shape);
      range.begin(shape);
      for (std::size_t at = 0; at < x.size();) {
        const std::span<const float> some(x.data() + at, std::min(x.size() - at, 1 + r.below(90)));
        parts.add_part(shape, at, some);
        range.add_part(shape, at, some);
        at += some.size();
      }
      failed += parts.batches() != 1 || parts.accumulators().size() != whole.accumulators().size();
      for (std::size_t i = 0; i < whole.accumulators().size(); ++i)
        failed += parts.accumulators()[i].sum != whole.accumulators()[i].sum ||
                  parts.accumulators()[i].n != whole.accumulators()[i].n ||
                  !(range.accumulators()[i] == whole_range.accumulators()[i]);
    }
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("a batch in parts gives the slots of the whole", "[observer]") {
  check_parts(tq::PerTensor{}, 0, 1);
  check_parts(tq::PerChannel<0>{}, 1, 2);
  check_parts(tq::PerChannel<-1>{}, 1, 3);
  check_parts(tq::PerGroup<8>{}, 1, 4);
  check_parts(tq::PerGroup<3, 0>{}, 1, 5);
  check_parts(tq::PerBlock<2, 3>{}, 2, 6);
  tq::Observer<tq::MinMax, tq::PerChannel<1>> o;
  o.begin({2, 3});
  test::raises(tq::errc::shape_mismatch, {"tq::Observer::observe", "3", "got 4"},
               [&] { o.begin({2, 4}); });
}

namespace {
// Throws at the value 13, after it has added the values before.
struct Fragile {
  double sum = 0;
  void add(std::span<const float> x) {
    for (const float v : x) {
      if (v == 13) throw std::runtime_error("13");
      sum += static_cast<double>(v);
    }
  }
  void merge(const Fragile& o) {
    sum += o.sum;
    if (o.sum == 100) throw std::runtime_error("100");
  }
  [[nodiscard]] bool empty() const { return sum == 0; }
  friend bool operator==(const Fragile&, const Fragile&) = default;
};

// Does some of the work, and then has no more threads.
struct Failing {
  std::size_t pretended = 2, done = 1;
  [[nodiscard]] std::size_t concurrency() const { return pretended; }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    for (std::size_t i = 0; i < std::min(n, done); ++i) f(i);
    throw std::runtime_error("no threads");
  }
};

template <class O>
std::vector<typename O::accumulator_type> slots(const O& o) {
  return {o.accumulators().begin(), o.accumulators().end()};
}

// Nothing that a failing call may change has changed.
template <class O, class F>
void fails_whole(O& o, F&& call) {
  const auto before = slots(o);
  const std::uint64_t batches = o.batches();
  CHECK_THROWS(call());
  CHECK(slots(o) == before);
  CHECK(o.batches() == batches);
}
}  // namespace

TEST_CASE("an observer is as it was where an accumulator throws", "[observer]") {
  using O = tq::Observer<Fragile, tq::PerChannel<0>>;
  const std::vector<float> good{1, 2, 3, 4}, bad{5, 6, 7, 13}, hundred{0, 0, 99, 1};
  const tq::Shape shape{2, 2};
  O o;
  fails_whole(o, [&] { o.observe(tq::ConstTensorView(bad.data(), shape)); });
  CHECK(o.accumulators().empty());
  o.observe(tq::ConstTensorView(good.data(), shape));
  fails_whole(o, [&] { o.observe(tq::ConstTensorView(bad.data(), shape)); });
  fails_whole(o, [&] { o.observe(tq::ConstTensorView(bad.data(), shape, {1, 2})); });
  fails_whole(o, [&] { o.add_part(shape, 0, std::span<const float>(bad)); });
  O other;
  other.observe(tq::ConstTensorView(hundred.data(), shape));
  fails_whole(o, [&] { o.merge(other); });
  O empty;
  fails_whole(empty, [&] { empty.merge(other); });
  CHECK(empty.accumulators().empty());
  other.reset();
  other.observe(tq::ConstTensorView(good.data(), {1, 4}));
  fails_whole(o, [&] { o.merge(other); });
  o.observe(tq::ConstTensorView(good.data(), shape));
  CHECK(o.accumulators()[1].sum == 14);
  CHECK(o.batches() == 2);
}

TEST_CASE("an observer is as it was where an executor throws", "[observer]") {
  const std::vector<float> x = inputs::normals(std::size_t{16} << 15, 1);
  const auto check = [&](auto o, std::size_t rows) {
    const tq::ConstTensorView view(x.data(), {rows, x.size() / rows});
    for (const std::size_t done : {0u, 1u, 3u}) {
      fails_whole(o, [&] { o.observe(view, Failing{2, done}); });
      if (done == 0) o.observe(view);
    }
    auto whole = o;
    whole.observe(view);
    o.observe(view, test::Threads{2});
    CHECK(slots(o) == slots(whole));
  };
  check(tq::Observer<tq::MinMax, tq::PerChannel<0>>(), 2);
  check(tq::Observer<tq::MinMax, tq::PerChannel<0>>(), 64);
  check(tq::Observer<tq::MinMax, tq::PerChannel<1>>(), 64);
  check(tq::Observer<tq::Histogram, tq::PerChannel<0>>(), 16);
  using Moving = tq::MovingAverageMinMax;
  check(tq::Observer<Moving, tq::PerChannel<0>>(tq::PerChannel<0>{}, Moving(0.5)), 64);
  check(tq::Observer<Moving>(tq::PerTensor{}, Moving(0.5, Moving::Keeps::batches)), 64);
}

TEST_CASE("moving averages that cannot be merged or go back leave the observer", "[observer]") {
  using Moving = tq::MovingAverageMinMax;
  using O = tq::Observer<Moving, tq::PerChannel<0>>;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const auto observe = [](O& o, std::uint64_t batch, std::vector<float> x) {
    o.set_next_batch(batch);
    o.observe(tq::ConstTensorView(x.data(), {2, 1}));
  };
  O a(tq::PerChannel<0>{}, Moving(0.5)), b = a;
  observe(a, 0, {1, 2});
  observe(b, 5, {1, 2});
  observe(b, 6, {none, 4});
  fails_whole(a, [&] { a.merge(b); });
  observe(a, 4, {none, 3});
  const auto before = slots(a);
  CHECK_THROWS(observe(a, 2, {7, 8}));  // fits the first slot alone
  CHECK(slots(a) == before);
  observe(a, 2, {7, none});
  CHECK(a.accumulators()[0].range() == tq::Range{4, 4});
}

TEST_CASE("the last number of a batch is given once", "[observer]") {
  tq::Observer<tq::MinMax> o;
  o.set_next_batch(std::numeric_limits<std::uint64_t>::max());
  const std::vector<float> x{1, 2};
  o.observe(x);
  CHECK(o.batches() == std::numeric_limits<std::uint64_t>::max());
  fails_whole(o, [&] { o.observe(x); });
  tq::Observer<tq::MinMax> merged;
  merged.merge(o);
  fails_whole(merged, [&] { merged.observe(x); });
  o.set_next_batch(7);
  o.observe(x);
  CHECK(o.batches() == 8);
}

TEST_CASE("an observer takes shapes of any extents, or refuses them", "[observer]") {
  const float value = 0.5f;
  const auto observe = [&](const tq::Shape& shape, const auto& granularity) {
    tq::Observer<tq::MinMax, std::remove_cvref_t<decltype(granularity)>> observer(granularity);
    test::works_or_refuses([&] { observer.observe(tq::ConstTensorView(&value, shape)); });
    test::works_or_refuses([&] { observer.begin(shape); });
    for (const std::size_t first : test::extents)
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}})
        test::works_or_refuses([&] { observer.add_part(shape, first, std::span(&value, count)); });
  };
  for (int rank = 0; rank <= 3; ++rank)
    test::for_each_shape(rank, [&](const tq::Shape& shape) {
      if (!test::fits_one_element(shape)) return;
      INFO(to_string(shape));
      observe(shape, tq::PerTensor{});
      if (rank != 0) observe(shape, tq::PerToken{});
      if (rank != 0) observe(shape, tq::PerGroup<32>{});
    });
  tq::Observer<tq::MinMax> observer;
  observer.begin({4});
  test::raises(tq::errc::shape_mismatch, {"tq::Observer::add_part", "[4]", "1 from number 4"},
               [&] { observer.add_part({4}, 4, std::span(&value, 1)); });
}
