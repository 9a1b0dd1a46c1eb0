// SPDX-License-Identifier: MIT
#pragma once
// AciqCalibrator: the clipping range that is best for a Laplace or normal distribution of the same
// mean and spread.

#include <tq/bodies.hpp>
#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/calibrate/lp.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

/// Where a prior lies, and how wide it is in its own measure.
struct PriorFit {
  double mean, spread;
};

/// The density exp(-|x - mean| / b) / (2 b); its spread is b, the mean of |x - mean|. Magnitudes
/// belong to a mean of 0. Zeros that are known as such do not count: no clipping loses them.
struct Laplace {
  static constexpr std::string_view name = "laplace";
  template <HistogramAccumulator Acc>
  [[nodiscard]] static PriorFit fit(const Acc& seen) {
    const auto d = detail::Distribution::of(seen).without_zeros();
    const double mean = d.mean();
    return {mean * d.unit(), d.mean_distance(mean) * d.unit()};
  }
  [[nodiscard]] static double tail(double x) noexcept { return std::exp(-x) / 2; }
  [[nodiscard]] static double excess(double x) noexcept { return std::exp(-x) / 2; }
};

/// The normal density; its spread is the standard deviation, without the zeros that are known as
/// such.
struct Gauss {
  static constexpr std::string_view name = "gauss";
  template <class Acc>
    requires MomentAccumulator<Acc> || HistogramAccumulator<Acc>
  [[nodiscard]] static PriorFit fit(const Acc& seen) {
    if constexpr (MomentAccumulator<Acc>) {
      const detail::Moments moments = detail::moments_without_zeros(seen);
      return {moments.mean, std::sqrt(moments.variance)};
    } else {
      const auto d = detail::Distribution::of(seen).without_zeros();
      const double mean = d.mean();
      return {mean * d.unit(), std::sqrt(d.mean_square(mean)) * d.unit()};
    }
  }
  [[nodiscard]] static double tail(double x) noexcept { return std::erfc(x / std::sqrt(2.0)) / 2; }
  [[nodiscard]] TQ_CORE_API static double excess(double x) noexcept;
};

/// A symmetric density whose mean and spread can be told from what `Acc` saw; with mean 0 and
/// spread 1, and for x >= 0,
///     tail(x) = P(X > x),   excess(x) = E[max(X - x, 0)], the integral of the tail.
/// Models: `Laplace`, `Gauss`.
template <class Prior, class Acc>
concept PriorFor = RangeAccumulator<Acc> && requires(const Acc& seen, double x) {
  { Prior::name } -> std::convertible_to<std::string_view>;
  { Prior::fit(seen) } -> std::same_as<PriorFit>;
  { Prior::tail(x) } -> std::same_as<double>;
  { Prior::excess(x) } -> std::same_as<double>;
};

namespace detail {

/// A prior without its type.
struct FittedPrior {
  double mean, spread;
  double (*tail)(double);
  double (*excess)(double);
};

/// The a that minimises the mean squared error of clipping to mean +- a and of rounding:
///
///     E(a) = sides * integral over x > a of (x - a)^2 f(x) + share * step(a)^2 / 12,   E'(a) = 0.
/// step(a) is the length that the codes have to cover, in as many parts as there are codes. Of what
/// becomes 0 whatever a is (unsigned codes) neither a side nor a share counts.
[[nodiscard]] TQ_CORE_API double analytic_clip(const QuantizerGrid& grid, const FittedPrior& prior);

/// The range of the least mean squared error for the prior between the ends of `seen`, over the
/// levels there are; `seen` where the prior has nothing there.
template <std::same_as<FittedPrior> Prior>
[[nodiscard]] Range least_prior_error(const QuantizerGrid& grid, const Prior& prior, Range seen) {
  constexpr int bins = 1024;
  const double unit = std::max(std::abs(double(seen.min)), std::abs(double(seen.max)));
  const double first = double(seen.min) / unit, width = (double(seen.max) / unit - first) / bins;
  std::vector<double> edges{first}, below{0};
  for (int i = 1; i <= bins; ++i) {
    const double a = (edges.back() * unit - prior.mean) / prior.spread;
    edges.push_back(first + i * width);
    const double b = (edges.back() * unit - prior.mean) / prior.spread;
    const double share = a >= 0   ? prior.tail(a) - prior.tail(b)
                         : b <= 0 ? prior.tail(-b) - prior.tail(-a)
                                  : 1 - prior.tail(-a) - prior.tail(b);
    below.push_back(below.back() + share);
  }
  const double total = below.back();
  if (!(total > 0)) return seen;
  for (double& b : below) b /= total;
  return least_lp_error(grid, Distribution{unit, std::move(edges), std::move(below), width, false},
                        seen, 2);
}

}  // namespace detail

/// Analytic clipping: the range [mean - a, mean + a] within the observed one that leaves the least
/// mean squared error of values that are distributed like the prior, with the mean and spread that
/// were seen. Integers: a from the density of the prior and the number of codes, see
/// `detail::analytic_clip`; for mean 0 and M bits a = 2.83 b, 3.89 b, 5.03 b of a Laplace and 1.71
/// s, 2.15 s, 2.55 s of a normal distribution for M = 2, 3, 4. Floats and code books: [-a, a] by
/// `MseCalibrator` on the prior between the ends of the observed range. A few values that repeat,
/// not more than there are codes, are no sample of a density: there `MseCalibrator` decides, where
/// a histogram knows them. Source: Banner et al., "Post training 4-bit quantization of
/// convolutional networks for rapid-deployment", 2019 (arXiv:1810.05723).
template <class Prior = Laplace>
struct AciqCalibrator {
  template <AnyParams Params, NumericsPolicy N, RangeFor<Params> Acc>
    requires PriorFor<Prior, Acc> && (!OffsetParams<Params>)
  [[nodiscard]] Range range(const Acc& seen) const {
    Range whole = seen.range();
    const detail::QuantizerGrid grid = detail::quantizer_grid<Params, N>();
    if (!grid.leaves_choice(whole)) return whole;
    if constexpr (HistogramAccumulator<Acc>)
      if (detail::Distribution::is_few_values(seen, grid.size()))
        return detail::least_lp_error(grid, detail::Distribution::of(seen, grid.by), whole, 2);
    const PriorFit fit = Prior::fit(seen);
    if (!(fit.spread > 0)) return whole;
    const detail::FittedPrior prior{fit.mean, fit.spread, &Prior::tail, &Prior::excess};
    if constexpr (requires { requires Acc::is_absolute; }) whole.min = -whole.max;
    if (!grid.is_integer) return detail::least_prior_error(grid, prior, whole);
    const double a = detail::analytic_clip(grid, prior);
    const Range r{static_cast<float>(std::max(prior.mean - a, double(whole.min))),
                  static_cast<float>(std::min(prior.mean + a, double(whole.max)))};
    return grid.covered(r) > 0 ? r : whole;
  }
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/aciq.ipp>
#endif
