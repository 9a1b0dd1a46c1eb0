// SPDX-License-Identifier: MIT
#include <tq/calibrate/detail/divergence.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "unit/calibrate/divergence_oracle.hpp"

namespace {

using tq::detail::NumberedBins;
using tq::detail::Signs;

std::vector<double> equal_cuts(int levels) {
  std::vector<double> cuts;
  for (int k = 1; k < levels; ++k) cuts.push_back(static_cast<double>(k) / levels);
  return cuts;
}

}  // namespace

TEST_CASE("the divergence is what adding up bin by bin gives", "[calibrate]") {
  inputs::Random r(1);
  for (int run = 0; run < 300; ++run) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(r.between(1, 60)));
    for (std::uint64_t& c : counts)
      c = r.chance(40) ? 0 : static_cast<std::uint64_t>(r.between(1, 1000));
    counts.front() = counts.back() = 7;
    const int first = r.between(-50, 10);
    const NumberedBins bins(distributions::Counts<>{counts, first * 0.25, 0.25}, Signs::kept);
    std::vector<double> cuts = equal_cuts(r.between(1, 20));
    if (r.chance(50))
      for (double& c : cuts) c *= c;  // cells of different widths, as floats have them
    for (int window = 0; window < 20; ++window) {
      const int begin = r.between(first - 10, first + 20), end = begin + r.between(1, 70);
      const double ours = bins.divergence(begin, end, cuts);
      const double theirs = divergence_oracle::divergence(counts, first, begin, end, cuts);
      INFO(begin << " to " << end << ", counts from " << first << ", " << cuts.size() << " cuts");
      if (std::isinf(theirs)) CHECK(std::isinf(ours));
      else CHECK(std::fabs(ours - theirs) <= 1e-10 * (1 + theirs));
    }
  }
}

TEST_CASE("levels that are cut exactly between bins, and finer than bins, lose nothing",
          "[calibrate]") {
  const std::vector<std::uint64_t> counts{3, 9, 4, 4, 0, 1, 8, 2};
  const NumberedBins bins(distributions::Counts<>{counts, 0, 1}, Signs::kept);
  for (const int levels : {8, 16, 24})
    CHECK(std::fabs(bins.divergence(0, 8, equal_cuts(levels))) < 1e-12);
  CHECK(bins.divergence(0, 8, equal_cuts(4)) > 0.01);
}

TEST_CASE("bins with magnitudes, and without what is negative", "[calibrate]") {
  const distributions::Counts<> h{
      {1, 2, 3, 4, 5}, -3, 1};  // -3..-2: 1, -2..-1: 2, -1..0: 3, 0..1: 4, 1..2: 5
  const auto same = [&](const NumberedBins& a, const NumberedBins& b) {
    CHECK(a.first() == b.first());
    CHECK(a.end() == b.end());
    for (const int levels : {1, 2})
      CHECK(a.divergence(0, 2, equal_cuts(levels)) == b.divergence(0, 2, equal_cuts(levels)));
  };
  same(NumberedBins(h, Signs::folded),
       NumberedBins(distributions::Counts<>{{7, 7, 1}, 0, 1}, Signs::kept));
  same(NumberedBins(h, Signs::dropped),
       NumberedBins(distributions::Counts<>{{4, 5}, 0, 1}, Signs::kept));
  const NumberedBins none(distributions::Counts<>{{4, 5}, -2, 1}, Signs::dropped);
  CHECK(none.first() == none.end());
}

TEST_CASE("bins of which zero is no edge are shared out", "[calibrate]") {
  const distributions::Counts<> h{{8, 8, 8}, -1.25, 1};
  const NumberedBins folded(
      h, Signs::folded);  // [0.25, 1.25]: 8, [0, 0.25]: 2, [0, 0.75]: 6, [0.75, 1.75]: 8
  CHECK(folded.first() == 0);
  CHECK(folded.end() == 2);
  const NumberedBins expected(distributions::Counts<>{{16, 8}, 0, 1}, Signs::kept);
  CHECK(std::fabs(folded.divergence(0, 2, {}) - expected.divergence(0, 2, {})) < 1e-12);
  const NumberedBins kept(h, Signs::kept);
  CHECK(kept.first() == -2);
  CHECK(kept.end() == 2);
}

TEST_CASE("counts beyond 2^32 are counted", "[calibrate]") {
  // Model-Optimizer converts counts to 32-bit integers, torch.histc counts in float32.
  const std::uint64_t many = std::uint64_t{5} << 32;
  const NumberedBins large(distributions::Counts<>{{many, 2 * many, 3 * many, many}, 0, 1},
                           Signs::kept);
  const NumberedBins small(distributions::Counts<>{{1, 2, 3, 1}, 0, 1}, Signs::kept);
  for (const int end : {2, 3, 4})
    CHECK(std::fabs(large.divergence(0, end, equal_cuts(2)) -
                    small.divergence(0, end, equal_cuts(2))) < 1e-9);
  CHECK(static_cast<std::uint32_t>(many) == 0);
}

TEST_CASE("windows of which nothing can be said", "[calibrate]") {
  const NumberedBins bins(distributions::Counts<>{{4, 0, 0, 2}, 10, 1}, Signs::kept);
  CHECK(std::isinf(bins.divergence(0, 10, equal_cuts(4))));  // empty
  CHECK(
      std::isinf(bins.divergence(0, 12, equal_cuts(4))));  // what lies outside goes to an empty bin
  CHECK(std::isinf(bins.divergence(20, 30, equal_cuts(4))));
  CHECK(std::isfinite(bins.divergence(0, 11, equal_cuts(4))));
  CHECK(std::isfinite(bins.divergence(0, 14, equal_cuts(4))));
}
