// SPDX-License-Identifier: MIT
#pragma once
// MovingAverageMinMax: the range of a batch, averaged over batches with the later ones counting more.

#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// Exponential moving average of the extremes of batches: the first batch sets them, every other one moves them by
/// `constant` of the difference. NaN and infinities are skipped and counted; a batch without finite values moves nothing.
///
/// A moving average depends on the order of the batches, which no merge could guess. So batches are numbered: `begin_batch`
/// says which one `add` belongs to (`Observer` counts its calls of `observe`), the extremes of every batch are kept, 16
/// bytes each, and averaged in the order of their numbers when asked for. Parts of one batch may come from several
/// accumulators. Source: PyTorch, MovingAverageMinMaxObserver.
class MovingAverageMinMax {
 public:
  /// The finite extremes of batch `index`.
  struct Batch {
    std::uint64_t index;
    float min, max;
    friend constexpr bool operator==(const Batch&, const Batch&) = default;
  };

  /// Throws: `errc::bad_argument` when `constant` is not in (0, 1].
  explicit MovingAverageMinMax(double constant = 0.01) : constant_(constant) {
    if (!(constant > 0 && constant <= 1))
      raise(errc::bad_argument,
            "tq::MovingAverageMinMax: expected a constant in (0, 1], got " + std::to_string(constant));
  }

  /// What is added from now on belongs to batch `index`. Without a call, everything is one batch, number 0.
  void begin_batch(std::uint64_t index) noexcept { current_ = index; }

  template <Backend B = default_backend>
  void add(std::span<const float> x) {
    MinMax seen;
    seen.add<B>(x);
    count_ += seen.count();
    nan_ += seen.nan_count();
    infinite_ += seen.infinite_count();
    if (!seen.empty()) take({current_, seen.range().min, seen.range().max});
  }

  /// Takes the batches of another one; where both saw the same batch, its extremes are those of both parts.
  /// Throws: `errc::bad_argument` when the constants differ.
  void merge(const MovingAverageMinMax& other) {
    if (constant_ != other.constant_)
      raise(errc::bad_argument, "tq::MovingAverageMinMax::merge: expected constant " + std::to_string(constant_) +
                                    ", got " + std::to_string(other.constant_));
    std::vector<Batch> all;
    all.reserve(batches_.size() + other.batches_.size());
    std::merge(batches_.begin(), batches_.end(), other.batches_.begin(), other.batches_.end(), std::back_inserter(all),
               [](const Batch& a, const Batch& b) { return a.index < b.index; });
    batches_.clear();
    for (const Batch& b : all) take(b);
    count_ += other.count_;
    nan_ += other.nan_;
    infinite_ += other.infinite_;
  }
  void reset() noexcept { *this = MovingAverageMinMax(constant_); }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return batches_.empty(); }
  /// The averages, each step computed in float32 as PyTorch does. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept {
    float min = batches_.front().min, max = batches_.front().max;
    for (const Batch& b : batches_) {
      min = moved(min, b.min);
      max = moved(max, b.max);
    }
    return {min, std::max(min, max)};  // rounding can bring the averages past one another
  }
  [[nodiscard]] double constant() const noexcept { return constant_; }
  /// In the order of their numbers.
  [[nodiscard]] std::span<const Batch> batches() const noexcept { return batches_; }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

  /// Everything there is to know, to be stored.
  struct State {
    double constant;
    std::vector<Batch> batches;
    std::uint64_t finite, nan, infinite;
  };
  [[nodiscard]] State state() const { return {constant_, batches_, count_ - nan_ - infinite_, nan_, infinite_}; }
  /// Throws: `errc::bad_argument`, and `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] static MovingAverageMinMax from_state(const State& s) {
    constexpr const char* where = "tq::MovingAverageMinMax::from_state";
    MovingAverageMinMax out(s.constant);
    for (const Batch& b : s.batches) {
      detail::require_range(where, b.min, b.max);
      if (!out.batches_.empty() && b.index <= out.batches_.back().index)
        raise(errc::malformed, std::string(where) + ": expected batches in order, got " + std::to_string(b.index) +
                                   " after " + std::to_string(out.batches_.back().index));
      out.batches_.push_back(b);
    }
    if (s.batches.size() > s.finite || (s.batches.empty() && s.finite != 0))
      raise(errc::malformed, std::string(where) + ": expected a batch and at most one for each of " +
                                 std::to_string(s.finite) + " values, got " + std::to_string(s.batches.size()));
    out.count_ = s.finite + s.nan + s.infinite;
    out.nan_ = s.nan;
    out.infinite_ = s.infinite;
    return out;
  }
  friend bool operator==(const MovingAverageMinMax& a, const MovingAverageMinMax& b) noexcept {
    return a.constant_ == b.constant_ && a.batches_ == b.batches_ && a.count_ == b.count_ && a.nan_ == b.nan_ &&
           a.infinite_ == b.infinite_;
  }

 private:
  // from + constant * (to - from) with every operation rounded to float32: double holds sums and products of two floats well
  // enough to round them once, and no compiler makes a fused multiply-add of these. A finite average stays finite.
  [[nodiscard]] float moved(float from, float to) const noexcept {
    constexpr double largest = double(std::numeric_limits<float>::max());
    const float difference = static_cast<float>(std::clamp(double(to) - double(from), -largest, largest));
    const float step = static_cast<float>(double(static_cast<float>(constant_)) * double(difference));
    return static_cast<float>(double(from) + double(step));
  }

  void take(const Batch& batch) {
    auto at = batches_.end();
    if (!batches_.empty() && batches_.back().index >= batch.index)  // they mostly come in order
      at = std::lower_bound(batches_.begin(), batches_.end(), batch.index,
                            [](const Batch& b, std::uint64_t index) { return b.index < index; });
    if (at != batches_.end() && at->index == batch.index) {
      at->min = std::min(at->min, batch.min);
      at->max = std::max(at->max, batch.max);
    } else {
      batches_.insert(at, batch);
    }
  }

  double constant_;
  std::uint64_t current_ = 0;
  std::vector<Batch> batches_;
  std::uint64_t count_ = 0, nan_ = 0, infinite_ = 0;
};

}  // namespace tq
