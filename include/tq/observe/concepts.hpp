// SPDX-License-Identifier: MIT
#pragma once
// Concepts of accumulators. Mismatched pairs of accumulator and calibrator do not compile.

#include <tq/core/symmetry.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace tq {

/// Digests one stream of numbers: one parameter slot. `merge` takes what another one digested; the
/// result does not depend on how the stream was cut. Smallest model:
///
///     struct Count {
///       std::uint64_t n = 0;
///       void add(std::span<const float> x) { n += x.size(); }
///       void merge(const Count& o) { n += o.n; }
///       bool empty() const { return n == 0; }
///     };
/// One that counts faster when it knows what to expect may have `share()`, as `Histogram`:
/// observers on threads begin with it. An observer copies its slots before it adds to them or
/// merges into them, so that a call that fails changes nothing, unless `add` or `merge` is noexcept
/// or `make_room()` says that the next batch throws nothing, as that of `MovingAverageMinMax`.
template <class A>
concept Accumulator = std::copyable<A> && requires(A a, const A& b, std::span<const float> x) {
  a.add(x);
  a.merge(b);
  { b.empty() } -> std::same_as<bool>;
};

/// An accumulator that knows a range of real numbers. Model: `MinMax`.
template <class A>
concept RangeAccumulator = Accumulator<A> && requires(const A& a) {
  { a.range() } -> std::same_as<Range>;
};

/// An accumulator that knows the mean magnitude of what it saw. Model: `MeanAbs`.
template <class A>
concept MeanAbsAccumulator = Accumulator<A> && requires(const A& a) {
  { a.mean_abs() } -> std::same_as<double>;
};

/// An accumulator that knows mean and variance (of the whole, not of a sample). Model: `MeanStd`.
template <class A>
concept MomentAccumulator = RangeAccumulator<A> && requires(const A& a) {
  { a.mean() } -> std::same_as<double>;
  { a.variance() } -> std::same_as<double>;
};

/// An accumulator that knows which value a share p in [0, 1] of what it saw does not exceed. Model:
/// `Percentile`.
template <class A>
concept QuantileAccumulator = RangeAccumulator<A> && requires(const A& a, double p) {
  { a.quantile(p) } -> std::same_as<float>;
};

/// An accumulator that counts in bins of equal width: bin i lies between origin + i * bin_width and
/// origin + (i + 1) * bin_width. Where `is_absolute`, it counted magnitudes. Model: `Histogram`.
template <class A>
concept HistogramAccumulator = RangeAccumulator<A> && requires(const A& a) {
  { a.counts() } -> std::convertible_to<std::span<const std::uint64_t>>;
  { a.origin() } -> std::same_as<double>;
  { a.bin_width() } -> std::same_as<double>;
  { A::is_absolute } -> std::convertible_to<bool>;
};

/// An accumulator that has the values themselves, in ascending order, or once they were too many
/// their histogram. Model: `Percentile`.
template <class A>
concept SampleAccumulator = RangeAccumulator<A> && requires(const A& a) {
  { a.values() } -> std::convertible_to<std::vector<float>>;
  requires HistogramAccumulator<std::remove_cvref_t<decltype(*a.histogram())>>;
  { a.is_exact() } -> std::same_as<bool>;
};

namespace detail {
// Whether an accumulator, or what holds one, takes much of what a call may take of the stack, 64
// KiB: histograms take a quarter. Such objects count for so long that the heap costs nothing.
template <class T>
inline constexpr bool is_large = sizeof(T) > 4096;
}  // namespace detail

}  // namespace tq
