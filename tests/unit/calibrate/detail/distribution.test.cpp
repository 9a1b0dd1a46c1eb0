// SPDX-License-Identifier: MIT
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/distributions.hpp"

namespace {

using tq::detail::Decides;
using tq::detail::Distribution;
using tq::detail::Steps;

bool near(double a, double b) { return std::fabs(a - b) < 1e-12; }

// The mean of u by the steps of a density, given a primitive of u.
template <class F>
double mean_by_steps(const Steps& s, const F& primitive) {
  double sum = 0;
  for (std::size_t i = 0; i < s.at.size(); ++i) sum += s.drop[i] * primitive(s.at[i]);
  return sum;
}

}  // namespace

TEST_CASE("bins are spread evenly, and cut off where the values end", "[calibrate]") {
  distributions::Counts<> h{{1, 2, 0, 1}, -2, 1};
  h.range_ = {-1.5f, 2};  // the first bin holds [-1.5, -1], the last [1, 2]
  const Distribution d = Distribution::of(h);
  CHECK(d.unit() == 2);
  CHECK(d.width() == 0.5);
  CHECK(d.below(-0.75) == 0);
  CHECK(near(d.below(-0.625), 0.125));
  CHECK(near(d.below(-0.5), 0.25));
  CHECK(near(d.below(-0.25), 0.5));
  CHECK(near(d.below(0.25), 0.75));
  CHECK(near(d.below(0.75), 0.875));
  CHECK(d.below(1) == 1);
  CHECK(near(d.mean(), (-0.625 * 1 - 0.25 * 2 + 0.75 * 1) / 4));
  // The mean of |x| and of x^2, by hand: bins [-0.75, -0.5], [-0.5, 0], [0.5, 1].
  CHECK(near(d.mean_distance(0), (0.625 + 2 * 0.25 + 0.75) / 4));
  CHECK(near(d.mean_distance(-0.25), (0.375 + 2 * 0.125 + 1.0) / 4));
  CHECK(near(d.mean_square(0),
             ((0.5625 + 0.375 + 0.25) / 3 + 2 * 0.25 / 3 + (1 + 0.5 + 0.25) / 3) / 4));
}

TEST_CASE("a density by its steps", "[calibrate]") {
  for (const distributions::Data& data : distributions::all(20000)) {
    tq::Histogram h;
    h.add(data.x);
    const Distribution d = Distribution::of(h);
    for (const double resolution : {0.0, 1.0, 16.0, 256.0}) {
      const Steps s = d.steps(resolution);
      INFO(data.name << " " << resolution << " " << s.at.size());
      CHECK(std::is_sorted(s.at.begin(), s.at.end()));
      double points = 0, of_points = 0;
      for (const auto& m : s.points) points += m.share, of_points += m.share * m.at;
      CHECK(std::fabs(mean_by_steps(s, [](double x) { return x; }) + points - 1) < 1e-9);
      CHECK(std::fabs(mean_by_steps(s, [](double x) { return x * x / 2; }) + of_points - d.mean()) <
            (resolution == 0 ? 1e-9 : 0.01));
    }
    CHECK(d.steps(4).at.size() < d.steps(64).at.size());
    CHECK(d.steps(64).at.size() <= d.steps().at.size());
  }
}

TEST_CASE("a bin that is one value", "[calibrate]") {
  distributions::Counts<> h{{3, 1}, 0, 1};
  h.range_ = {0, 1};  // the largest value lies where its bin begins
  const Steps s = Distribution::of(h).steps();
  CHECK(s.points.size() == 1);
  CHECK(s.points[0].at == 1);
  CHECK(s.points[0].share == 0.25);
  CHECK(s.at == std::vector<double>{0, 1});
  CHECK(s.drop == std::vector<double>{-0.75, 0.75});
  CHECK(Distribution::of(h).below(1) == 1);
  CHECK(near(Distribution::of(h).below(0.5), 0.375));
}

TEST_CASE("magnitudes stand for both signs, unless only positive ones decide", "[calibrate]") {
  distributions::Counts<true> h{{4, 2, 2}, 1, 1};
  h.range_ = {1, 4};
  const Distribution d = Distribution::of(h);
  CHECK(near(d.mean(), 0));
  CHECK(near(d.below(0), 0.5));
  CHECK(near(d.below(-0.5), 0.25));
  CHECK(near(d.below(0.5), 0.75));
  CHECK(d.below(0.1) == 0.5);
  CHECK(near(d.mean_distance(0), (1.5 * 4 + 2.5 * 2 + 3.5 * 2) / 8 / 4));
  const Steps s = d.steps();
  CHECK(s.at == std::vector<double>{-1, -0.5, -0.25, 0.25, 0.5, 1});
  const Distribution positive = Distribution::of(h, Decides::top);
  CHECK(positive.below(0.25) == 0);
  CHECK(near(positive.below(0.5), 0.5));
}

TEST_CASE("everything in one bin", "[calibrate]") {
  distributions::Counts<> h{{10}, 0, 1};
  h.range_ = {0.25f, 0.5f};
  const Distribution d = Distribution::of(h);
  CHECK(d.below(0.5) == 0);
  CHECK(near(d.below(0.75), 0.5));
  CHECK(d.below(1) == 1);
}

TEST_CASE("half of everything lies up to the median", "[calibrate]") {
  distributions::Counts<> h{{1, 2, 0, 1}, -2, 1};
  h.range_ = {-1.5f, 2};
  CHECK(std::fabs(Distribution::of(h).median() + 0.25) < 1e-9);
  tq::Histogram few;  // known as such
  few.add(std::vector<float>{1, 1, 1, 8});
  CHECK(std::fabs(Distribution::of(few).median() - 0.125) < 1e-9);
}

TEST_CASE("bins far from the middle are joined, others are not", "[calibrate]") {
  distributions::Counts<> h{std::vector<std::uint64_t>(64, 1), 0, 1};
  h.range_ = {0, 64};
  for (std::size_t i = 0; i < 64; ++i) h.counts_[i] = 100 + i * 37 % 89;
  const Distribution d = Distribution::of(h);
  const double middle = 40.0 / 64;
  const Steps all = d.steps(), around = d.steps(8, middle);
  CHECK(around.at.size() < all.at.size());
  for (std::size_t i = 0; i + 1 < around.at.size(); ++i) {
    const double lo = around.at[i], hi = around.at[i + 1];
    const double distance = lo < middle ? middle - hi : lo - middle;
    CHECK((hi - lo <= 1.0 / 64 + 1e-12 || (hi - lo) * 8 <= distance + 1e-12));
  }
}
