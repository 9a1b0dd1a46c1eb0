// SPDX-License-Identifier: MIT
#pragma once
// MeanAbs: the mean magnitude of the finite values seen.

#include <tq/observe/concepts.hpp>
#include <tq/observe/detail/exact_sum.hpp>
#include <tq/ops/backend/backend.hpp>

#include <cstdint>
#include <span>

namespace tq {

/// Sum of |x| and count of the finite values of a stream. NaN and infinities are skipped and
/// counted. The sum is exact, so it depends neither on the order of the values nor on how the
/// stream was cut.
class MeanAbs {
 public:
  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    const kernels::Extremes e = B::min_max::run(x.data(), x.size());
    detail::for_each_sum<B, false>(
        x, [&](bool, int exponent, std::uint64_t sum, std::uint64_t) { sum_.add(sum, exponent); });
    sum_.carry();
    finite_ += x.size() - e.nan - e.infinite;
    nan_ += e.nan;
    infinite_ += e.infinite;
  }

  void merge(const MeanAbs& other) noexcept {
    sum_.add(other.sum_);
    finite_ += other.finite_;
    nan_ += other.nan_;
    infinite_ += other.infinite_;
  }
  void reset() noexcept { *this = {}; }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return finite_ == 0; }
  /// The sum of the magnitudes of the finite values.
  [[nodiscard]] double sum() const noexcept { return sum_.value(); }
  /// sum() over the number of finite values. Precondition: not empty().
  [[nodiscard]] double mean_abs() const noexcept { return sum() / static_cast<double>(finite_); }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return finite_ + nan_ + infinite_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

  /// Everything there is to know, to be stored. `sum` is in digits of base 2^32 and in steps of
  /// 2^-149.
  struct State {
    detail::magnitude_sum::digits_type sum;
    std::uint64_t finite, nan, infinite;
  };
  [[nodiscard]] State state() const noexcept { return {sum_.digits(), finite_, nan_, infinite_}; }
  /// Throws: `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] static MeanAbs from_state(const State& s) {
    detail::require_digits("tq::MeanAbs::from_state", s.sum);
    if (s.finite == 0 && detail::digits_value(s.sum, 0) != 0)
      raise(errc::malformed, "tq::MeanAbs::from_state: expected a sum of 0 without values");
    MeanAbs out;
    out.sum_ = detail::magnitude_sum(s.sum);
    out.finite_ = s.finite;
    out.nan_ = s.nan;
    out.infinite_ = s.infinite;
    return out;
  }
  friend bool operator==(const MeanAbs&, const MeanAbs&) = default;

 private:
  detail::magnitude_sum sum_;
  std::uint64_t finite_ = 0, nan_ = 0, infinite_ = 0;
};

}  // namespace tq
