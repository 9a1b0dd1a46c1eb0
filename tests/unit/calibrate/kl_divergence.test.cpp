// SPDX-License-Identifier: MIT
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "divergence_oracle.hpp"
#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/error_check.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using S8 = Params<tq::int8, tq::Symmetric>;
using U8 = Params<tq::uint8, tq::Symmetric>;
using S4 = Params<tq::int4, tq::Symmetric>;
using A4 = Params<tq::int4, tq::Asymmetric>;
using A8 = Params<tq::uint8, tq::Asymmetric>;
using onnx = tq::numerics::onnx;

static_assert(tq::CalibratorFor<tq::KlDivergenceCalibrator, tq::Histogram, A8>);
static_assert(tq::CalibratorFor<tq::KlDivergenceCalibrator, tq::AbsHistogram, S8>);
static_assert(!tq::CalibratorFor<tq::KlDivergenceCalibrator, tq::AbsHistogram, A8>);
static_assert(tq::CalibratorFor<tq::KlDivergenceCalibrator, tq::AbsHistogram,
                                Params<tq::int8, tq::SymmetricHalf>>);
static_assert(!tq::CalibratorFor<tq::KlDivergenceCalibrator, tq::MeanStd, S8>);

std::vector<double> equal_cuts(int levels) {
  std::vector<double> cuts;
  for (int k = 1; k < levels; ++k) cuts.push_back(static_cast<double>(k) / levels);
  return cuts;
}

struct Folded {
  std::vector<std::uint64_t> counts;
  std::int64_t first = 0;
};
// Magnitudes (`both`) or the values that are not negative, from the bins of a histogram.
Folded folded(const tq::Histogram& h, bool both) {
  Folded f;
  const auto first = static_cast<std::int64_t>(h.origin() / h.bin_width());
  const std::vector<std::uint64_t> counts = h.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t bin = first + static_cast<std::int64_t>(i);
    if (bin < 0 && !both) continue;
    const auto at = static_cast<std::size_t>(bin < 0 ? -1 - bin : bin);
    if (f.counts.size() <= at) f.counts.resize(at + 1);
    f.counts[at] += counts[i];
  }
  return f;
}

struct Choice {
  double threshold, divergence;
};
// Tries every candidate. 0 is the observed range.
template <class Begin, class End>
Choice least(const Folded& f, std::int64_t whole, double width, std::int64_t stride,
             const std::vector<double>& cuts, const Begin& begin, const End& end) {
  const auto levels = static_cast<std::int64_t>(cuts.size()) + 1;
  Choice best{0, std::numeric_limits<double>::infinity()};
  for (std::int64_t t = whole; t > 0 && end(t) - begin(t) >= levels; t -= stride) {
    const double kl = divergence_oracle::divergence(f.counts, f.first, begin(t), end(t), cuts);
    if (kl < best.divergence - 1e-11) best = {t == whole ? 0 : static_cast<double>(t) * width, kl};
  }
  return best;
}

template <class P>
void check_symmetric(const distributions::Data& data, int levels, std::int64_t stride,
                     bool both = true) {
  const auto h = seen<tq::Histogram>(data.x);
  const Folded f = folded(h, both);
  const auto whole = static_cast<std::int64_t>(f.counts.size());
  const Choice best = least(
      f, whole, h.bin_width(), stride, equal_cuts(levels),
      [](std::int64_t) { return std::int64_t{0}; }, [](std::int64_t t) { return t; });
  const tq::Range r = tq::KlDivergenceCalibrator{stride, true}.range<P, onnx>(h);
  INFO(data.name << " " << P::type::name << " stride " << stride << ": " << r.max << ", expected "
                 << best.threshold);
  if (best.threshold == 0) CHECK(r == h.range());
  else CHECK(static_cast<double>(r.max) == best.threshold);
  if (best.threshold != 0) CHECK(r.min == (both ? -r.max : 0.0f));
}

template <class P>
void check_asymmetric(const distributions::Data& data, int levels, std::int64_t stride) {
  const auto h = seen<tq::Histogram>(data.x);
  const Folded f{h.counts(), static_cast<std::int64_t>(h.origin() / h.bin_width())};
  const auto lowest = std::min(f.first, std::int64_t{0});
  const auto highest =
      std::max(f.first + static_cast<std::int64_t>(f.counts.size()), std::int64_t{0});
  const Choice best = least(
      f, std::max(-lowest, highest), h.bin_width(), stride, equal_cuts(levels),
      [&](std::int64_t t) { return std::max(-t, lowest); },
      [&](std::int64_t t) { return std::min(t, highest); });
  const tq::Range r = tq::KlDivergenceCalibrator{stride, true}.range<P, onnx>(h);
  INFO(data.name << " " << P::type::name << " stride " << stride << ": " << r.max << ", expected "
                 << best.threshold);
  const auto t = static_cast<float>(best.threshold);
  if (t == 0) CHECK(r == h.range());
  else CHECK(r == tq::Range{std::max(-t, h.range().min), std::min(t, h.range().max)});
}

}  // namespace

TEST_CASE("the threshold is the one of least divergence among all candidates", "[calibrate]") {
  for (const distributions::Data& data : distributions::all(20000)) {
    check_symmetric<S8>(data, 128, 16);
    check_symmetric<U8>(data, 256, 16, false);
    check_symmetric<S4>(data, 8, 9);
    check_symmetric<Params<tq::ternary, tq::SymmetricNarrow>>(data, 2, 16);
    check_symmetric<Params<tq::uint8, tq::SymmetricHalf>>(data, 128, 16);
    check_asymmetric<A8>(data, 256, 32);
    check_asymmetric<A4>(data, 16, 16);
  }
}

TEST_CASE("unless told otherwise there are at most 256 candidates, of many levels fewer",
          "[calibrate]") {
  for (const distributions::Data& data : distributions::all(20000)) {
    const auto h = seen<tq::Histogram>(data.x);
    const std::int64_t whole = static_cast<std::int64_t>(folded(h, true).counts.size());
    const std::int64_t stride = (whole - 8) / 256 + 1;
    CHECK((whole - 8) / stride + 1 <= 256);
    CHECK(tq::KlDivergenceCalibrator{0, true}.range<S4, onnx>(h) ==
          tq::KlDivergenceCalibrator{stride, true}.range<S4, onnx>(h));
    const std::int64_t of_many =
        (static_cast<std::int64_t>(folded(h, false).counts.size()) - 256) / 128 + 1;
    CHECK(tq::KlDivergenceCalibrator{0, true}.range<U8, onnx>(h) ==
          tq::KlDivergenceCalibrator{of_many, true}.range<U8, onnx>(h));
  }
}

TEST_CASE("outliers are clipped, what is evenly spread is not", "[calibrate]") {
  std::vector<float> x =
      distributions::draw(1000000, 1, [](inputs::Random& r) { return 2 * r.unit() - 1; });
  CHECK(tq::KlDivergenceCalibrator{}.range<S4, onnx>(seen<tq::Histogram>(x)) ==
        seen<tq::Histogram>(x).range());
  x = distributions::draw(1000000, 1, distributions::normal);
  x.push_back(40);
  const tq::Range r = tq::KlDivergenceCalibrator{}.range<S4, onnx>(seen<tq::Histogram>(x));
  CHECK(r.max < 6);
  CHECK(r.max > 2);
}

TEST_CASE("ties go to the larger threshold", "[calibrate]") {
  // Every window of equal counts is quantized without loss; the others have something to clip.
  distributions::Counts<> h{std::vector<std::uint64_t>(16, 5), 0, 1};
  CHECK(tq::KlDivergenceCalibrator{1}.range<S4, onnx>(h) == h.range());
}

TEST_CASE("floats and code books: the cells of their values", "[calibrate]") {
  using P = Params<tq::float4_e2m1fn, tq::Symmetric>;  // 0, 0.5, 1, 1.5, 2, 3, 4, 6
  const std::vector<double> cuts{0.25 / 6, 0.75 / 6, 1.25 / 6, 1.75 / 6, 2.5 / 6, 3.5 / 6, 5.0 / 6};
  for (const distributions::Data& data : distributions::all(20000)) {
    const auto h = seen<tq::Histogram>(data.x);
    const Folded f = folded(h, true);
    const Choice best = least(
        f, static_cast<std::int64_t>(f.counts.size()), h.bin_width(), 7, cuts,
        [](std::int64_t) { return std::int64_t{0}; }, [](std::int64_t t) { return t; });
    const tq::Range r = tq::KlDivergenceCalibrator{7, true}.range<P, onnx>(h);
    INFO(data.name);
    const double ours = r == h.range() ? 0 : static_cast<double>(r.max);
    CHECK(ours == best.threshold);
  }
}

TEST_CASE("magnitudes from the start give the same as folded values", "[calibrate]") {
  for (const distributions::Data& data : distributions::all(20000)) {
    const auto both = seen<tq::Histogram>(data.x);
    const auto magnitudes = seen<tq::AbsHistogram>(data.x);
    if (both.bin_width() != magnitudes.bin_width()) continue;
    const tq::Range a = tq::KlDivergenceCalibrator{4, true}.range<S4, onnx>(both);
    const tq::Range b = tq::KlDivergenceCalibrator{4, true}.range<S4, onnx>(magnitudes);
    CHECK(std::max(-a.min, a.max) == b.max);
  }
}

TEST_CASE("ONNX Runtime's default tries exactly one candidate, ours many", "[calibrate]") {
  // get_entropy_threshold: for i in range(num_quantized_bins // 2, num_bins // 2 + 1), both 128 by
  // default.
  const int bins = 128, quantized = 128;
  std::vector<int> candidates(static_cast<std::size_t>(bins / 2 + 1 - quantized / 2));
  CHECK(candidates.size() == 1);
  // That one is the whole range, outliers and all.
  const int i = quantized / 2, start = bins / 2 - i, end = std::min(bins / 2 + i + 1, bins);
  CHECK(start == 0);
  CHECK(end == bins);
  const auto h = seen<tq::Histogram>(distributions::draw(1000000, 2, distributions::outliers));
  CHECK(tq::KlDivergenceCalibrator{}.range<A8, onnx>(h).max < 0.7f * h.range().max);
}

namespace {

// The quantized distribution of ONNX Runtime's get_entropy_threshold for one window.
std::vector<std::int64_t> onnx_runtime_q(const std::vector<std::int64_t>& window,
                                         std::size_t quantized) {
  const std::size_t merged = window.size() / quantized;
  std::vector<std::int64_t> levels(quantized), q(window.size());
  for (std::size_t k = 0; k < quantized; ++k)
    for (std::size_t j = k * merged; j < (k + 1) * merged; ++j) levels[k] += window[j];
  for (std::size_t j = quantized * merged; j < window.size(); ++j) levels.back() += window[j];
  for (std::size_t k = 0; k < quantized; ++k) {
    std::int64_t filled = 0;
    for (std::size_t j = k * merged; j < (k + 1) * merged; ++j) filled += window[j] != 0 ? 1 : 0;
    if (filled == 0) continue;
    for (std::size_t j = k * merged; j < (k + 1) * merged; ++j)
      q[j] = static_cast<std::int64_t>(static_cast<double>(levels[k]) /
                                       static_cast<double>(filled));  // an int64 array
  }
  return q;
}

}  // namespace

TEST_CASE("ONNX Runtime leaves the last bins of its windows empty, ours cuts the window exactly",
          "[calibrate]") {
  const std::vector<std::int64_t> window(201, 1000);
  const std::vector<std::int64_t> q = onnx_runtime_q(window, 128);
  CHECK(std::count(q.begin(), q.end(), 0) == 73);
  // An even distribution loses nothing with any number of levels of equal width.
  const tq::detail::NumberedBins bins(
      distributions::Counts<>{std::vector<std::uint64_t>(201, 1000), 0, 1},
      tq::detail::Signs::kept);
  CHECK(std::fabs(bins.divergence(0, 201, equal_cuts(128))) < 1e-12);
}

TEST_CASE("ONNX Runtime rounds the shares of levels down to integers, ours keeps them",
          "[calibrate]") {
  // Levels of four bins that hold 5: a fifth is lost.
  std::vector<std::int64_t> window;
  for (int k = 0; k < 128; ++k) window.insert(window.end(), {1, 1, 1, 2});
  const std::vector<std::int64_t> q = onnx_runtime_q(window, 128);
  CHECK(q[0] == 1);                                                        // 5 / 4
  CHECK(std::accumulate(q.begin(), q.end(), std::int64_t{0}) == 4 * 128);  // of 5 * 128
  std::vector<std::uint64_t> counts(window.begin(), window.end());
  const tq::detail::NumberedBins bins(distributions::Counts<>{counts, 0, 1},
                                      tq::detail::Signs::kept);
  // sum p log(p / q) with q = 5 / 4 each: 3/5 log(4/5) + 2/5 log(8/5)
  const double expected = 0.6 * std::log(0.8) + 0.4 * std::log(1.6);
  CHECK(std::fabs(bins.divergence(0, 512, equal_cuts(128)) - expected) < 1e-12);
}

TEST_CASE("pytorch-quantization overwrites the histogram it is given, ours only looks",
          "[calibrate]") {
  // _compute_amax_entropy: bins = calib_hist[:] is a view of a NumPy array; bins[0] = bins[1].
  std::vector<double> stored{90, 5, 3, 1};
  const std::span<double> bins(stored);
  bins[0] = bins[1];
  CHECK(stored[0] == 5);  // what a percentile or a mean squared error is computed from next

  const auto h = seen<tq::Histogram>(distributions::draw(50000, 3, distributions::relu));
  const tq::Histogram before = h;
  const tq::Range mse = tq::MseCalibrator{}.range<S8, onnx>(h);
  (void)tq::KlDivergenceCalibrator{}.range<S8, onnx>(h);
  (void)tq::KlDivergenceCalibrator{}.range<A8, onnx>(h);
  CHECK(h == before);
  CHECK(h.state() == before.state());
  CHECK(tq::MseCalibrator{}.range<S8, onnx>(h) == mse);
}

TEST_CASE("fewer bins than levels: the observed range", "[calibrate]") {
  const distributions::Counts<> h{{5, 1, 0, 0, 0, 0, 1}, 0, 1};
  CHECK(tq::KlDivergenceCalibrator{}.range<S8, onnx>(h) == h.range());
  const auto many = seen<tq::Histogram>(distributions::draw(50000, 4, distributions::student));
  CHECK(tq::KlDivergenceCalibrator{}.range<Params<tq::int16, tq::Symmetric>, onnx>(many) ==
        many.range());
}

TEST_CASE("a stride that goes nowhere is refused", "[calibrate]") {
  const auto h = seen<tq::Histogram>(std::vector<float>{1, 2, 3});
  test::raises(tq::errc::bad_argument, {"tq::KlDivergenceCalibrator", "-1"},
               [&] { (void)tq::KlDivergenceCalibrator{-1}.range<S8, onnx>(h); });
  CHECK(tq::KlDivergenceCalibrator{std::numeric_limits<std::int64_t>::max()}
            .range<S4, onnx>(
                seen<tq::Histogram>(distributions::draw(1000, 5, distributions::student)))
            .max > 0);
}

TEST_CASE("the divergence calibrator on hard data", "[calibrate]") {
  edge_cases::check<tq::Histogram>(tq::KlDivergenceCalibrator{});
  edge_cases::check<tq::Histogram>(tq::KlDivergenceCalibrator{0, true});
  edge_cases::check<tq::AbsHistogram>(tq::KlDivergenceCalibrator{});
  edge_cases::check_million<tq::Histogram>(tq::KlDivergenceCalibrator{});
}
