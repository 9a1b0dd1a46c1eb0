// SPDX-License-Identifier: MIT
#pragma once
// AbsMax: the largest finite magnitude seen.

#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq {

/// Largest magnitude of the finite values of a stream: what symmetric scales are made of. NaN and
/// infinities are skipped and counted.
class AbsMax {
 public:
  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    MinMax seen;
    seen.add<B>(x);
    take(seen);
  }

  /// As `MinMax::add_columns`.
  template <Backend B = default_backend>
  static void add_columns(std::span<AbsMax> accumulators, const float* x, std::size_t rows,
                          std::ptrdiff_t stride) {
    std::vector<MinMax> seen(accumulators.size());
    MinMax::add_columns<B>(std::span(seen), x, rows, stride);
    for (std::size_t i = 0; i < accumulators.size(); ++i) accumulators[i].take(seen[i]);
  }

  void merge(const AbsMax& other) noexcept {
    top_ = std::max(top_, other.top_);
    finite_ += other.finite_;
    nan_ += other.nan_;
    infinite_ += other.infinite_;
  }
  void reset() noexcept { *this = {}; }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return finite_ == 0; }
  /// 0 while empty().
  [[nodiscard]] float abs_max() const noexcept { return top_; }
  /// [-abs_max(), abs_max()]. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept { return {-top_, top_}; }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return finite_ + nan_ + infinite_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

  /// Everything there is to know, to be stored.
  struct State {
    float abs_max;
    std::uint64_t finite, nan, infinite;
  };
  [[nodiscard]] State state() const noexcept { return {top_, finite_, nan_, infinite_}; }
  /// Throws: `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] static AbsMax from_state(const State& s) {
    detail::require_range("tq::AbsMax::from_state", s.finite == 0 ? s.abs_max : 0,
                          s.finite == 0 ? 0 : s.abs_max);
    AbsMax out;
    out.top_ = s.abs_max;
    out.finite_ = s.finite;
    out.nan_ = s.nan;
    out.infinite_ = s.infinite;
    return out;
  }
  friend bool operator==(const AbsMax&, const AbsMax&) = default;

 private:
  void take(const MinMax& seen) noexcept {
    const std::uint64_t skipped = seen.nan_count() + seen.infinite_count();
    if (!seen.empty()) top_ = std::max({top_, -seen.range().min, seen.range().max});
    finite_ += seen.count() - skipped;
    nan_ += seen.nan_count();
    infinite_ += seen.infinite_count();
  }

  float top_ = 0;
  std::uint64_t finite_ = 0, nan_ = 0, infinite_ = 0;
};

}  // namespace tq
