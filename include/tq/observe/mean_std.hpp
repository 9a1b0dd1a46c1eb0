// SPDX-License-Identifier: MIT
#pragma once
// MeanStd: mean and standard deviation of the finite values seen.

#include <tq/bodies.hpp>
#include <tq/observe/detail/exact_sum.hpp>
#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace tq {

/// Mean and variance of the finite values of a stream, and their range. NaN and infinities are
/// skipped and counted. Sums of values and of squares are exact integers, pooled by adding them:
/// nothing cancels, and neither the order of the values nor the way the stream was cut shows in the
/// result.
class MeanStd {
 public:
  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    seen_.add<B>(x);
    zeros_ += detail::count_of_zeros<B>(x);
    detail::for_each_sum<B, true>(
        x, [&](bool negative, int exponent, std::uint64_t sum, std::uint64_t squares) {
          (negative ? negative_ : positive_).add(sum, exponent);
          squares_.add(squares, 2 * exponent);
        });
    negative_.carry();
    positive_.carry();
    squares_.carry();
  }

  TQ_CORE_API void merge(const MeanStd& other) noexcept;
  void reset() noexcept { *this = {}; }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return seen_.empty(); }
  /// The smallest and largest finite value. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept { return seen_.range(); }
  /// Precondition: not empty().
  [[nodiscard]] TQ_CORE_API double mean() const noexcept;
  /// The sum of squared distances from the mean over the number of values: the variance of these
  /// values, not of a population they are drawn from. Precondition: not empty().
  [[nodiscard]] TQ_CORE_API double variance() const noexcept;
  /// Precondition: not empty().
  [[nodiscard]] double standard_deviation() const noexcept { return std::sqrt(variance()); }
  /// How many of the values are exactly 0.
  [[nodiscard]] std::uint64_t zero_count() const noexcept { return zeros_; }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return seen_.count(); }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return seen_.nan_count(); }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return seen_.infinite_count(); }

  /// Everything there is to know, to be stored: sums of the magnitudes of positive and negative
  /// values, in digits of base 2^32 and in steps of 2^-149, and of squares in steps of 2^-298.
  /// Earlier versions did not count `zeros`: then 0.
  struct State {
    MinMax::State seen;
    detail::magnitude_sum::digits_type positive, negative;
    detail::square_sum::digits_type squares;
    std::uint64_t zeros = 0;
  };
  [[nodiscard]] TQ_CORE_API State state() const noexcept;
  /// Throws: `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] TQ_CORE_API static MeanStd from_state(const State& s);
  friend bool operator==(const MeanStd&, const MeanStd&) = default;

 private:
  static constexpr std::size_t digits = 24;  // of n * sum x^2

  [[nodiscard]] TQ_CORE_API std::uint64_t finite_count() const noexcept;
  [[nodiscard]] TQ_CORE_API bool is_negative() const noexcept;
  [[nodiscard]] TQ_CORE_API double rounded_mean() const noexcept;
  // |sum x|
  [[nodiscard]] TQ_CORE_API detail::magnitude_sum::digits_type magnitude() const noexcept;

  MinMax seen_;
  detail::magnitude_sum positive_, negative_;
  detail::square_sum squares_;
  std::uint64_t zeros_ = 0;
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/mean_std.ipp>
#endif
