// SPDX-License-Identifier: MIT
#pragma once
// MeanStd: mean and standard deviation of the finite values seen.

#include <tq/observe/detail/exact_sum.hpp>
#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <array>
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

  void merge(const MeanStd& other) noexcept {
    seen_.merge(other.seen_);
    zeros_ += other.zeros_;
    negative_.add(other.negative_);
    positive_.add(other.positive_);
    squares_.add(other.squares_);
  }
  void reset() noexcept { *this = {}; }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return seen_.empty(); }
  /// The smallest and largest finite value. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept { return seen_.range(); }
  /// Precondition: not empty().
  [[nodiscard]] double mean() const noexcept {
    return std::clamp(rounded_mean(), double(range().min), double(range().max));
  }
  /// The sum of squared distances from the mean over the number of values: the variance of these
  /// values, not of a population they are drawn from. Precondition: not empty().
  [[nodiscard]] double variance() const noexcept {
    // (n * sum x^2 - (sum x)^2) / n^2, the difference in integers.
    const std::uint64_t n = finite_count();
    const std::array<std::uint64_t, 2> factor{n & detail::low_digit, n >> 32};
    const auto sum = magnitude();
    const auto difference =
        detail::digits_difference(detail::digits_product<digits>(squares_.digits(), factor),
                                  detail::digits_product<digits>(sum, sum));
    const auto finite = static_cast<double>(n);
    return detail::digits_value(difference, detail::square_sum::lowest) / finite / finite;
  }
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
  [[nodiscard]] State state() const noexcept {
    return {seen_.state(), positive_.digits(), negative_.digits(), squares_.digits(), zeros_};
  }
  /// Throws: `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] static MeanStd from_state(const State& s) {
    constexpr const char* where = "tq::MeanStd::from_state";
    MeanStd out;
    out.seen_ = MinMax::from_state(s.seen);
    detail::require_digits(where, s.positive);
    detail::require_digits(where, s.negative);
    detail::require_digits(where, s.squares);
    out.positive_ = detail::magnitude_sum(s.positive);
    out.negative_ = detail::magnitude_sum(s.negative);
    out.squares_ = detail::square_sum(s.squares);
    out.zeros_ = s.zeros;
    const bool has_room =
        s.zeros == 0 || (s.zeros <= s.seen.finite && s.seen.min <= 0 && 0 <= s.seen.max);
    bool fits;
    if (out.empty()) {
      fits = out.positive_.value() == 0 && out.negative_.value() == 0 && out.squares_.value() == 0;
    } else {
      const double rounding = 1e-12 * std::max(-double(s.seen.min), double(s.seen.max));
      fits = std::abs(out.rounded_mean() - out.mean()) <= std::abs(rounding);
    }
    if (!has_room)
      detail::raise_expected(errc::malformed, where,
                             {"no more zeros than values, and 0 in the range seen"},
                             {s.zeros, " zeros"});
    if (!fits)
      detail::raise_text(errc::malformed,
                         {where, ": expected sums whose mean lies in the range seen"});
    return out;
  }
  friend bool operator==(const MeanStd&, const MeanStd&) = default;

 private:
  static constexpr std::size_t digits = 24;  // of n * sum x^2

  [[nodiscard]] std::uint64_t finite_count() const noexcept {
    return seen_.count() - seen_.nan_count() - seen_.infinite_count();
  }
  [[nodiscard]] bool is_negative() const noexcept {
    const auto &p = positive_.digits(), &n = negative_.digits();
    return std::lexicographical_compare(p.rbegin(), p.rend(), n.rbegin(), n.rend());
  }
  [[nodiscard]] double rounded_mean() const noexcept {
    const double size = detail::digits_value(magnitude(), detail::magnitude_sum::lowest) /
                        static_cast<double>(finite_count());
    return is_negative() ? -size : size;
  }
  // |sum x|
  [[nodiscard]] detail::magnitude_sum::digits_type magnitude() const noexcept {
    return is_negative() ? detail::digits_difference(negative_.digits(), positive_.digits())
                         : detail::digits_difference(positive_.digits(), negative_.digits());
  }

  MinMax seen_;
  detail::magnitude_sum positive_, negative_;
  detail::square_sum squares_;
  std::uint64_t zeros_ = 0;
};

}  // namespace tq
