// SPDX-License-Identifier: MIT
// Values that repeat exactly are masses, not parts of a density: masks, one-hot and ternary data,
// few different values, and densities with many zeros, before every calibrator that reads a
// distribution.
#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using S8 = Params<tq::int8, tq::Symmetric>;
using S4 = Params<tq::int4, tq::Symmetric>;
using A8 = Params<tq::uint8, tq::Asymmetric>;
using onnx = tq::numerics::onnx;

constexpr double enough = 60;  // dB from which on there is nothing to lose

// Signal over noise of int codes in dB, by the values themselves.
template <class P>
double sqnr(const distributions::Sorted& x, double power, tq::Range r) {
  const double mse = x.mse(tq::fit_affine<P>(r), P::codes.min, P::codes.max);
  return mse > 0 ? 10 * std::log10(power / mse) : std::numeric_limits<double>::infinity();
}

// The best of hundreds of ranges.
template <class P>
double best_sqnr(const distributions::Sorted& x, double power) {
  double best = sqnr<P>(x, power, {x.min(), x.max()});
  if constexpr (P::has_zero_point) {
    const float lo = std::min(x.min(), 0.0f), hi = std::max(x.max(), 0.0f);
    for (int i = 1; i <= 24; ++i)
      for (int j = 1; j <= 24; ++j)
        best = std::max(
            best,
            sqnr<P>(x, power, {lo * static_cast<float>(i) / 24, hi * static_cast<float>(j) / 24}));
  } else {
    for (int i = 1; i <= 400; ++i) {
      const float t = x.abs_max() * static_cast<float>(i) / 400;
      best = std::max(best, sqnr<P>(x, power, {-t, t}));
    }
  }
  return best;
}

struct Case {
  std::string name;
  std::vector<float> x;
};
constexpr std::size_t n = 6000;

// No more than eight values besides 0.
std::vector<Case> few_values() {
  using distributions::draw;
  using inputs::Random;
  std::vector<Case> all{
      {"mask", draw(n, 1, [](Random& r) { return r.chance(50) ? 1.0 : 0.0; })},
      {"rare mask", draw(n, 2, [](Random& r) { return r.below(300) == 0 ? 1.0 : 0.0; })},
      {"common mask", draw(n, 3, [](Random& r) { return r.below(300) == 0 ? 0.0 : 1.0; })},
      {"additive mask", draw(n, 4, [](Random& r) { return r.chance(30) ? -65504.0 : 0.0; })},
      {"one hot", std::vector<float>(n, 0.0f)},
      {"ternary", draw(n, 5, [](Random& r) { return static_cast<double>(r.between(-1, 1)); })},
      {"sparse ternary",
       draw(n, 6, [](Random& r) { return r.chance(2) ? (r.chance(50) ? 0.3 : -0.3) : 0.0; })}};
  all[4].x[n / 3] = 1;
  Random r(7);
  for (int k = 2; k <= 8; ++k) {
    std::vector<float> values;
    std::vector<double> weights;
    for (int i = 0; i < k; ++i) {
      values.push_back(static_cast<float>(r.chance(20) ? 0.0 : r.normal()));
      weights.push_back((weights.empty() ? 0 : weights.back()) + r.unit() * r.unit());
    }
    Case c{std::to_string(k) + " values", std::vector<float>(n)};
    for (float& v : c.x) {
      const double u = r.unit() * weights.back();
      v = values[static_cast<std::size_t>(std::lower_bound(weights.begin(), weights.end(), u) -
                                          weights.begin())];
    }
    all.push_back(c);
  }
  return all;
}

// A density, of which a share is exactly 0.
std::vector<Case> with_zeros() {
  using inputs::Random;
  std::vector<Case> all{{"relu", distributions::draw(3 * n, 11, distributions::relu)}};
  for (const int percent : {10, 50, 90})
    for (const bool normal : {true, false})
      all.push_back(
          {std::to_string(percent) + " % zeros, " + (normal ? "normal" : "laplace"),
           distributions::draw(3 * n, static_cast<std::uint64_t>(20 + percent), [&](Random& r) {
             return r.chance(percent) ? 0.0 : normal ? r.normal() : distributions::laplace(r);
           })});
  return all;
}

// The data of a case, and how good a range of codes of P can be on them: found once for all
// calibrators.
template <class P>
struct Truth {
  explicit Truth(const Case& c) : data(c), sorted(c.x) {
    for (const float v : c.x)
      power += std::pow(static_cast<double>(v), 2) / static_cast<double>(c.x.size());
    best = std::min(best_sqnr<P>(sorted, power), enough);
  }
  const Case& data;
  distributions::Sorted sorted;
  double power = 0, best = 0;
};

// The range that a calibrator chooses is no more than `bound` dB worse than the best of all, or
// covers everything.
template <class P, class Acc, class C>
void check(const Truth<P>& t, const Acc& observed, const char* name, const C& calibrator,
           double bound) {
  const tq::Range r = calibrator.template range<P, onnx>(observed);
  const double ours = sqnr<P>(t.sorted, t.power, r);
  INFO(name << " on " << t.data.name << ", " << P::type::name << ": [" << r.min << ", " << r.max
            << "] has " << ours << " dB of " << t.best);
  const bool covers = P::has_zero_point
                          ? std::min(r.min, 0.0f) <= t.sorted.min() && r.max >= t.sorted.max()
                          : std::max(-r.min, r.max) >= t.sorted.abs_max();
  CHECK((ours >= t.best - bound || covers));
}

struct Bounds {
  double mse, lp, entropy, kl, percentile, laplace, gauss;
};
template <class P, class Acc>
void check_histogram(const Truth<P>& t, const Acc& h, const Bounds& b) {
  check(t, h, "mse", tq::MseCalibrator{}, b.mse);
  check(t, h, "lp", tq::LpCalibrator{}, b.lp);
  check(t, h, "entropy", tq::EntropyCalibrator{}, b.entropy);
  check(t, h, "kl", tq::KlDivergenceCalibrator{}, b.kl);
  check(t, h, "percentile", tq::PercentileCalibrator{}, b.percentile);
  check(t, h, "aciq_laplace", tq::AciqCalibrator<tq::Laplace>{}, b.laplace);
  check(t, h, "aciq_gauss", tq::AciqCalibrator<tq::Gauss>{}, b.gauss);
}

// The accumulators of a case.
struct Observed {
  explicit Observed(const Case& c)
      : data(c),
        histogram(seen<tq::Histogram>(c.x)),
        magnitudes(seen<tq::AbsHistogram>(c.x)),
        values(seen<tq::Percentile>(c.x)),
        moments(seen<tq::MeanStd>(c.x)) {}
  const Case& data;
  tq::Histogram histogram;
  tq::AbsHistogram magnitudes;
  tq::Percentile values;
  tq::MeanStd moments;
};

template <class P>
void check_all(const Observed& o, const Bounds& b) {
  const Truth<P> t(o.data);
  check_histogram(t, o.histogram, b);
  if constexpr (!P::has_zero_point)  // magnitudes do not tell of what sign the value is that has no
                                     // code on one side
    check_histogram(Truth<Params<typename P::type, tq::SymmetricNarrow>>(o.data), o.magnitudes, b);
  check(t, o.values, "percentile of values", tq::PercentileCalibrator{}, b.percentile);
  check(t, o.values, "mse of values", tq::MseCalibrator{}, b.mse);
  check(t, o.values, "lp of values", tq::LpCalibrator{}, b.lp);
}
template <class P>
void check_moments(const Observed& o, double mean_std, double gauss) {
  const Truth<P> t(o.data);
  check(t, o.moments, "mean_std", tq::MeanStdCalibrator{}, mean_std);
  check(t, o.moments, "aciq_gauss of moments", tq::AciqCalibrator<tq::Gauss>{}, gauss);
}

}  // namespace

TEST_CASE("a few values that repeat are kept", "[calibrate]") {
  for (const Case& c : few_values()) {
    const Bounds b{0.1, 3, 0.1, 0.1, 6, 0.1, 0.1};
    const Observed o(c);
    check_all<S8>(o, b);
    check_all<S4>(o, b);
    check_all<A8>(o, b);
  }
}

TEST_CASE("zeros do not count as small values", "[calibrate]") {
  constexpr double any =
      std::numeric_limits<double>::infinity();  // entropy is no error: see its own test
  // The bounds allow for the errors of each calibrator's model of the density: wrong priors, and
  // shares that are clipped for every density.
  for (const Case& c : with_zeros()) {
    const Observed o(c);
    check_all<S8>(o, {0.1, 1, any, 16, 22, 4, 16});
    check_all<S4>(o, {0.1, 1, any, 6, 7, 5, 5});
    check_all<A8>(o, {0.3, 1, any, 16, 26, 4, 16});
    check_moments<S8>(o, 24, 16);
    check_moments<S4>(o, 5, 5);
  }
}

TEST_CASE("zeros and ones are told apart, whatever comes between them", "[calibrate]") {
  std::vector<float> x(10000, 0.0f);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = 1;
  const auto h = seen<tq::Histogram>(x);
  CHECK(tq::EntropyCalibrator{}.range<S8, onnx>(h).max > 0.99f);
  CHECK(tq::KlDivergenceCalibrator{}.range<S8, onnx>(h).max > 0.99f);
  CHECK(h.quantile(0.5) == 0.0f);
  CHECK(h.quantile(0.9) == 1.0f);
}
