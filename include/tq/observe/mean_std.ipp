// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/mean_std.hpp.

#include <tq/observe/mean_std.hpp>

#include <array>

namespace tq {

TQ_CORE_API void MeanStd::merge(const MeanStd& other) noexcept {
  seen_.merge(other.seen_);
  zeros_ += other.zeros_;
  negative_.add(other.negative_);
  positive_.add(other.positive_);
  squares_.add(other.squares_);
}

TQ_CORE_API double MeanStd::mean() const noexcept {
  return std::clamp(rounded_mean(), double(range().min), double(range().max));
}

TQ_CORE_API double MeanStd::variance() const noexcept {
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

TQ_CORE_API MeanStd::State MeanStd::state() const noexcept {
  return {seen_.state(), positive_.digits(), negative_.digits(), squares_.digits(), zeros_};
}

TQ_CORE_API MeanStd MeanStd::from_state(const State& s) {
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

TQ_CORE_API std::uint64_t MeanStd::finite_count() const noexcept {
  return seen_.count() - seen_.nan_count() - seen_.infinite_count();
}

TQ_CORE_API bool MeanStd::is_negative() const noexcept {
  const auto &p = positive_.digits(), &n = negative_.digits();
  return std::lexicographical_compare(p.rbegin(), p.rend(), n.rbegin(), n.rend());
}

TQ_CORE_API double MeanStd::rounded_mean() const noexcept {
  const double size = detail::digits_value(magnitude(), detail::magnitude_sum::lowest) /
                      static_cast<double>(finite_count());
  return is_negative() ? -size : size;
}

TQ_CORE_API detail::magnitude_sum::digits_type MeanStd::magnitude() const noexcept {
  return is_negative() ? detail::digits_difference(negative_.digits(), positive_.digits())
                       : detail::digits_difference(positive_.digits(), negative_.digits());
}

}  // namespace tq
