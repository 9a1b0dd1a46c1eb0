// SPDX-License-Identifier: MIT
#include <tq/kernels/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"

namespace {

using kernel = tq::kernels::histogram<tq::arch::native>;
using tq::kernels::Bins;
using tq::kernels::Counted;
using tq::kernels::Extremes;

constexpr float infinity = std::numeric_limits<float>::infinity(),
                biggest = std::numeric_limits<float>::max();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// The index by its definition; x / w is exact in double, and so is its whole part.
double index_of(float x, int exponent) {
  const double steps = std::floor(std::ldexp(std::fabs(static_cast<double>(x)), -exponent));
  return x < 0 ? -1 - steps : steps;
}
bool has_bin(float x, const Bins& b) {
  if (!std::isfinite(x)) return false;
  const double at = index_of(x, b.exponent) - b.first;
  return at >= 0 && at < b.count;
}

struct Wanted {
  std::vector<std::uint64_t> counts;
  Extremes e;
  std::uint64_t zeros = 0;
  std::vector<float> others;
};
bool same(const Extremes& a, const Extremes& b) {
  return a.min == b.min && a.max == b.max && a.nan == b.nan && a.infinite == b.infinite;
}
constexpr std::size_t guards =
    16;  // counts before and after the bins, where nothing may be counted
constexpr std::uint64_t before = 7;  // every count, before anything is counted
template <bool Absolute>
Wanted wanted(const float* x, std::size_t n, const Bins& b) {
  Wanted w{std::vector<std::uint64_t>(static_cast<std::size_t>(b.count), before), {}, 0, {}};
  const double steps = std::ldexp(1.0, -b.exponent);  // in 1: products with it are exact
  for (std::size_t i = 0; i < n; ++i) {
    const float v = Absolute ? std::fabs(x[i]) : x[i];
    const double whole = std::floor(std::fabs(static_cast<double>(v)) * steps),
                 at = (v < 0 ? -1 - whole : whole) - b.first;
    if (!std::isfinite(v) || !(at >= 0 && at < b.count)) {
      w.others.push_back(x[i]);
      continue;
    }
    ++w.counts.at(static_cast<std::size_t>(at));
    if (v < w.e.min) w.e.min = v;
    if (v > w.e.max) w.e.max = v;
    w.zeros += v == 0 ? 1 : 0;
  }
  w.counts.insert(w.counts.begin(), guards, before);
  w.counts.insert(w.counts.end(), guards, before);
  return w;
}

// Whether the kernel is right for `values`, at some distance from any alignment and with nothing
// behind them. It must count or put aside every value up to its stop, and change no count outside
// the bins; it may stop only where there is no room.
template <bool Absolute>
bool right(const std::vector<float>& values, const Bins& b, std::size_t lead = 1) {
  std::vector<float> memory(lead + values.size());
  std::copy(values.begin(), values.end(), memory.begin() + static_cast<std::ptrdiff_t>(lead));
  const float* x = memory.data() + lead;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(b.count) + 2 * guards, before);
  Counted c;
  const std::size_t n = kernel::run<Absolute>(x, values.size(), b, counts.data() + guards, c);
  if (n != values.size() && c.has_room()) return false;
  const Wanted w = wanted<Absolute>(x, n, b);
  return counts == w.counts && same(c.extremes, w.e) && c.zeros == w.zeros &&
         c.others == w.others.size() &&
         (w.others.empty() ||
          std::memcmp(c.other, w.others.data(), w.others.size() * sizeof(float)) == 0);
}

// A value that has a bin.
float value(inputs::Random& r, const Bins& b) {
  const double width = std::ldexp(1.0, b.exponent);
  for (;;) {
    const double at = b.first + r.unit() * b.count;
    float v = static_cast<float>((r.chance(30) ? std::floor(at) : at) * width);
    if (r.chance(10)) v = inputs::nudge(v, r.between(-1, 1));
    if (r.chance(5)) v = r.chance(50) ? 0.0f : -0.0f;
    if (has_bin(v, b)) return v;
  }
}

const std::vector<Bins>& windows() {
  static const std::vector<Bins> all = {{-8, -1024, 2048},
                                        {-8, 0, 2048},
                                        {-8, -2048, 2048},
                                        {-3, 17, 8},
                                        {-3, -25, 8},
                                        {-20, -900, 4096},
                                        {5, -30, 64},
                                        {-8, 16777216 - 64, 64},
                                        {-8, -16777216, 64},
                                        {-149, -700, 2048},
                                        {-130, 5, 2048},
                                        {-128, -1024, 2048},
                                        {-127, -1024, 2048},
                                        {-126, -700, 2048},
                                        {-149, -8, 8},
                                        {117, -1024, 2048},
                                        {104, 16777216 - 2048, 2048},
                                        {126, -4, 8},
                                        {-40, 0, 32768}};
  return all;
}

}  // namespace

TEST_CASE("the index of a value is its definition", "[histogram]") {
  inputs::Random r(1);
  int failed = 0;
  for (int k = -149; k <= 126; ++k)
    for (int i = 0; i < 400; ++i) {
      const int steps = i < 120 ? i : static_cast<int>(r.below(16777216));
      const auto edge = static_cast<float>(std::ldexp(steps, k));
      for (float v : {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)})
        for (const float x : {v, -v})
          if (std::isfinite(x) && index_of(v, k) < 16777217)
            failed += tq::kernels::bin_index(x, k) != static_cast<std::int32_t>(index_of(x, k));
    }
  CHECK(failed == 0);
}

TEST_CASE("every length is counted", "[histogram]") {
  inputs::Random r(2);
  std::string failures;
  for (const Bins& b : windows())
    for (std::size_t n = 0; n <= 200; ++n) {
      std::vector<float> x(n);
      for (float& v : x) v = value(r, b);
      bool ok = right<false>(x, b, r.below(16));
      if (b.first >= 0) ok = ok && right<true>(x, b, r.below(16));
      if (!ok)
        failures += std::to_string(b.exponent) + "/" + std::to_string(b.first) + ": " +
                    std::to_string(n) + "; ";
    }
  CAPTURE(failures);
  CHECK(failures.empty());
}

TEST_CASE("every edge falls on the side of zero", "[histogram]") {
  for (const Bins& b : windows()) {
    std::vector<float> x;
    for (std::int32_t i = -1; i <= std::min(b.count, 3000); ++i) {
      const auto edge = static_cast<float>(std::ldexp(b.first + i, b.exponent));
      for (const float v : {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)})
        if (has_bin(v, b)) x.push_back(v);
    }
    INFO(b.exponent << " " << b.first);
    CHECK(right<false>(x, b));
    if (b.first < 0) continue;
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -x[i];
    CHECK(right<true>(x, b));
  }
}

TEST_CASE("a value without a bin is put aside", "[histogram]") {
  inputs::Random r(3);
  test::Share share;
  std::string failures;
  for (const Bins& b : windows()) {
    const auto below = static_cast<float>(std::ldexp(b.first - 2, b.exponent));
    const auto above = static_cast<float>(std::ldexp(b.first + b.count + 1, b.exponent));
    for (const float special :
         {nan_value, -nan_value, infinity, -infinity, biggest, -biggest, below, above,
          std::ldexp(above, 8), 3e9f * above, -3e9f * above, std::numeric_limits<float>::min()}) {
      if (has_bin(special, b)) continue;
      for (const std::size_t n : {1u, 3u, 16u, 70u, 200u, 257u}) {
        std::vector<float> x(n);
        for (float& v : x) v = value(r, b);
        for (std::size_t at = 0; at < n; at += n < 20 ? 1 : 1 + r.below(9)) {
          if (!share.takes()) continue;
          std::vector<float> y = x;
          y[at] = special;
          bool ok = right<false>(y, b, r.below(16));
          if (b.first >= 0) ok = ok && right<true>(y, b, r.below(16));
          if (!ok)
            failures += std::to_string(b.exponent) + "/" + std::to_string(b.first) + ": " +
                        std::to_string(special) + " at " + std::to_string(at) + "; ";
        }
      }
    }
  }
  CAPTURE(failures);
  CHECK(failures.empty());
}

TEST_CASE("long runs are counted, whatever repeats in them", "[histogram]") {
  inputs::Random r(4);
  test::Share share;
  for (const std::size_t n : {8191u, 8192u, 20001u, 131073u, 270000u})
    for (const Bins& b : {Bins{-8, -1024, 2048}, Bins{-4, -64, 128}, Bins{-9, -2048, 4096},
                          Bins{-6, -1020, 2048}}) {
      if (!share.takes()) continue;
      std::vector<float> x(n);
      INFO(n << " values in " << b.count << " bins");
      for (float& v : x) v = value(r, b);
      CHECK(right<false>(x, b, r.below(16)));
      for (float& v : x) v = r.chance(70) ? 0.0f : v;
      CHECK(right<false>(x, b, r.below(16)));
      for (float& v : x) v = -3.5f;
      CHECK(right<false>(x, b, r.below(16)));
      x[n / 2] = x[n - 1] = nan_value;
      CHECK(right<false>(x, b, r.below(16)));
      for (float& v : x) v = std::isnan(v) ? 0.0f : value(r, b);
      const Bins magnitudes{b.exponent, 0, b.count};
      CHECK(right<true>(x, magnitudes, r.below(16)));
      x[n - 1] = 1e30f;
      CHECK(right<true>(x, magnitudes, r.below(16)));
    }
}

TEST_CASE("there is room for so many values without bins", "[histogram]") {
  inputs::Random r(6);
  const Bins b{-8, -1024, 2048};
  for (const int percent : {1, 10, 60, 100})
    for (const std::size_t n : {63u, 64u, 1000u, 9000u, 140000u}) {
      std::vector<float> x(n);
      for (float& v : x)
        v = static_cast<int>(r.below(100)) < percent ? (r.chance(50) ? nan_value : 9.0f)
                                                     : value(r, b);
      CHECK(right<false>(x, b, r.below(16)));
    }
}

TEST_CASE("counts and extremes are added to what was there", "[histogram]") {
  const Bins b{-3, -32, 64};
  std::vector<std::uint64_t> counts(64, std::uint64_t{1} << 40);
  Counted c;
  c.extremes = {-1, 2, 3, 4};
  c.zeros = 5;
  const std::vector<float> x(20000, 0.5f);
  CHECK(kernel::run<false>(x.data(), x.size(), b, counts.data(), c) == x.size());
  CHECK(kernel::run<false>(x.data(), 100, b, counts.data(), c) == 100);
  for (std::size_t i = 0; i < counts.size(); ++i)
    CHECK(counts[i] == (std::uint64_t{1} << 40) + (i == 36 ? 20100 : 0));
  CHECK(same(c.extremes, {-1, 2, 3, 4}));
  CHECK(c.zeros == 5);
}

TEST_CASE("the extremes of values and of magnitudes", "[histogram]") {
  inputs::Random r(5);
  int failed = 0;
  for (std::size_t n = 0; n < 9000; n = n < 140 ? n + 1 : n * 3 / 2)
    for (const int specials : {0, 1, 500}) {
      std::vector<float> x(n + 1);
      for (float& v : x)
        v = static_cast<int>(r.below(1000)) < specials ? inputs::value(r, 1.0f)
                                                       : static_cast<float>(r.normal());
      Extremes plain, magnitudes;
      for (std::size_t i = 1; i <= n; ++i) {
        const float v = x[i], m = std::fabs(v);
        const bool finite = std::isfinite(v);
        for (Extremes* e : {&plain, &magnitudes}) {
          const float w = e == &plain ? v : m;
          e->nan += std::isnan(v) ? 1 : 0;
          e->infinite += std::isinf(v) ? 1 : 0;
          if (finite && w < e->min) e->min = w;
          if (finite && w > e->max) e->max = w;
        }
      }
      failed += !same(kernel::extremes<false>(x.data() + 1, n), plain);
      failed += !same(kernel::extremes<true>(x.data() + 1, n), magnitudes);
    }
  CHECK(failed == 0);
}
