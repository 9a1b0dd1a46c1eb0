// SPDX-License-Identifier: MIT
// Observers of tensors of 16 and 64 bits have the results of observers of the same values as
// float32, bit for bit.
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/real_tensors.hpp"
#include "support/share.hpp"
#include "support/thread_executor.hpp"

namespace {

using real_tensors::Pair;

// Every value in the order it came; with nothing but what the concept asks for.
struct Sequence {
  std::vector<std::uint32_t> seen;
  void add(std::span<const float> x) {
    for (const float v : x) seen.push_back(v == v ? std::bit_cast<std::uint32_t>(v) : 0x7fc00000u);
  }
  void merge(const Sequence& o) { seen.insert(seen.end(), o.seen.begin(), o.seen.end()); }
  [[nodiscard]] bool empty() const { return seen.empty(); }
  friend bool operator==(const Sequence&, const Sequence&) = default;
};

template <class A, class B>
bool equal(const A& a, const B& b) {
  bool same = a.accumulators().size() == b.accumulators().size() && a.batches() == b.batches();
  for (std::size_t i = 0; same && i < a.accumulators().size(); ++i)
    same = a.accumulators()[i] == b.accumulators()[i];
  return same;
}

// A granularity chosen at run time, so that everything is compiled once.
struct Chosen {
  static constexpr std::string_view name = "chosen";
  tq::errc (*checks)(const tq::Shape&) = nullptr;
  tq::Shape (*blocks)(const tq::Shape&) = nullptr;
  const char* text = "";

  template <class G>
  static Chosen of(const char* text) {
    return {[](const tq::Shape& s) { return G{}.check(s); },
            [](const tq::Shape& s) { return G{}.block(s); }, text};
  }
  [[nodiscard]] tq::errc check(const tq::Shape& s) const noexcept { return checks(s); }
  [[nodiscard]] tq::Shape block(const tq::Shape& s) const noexcept { return blocks(s); }
};
const Chosen granularities[] = {
    Chosen::of<tq::PerTensor>("per tensor"),
    Chosen::of<tq::PerChannel<0>>("per channel 0"),
    Chosen::of<tq::PerChannel<1>>("per channel 1"),
    Chosen::of<tq::PerChannel<-1>>("per channel -1"),
    Chosen::of<tq::PerGroup<16>>("groups of 16"),
    Chosen::of<tq::PerGroup<3, 0>>("groups of 3 along axis 0"),
    Chosen::of<tq::PerGroup<1>>("elements"),
    Chosen::of<tq::PerBlock<2, 16>>("blocks"),
};

template <class T>
const std::vector<Pair<T>>& tensors() {
  static const std::vector<Pair<T>> all = [] {
    std::vector<Pair<T>> made;
    for (const real_tensors::Layout& l : real_tensors::layouts()) made.emplace_back(l, made.size());
    return made;
  }();
  return all;
}

// Every layout, twice: what was seen before changes how the next batch is counted.
template <class Acc, class T>
std::string differing() {
  std::string text;
  test::Share share;
  for (const Chosen& g : granularities)
    for (const Pair<T>& x : tensors<T>()) {
      if (!share.takes()) continue;
      const tq::Shape& shape = x.layout.shape;
      if (g.check(shape) != tq::errc::ok) continue;
      if (sizeof(Acc) > 10000 && tq::param_count(g, shape) > 600) continue;  // many histograms
      tq::Observer<Acc, Chosen> one(g), other(g);
      for (int batch = 0; batch < 2; ++batch) {
        one.observe(x.view());
        other.observe(x.float_view());
      }
      if (!equal(one, other)) text += x.layout.name + ", " + g.text + "\n";
    }
  return text;
}

template <class Acc>
void check() {
  CHECK(differing<Acc, tq::float16>() == "");
  CHECK(differing<Acc, tq::bfloat16>() == "");
  CHECK(differing<Acc, double>() == "");
}

}  // namespace

TEST_CASE("extremes of halves and of float64 are those of the values as float32", "[observer]") {
  check<tq::MinMax>();
  check<tq::AbsMax>();
  check<tq::MovingAverageMinMax>();
}

TEST_CASE("sums of halves and of float64 are those of the values as float32", "[observer]") {
  check<tq::MeanAbs>();
  check<tq::MeanStd>();
}

TEST_CASE("histograms of halves and of float64 are those of the values as float32", "[observer]") {
  check<tq::Histogram>();
  check<tq::AbsHistogram>();
  check<tq::Percentile>();
}

TEST_CASE("halves and float64 come in the order of float32", "[observer]") { check<Sequence>(); }

TEST_CASE("halves and float64 on threads are float32 on one", "[observer]") {
  const real_tensors::Layout rows{"rows", {600, 1000}, {1000, 1}, 0, 600000},
      columns{"columns", {600, 1000}, {1, 600}, 0, 600000};
  const auto differing_on = [&]<class T, class G>(T, const G& g) {
    std::string text;
    for (const real_tensors::Layout& l : {rows, columns})
      for (const bool parallel : {true, false}) {
        const Pair<T> x(l, 3);
        tq::Observer<tq::MeanStd, G> one(g), other(g);
        one.observe(x.view(), test::Awkward{{3}, parallel});
        other.observe(x.float_view());
        if (!equal(one, other)) text += l.name + ", " + std::string(G::name) + "\n";
      }
    return text;
  };
  CHECK(differing_on(tq::float16{}, tq::PerTensor{}) == "");
  CHECK(differing_on(tq::bfloat16{}, tq::PerChannel<1>{}) == "");
  CHECK(differing_on(0.0, tq::PerGroup<32>{}) == "");
}

TEST_CASE("spans, vectors, arrays and views of halves and float64 are observed", "[observer]") {
  std::vector<double> doubles{1, -2.5, 3};
  std::array<tq::float16, 2> halves{tq::float16(7.0f), tq::float16(-8.0f)};
  tq::bfloat16 more[]{tq::bfloat16(9.0f)};
  tq::Observer<tq::MinMax> o;
  o.observe(doubles);
  CHECK(o.accumulators()[0].range() == tq::Range{-2.5f, 3});
  o.observe(std::span<const tq::float16>(halves));
  o.observe(halves);
  CHECK(o.accumulators()[0].range() == tq::Range{-8, 7});
  o.observe(more);
  o.observe(tq::TensorView<tq::bfloat16>(more, {1, 1}), tq::serial);
  CHECK(o.accumulators()[0].range() == tq::Range{-8, 9});
  o.observe(std::span<double>(doubles));
  CHECK(o.batches() == 6);
  const std::vector<float> floats{10};
  o.observe(floats);
  o.observe({floats.data(), {1, 1}});
  CHECK(o.accumulators()[0].range() == tq::Range{-8, 10});
}

TEST_CASE("what float32 does not hold of float64 is infinite, and not finite", "[observer]") {
  const std::vector<double> x{1, 1e300, -1e39, 2, std::numeric_limits<double>::quiet_NaN()};
  tq::Observer<tq::MinMax> o;
  o.observe(x);
  CHECK(o.accumulators()[0].range() == tq::Range{1, 2});
  CHECK(o.accumulators()[0].infinite_count() == 2);
  tq::Observer<tq::MinMax, tq::PerTensor, tq::RaiseNonFinite> strict;
  test::raises(tq::errc::not_finite, {"tq::Observer::observe", "1 NaN", "2 infinite among 5"},
               [&] { strict.observe(x); });
  CHECK(strict.accumulators().empty());
  strict.observe(std::vector<tq::float16>(20000, tq::float16(1.0f)));
  CHECK(strict.accumulators()[0].count() == 20000);
}

TEST_CASE("a batch of halves in parts gives the slots of the whole", "[observer]") {
  const Pair<tq::float16> x({"rows", {30, 1000}, {1000, 1}, 0, 30000}, 5);
  tq::Observer<tq::MeanStd, tq::PerGroup<32>> whole, parts;
  whole.observe(x.float_view());
  parts.begin(x.layout.shape);
  const std::span<const tq::float16> all(x.memory);
  for (std::size_t at = 0; at < all.size(); at += 9999)
    parts.add_part(x.layout.shape, at,
                   all.subspan(at, std::min<std::size_t>(9999, all.size() - at)));
  CHECK(equal(whole, parts));
}

TEST_CASE("a part of a batch may have strides of its own", "[observer]") {
  const std::vector<float> x{1, -2, 3, 4, 5, -6};  // {2, 3} by columns is {3, 2} by rows
  tq::Observer<tq::MinMax, tq::PerGroup<2>> whole, parts;
  const tq::ConstTensorView turned(x.data(), {3, 2}, {1, 3});
  whole.observe(turned);
  parts.begin({3, 2});
  parts.add_part({3, 2}, 0, turned);
  CHECK(whole.accumulators()[1].range() == tq::Range{-2, 5});
  CHECK(equal(whole, parts));
}
