// SPDX-License-Identifier: MIT
#pragma once
// MovingAverageMinMax: the range of a batch, averaged over batches with the later ones counting
// more.

#include <tq/numeric/shortest_text.hpp>
#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// Exponential moving average of the extremes of batches: the first batch sets them, every other
/// one moves them by `constant` of the difference. NaN and infinities are skipped and counted; a
/// batch without finite values moves nothing.
///
/// A moving average depends on the order of the batches, which no merge could guess. So batches are
/// numbered: `begin_batch` says which one `add` belongs to (`Observer` counts its calls of
/// `observe`). Parts of one batch may come from several accumulators. Batches before the last one
/// are averaged, in constant time and memory, and no batch can come between them any more.
/// Accumulators that keep batches (`Keeps::batches`) can be merged with each other: they take 16
/// bytes a batch, and average all batches, in the order of their numbers, in every call of
/// `range`. Source: PyTorch, MovingAverageMinMaxObserver.
class MovingAverageMinMax {
 public:
  /// The memory of batches before the last one.
  enum class Keeps : std::uint8_t {
    average,  ///< their average alone
    batches,  ///< the extremes of each, so that accumulators of different batches can be merged
  };

  /// The finite extremes of batch `index`.
  struct Batch {
    std::uint64_t index;
    float min, max;
    friend constexpr bool operator==(const Batch&, const Batch&) = default;
  };

  /// Throws: `errc::bad_argument` when `constant` is not in (0, 1].
  explicit MovingAverageMinMax(double constant = 0.01, Keeps keeps = Keeps::average)
      : constant_(constant), keeps_(keeps) {
    if (!(constant > 0 && constant <= 1))
      detail::raise_expected(errc::bad_argument, "tq::MovingAverageMinMax",
                             {"a constant in (0, 1]"}, {detail::shortest_text(constant)});
  }

  /// Values added from now on belong to batch `index`. Without a call, all values are batch
  /// number 0.
  void begin_batch(std::uint64_t index) noexcept { current_ = index; }

  /// Makes room for the batch that was begun last. True if `add` to it throws nothing then. Throws:
  /// std::bad_alloc.
  [[nodiscard]] bool make_room() {
    reserve_one();
    return keeps_ == Keeps::batches || batches_.empty() || current_ >= batches_.back().index;
  }

  /// Throws: `errc::bad_argument` where batches behind this one were averaged already.
  template <Backend B = default_backend>
  void add(std::span<const float> x) {
    MinMax seen;
    seen.add<B>(x);
    if (!seen.empty()) {
      require_not_averaged("add", current_);
      take({current_, seen.range().min, seen.range().max});
    }
    count_ += seen.count();
    nan_ += seen.nan_count();
    infinite_ += seen.infinite_count();
  }

  /// Takes the batches of another one; where both saw the same batch, its extremes are those of
  /// both parts. Throws: `errc::bad_argument` when the constants differ, or where batches that were
  /// averaged would have to come between others.
  void merge(const MovingAverageMinMax& other) {
    if (constant_ != other.constant_)
      detail::raise_expected(errc::bad_argument, "tq::MovingAverageMinMax::merge",
                             {"constant ", detail::shortest_text(constant_)},
                             {detail::shortest_text(other.constant_)});
    require_mergeable(other);
    if (other.batches_.size() == 1) {  // a share of one batch
      reserve_one();
      if (batches_.empty()) average_ = other.average_;
      take(other.batches_.front());
    } else {
      merge_batches(other);
    }
    count_ += other.count_;
    nan_ += other.nan_;
    infinite_ += other.infinite_;
  }
  void reset() noexcept { *this = MovingAverageMinMax(constant_, keeps_); }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return batches_.empty(); }
  /// The averages, each step computed in float32 as PyTorch does. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept {
    std::optional<Average> a = average_;
    for (const Batch& b : batches_) a = moved(a, b);
    return {a->min, std::max(a->min, a->max)};  // rounding can bring the averages past one another
  }
  [[nodiscard]] double constant() const noexcept { return constant_; }
  [[nodiscard]] Keeps keeps() const noexcept { return keeps_; }
  /// The kept batches, in the order of their numbers: the last batch, or all.
  [[nodiscard]] std::span<const Batch> batches() const noexcept { return batches_; }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

  /// The averages of the extremes of some batches.
  struct Average {
    float min, max;
    friend constexpr bool operator==(const Average&, const Average&) = default;
  };
  /// Everything there is to know, to be stored.
  struct State {
    double constant;
    Keeps keeps;
    std::optional<Average> average;  ///< of the batches before those that are kept
    std::vector<Batch> batches;
    std::uint64_t finite, nan, infinite;
  };
  [[nodiscard]] State state() const {
    return {constant_, keeps_, average_, batches_, count_ - nan_ - infinite_, nan_, infinite_};
  }
  /// Throws: `errc::bad_argument`, and `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] static MovingAverageMinMax from_state(const State& s) {
    constexpr const char* where = "tq::MovingAverageMinMax::from_state";
    MovingAverageMinMax out(s.constant, s.keeps);
    if (s.average) {
      for (const float end : {s.average->min, s.average->max})
        detail::require_range(where, end, end);
      if (s.keeps == Keeps::batches || s.batches.empty())
        detail::raise_expected(errc::malformed, where, {"an average and the last batch"},
                               {"an average ", s.batches.empty() ? "alone" : "and all batches"});
      out.average_ = s.average;
    }
    if (s.keeps == Keeps::average && s.batches.size() > 1)
      detail::raise_expected(errc::malformed, where, {"only the last batch after an average"},
                             {s.batches.size(), " batches"});
    for (const Batch& b : s.batches) {
      detail::require_range(where, b.min, b.max);
      if (!out.batches_.empty() && b.index <= out.batches_.back().index)
        detail::raise_expected(errc::malformed, where, {"batches in order"},
                               {b.index, " after ", out.batches_.back().index});
      out.batches_.push_back(b);
    }
    const std::size_t seen = s.batches.size() + (s.average ? 1 : 0);
    if (seen > s.finite || (seen == 0 && s.finite != 0))
      detail::raise_expected(
          errc::malformed, where,
          {s.finite == 0 ? 0 : 1, " to ", s.finite, " batches, as there are values"}, {seen});
    out.count_ = s.finite + s.nan + s.infinite;
    out.nan_ = s.nan;
    out.infinite_ = s.infinite;
    return out;
  }
  friend bool operator==(const MovingAverageMinMax& a, const MovingAverageMinMax& b) noexcept {
    return a.constant_ == b.constant_ && a.keeps_ == b.keeps_ && a.average_ == b.average_ &&
           a.batches_ == b.batches_ && a.count_ == b.count_ && a.nan_ == b.nan_ &&
           a.infinite_ == b.infinite_;
  }

 private:
  // from + constant * (to - from) with every operation rounded to float32: double holds sums and
  // products of two floats well enough to round them once, and no compiler makes a fused
  // multiply-add of these. A finite average stays finite.
  [[nodiscard]] float moved(float from, float to) const noexcept {
    constexpr double largest = double(std::numeric_limits<float>::max());
    const float difference =
        static_cast<float>(std::clamp(double(to) - double(from), -largest, largest));
    const float step =
        static_cast<float>(double(static_cast<float>(constant_)) * double(difference));
    return static_cast<float>(double(from) + double(step));
  }

  // Throws: std::bad_alloc.
  void reserve_one() {
    if (batches_.size() == batches_.capacity()) batches_.reserve(2 * batches_.size() + 1);
  }
  // Precondition: `require_mergeable`. Throws: std::bad_alloc, before anything changes.
  void merge_batches(const MovingAverageMinMax& other) {
    std::vector<Batch> all;
    all.reserve(batches_.size() + other.batches_.size());
    std::merge(batches_.begin(), batches_.end(), other.batches_.begin(), other.batches_.end(),
               std::back_inserter(all),
               [](const Batch& a, const Batch& b) { return a.index < b.index; });
    std::vector<Batch> taken;
    taken.reserve(all.size());
    if (batches_.empty()) average_ = other.average_;
    batches_.swap(taken);
    batches_.clear();
    for (const Batch& b : all) take(b);
  }

  [[nodiscard]] std::optional<Average> moved(const std::optional<Average>& from,
                                             const Batch& to) const noexcept {
    if (!from) return Average{to.min, to.max};
    return Average{moved(from->min, to.min), moved(from->max, to.max)};
  }

  // Refuses an averaged `other` unless this is empty, and batches that come before averaged ones.
  void require_mergeable(const MovingAverageMinMax& other) const {
    if (other.average_ && !(batches_.empty() && keeps_ == Keeps::average))
      refuse("merge", {"an observer that keeps its batches"}, "an average of them");
    if (!other.batches_.empty()) require_not_averaged("merge", other.batches_.front().index);
  }
  void require_not_averaged(const char* function, std::uint64_t index) const {
    if (keeps_ == Keeps::batches || batches_.empty() || index >= batches_.back().index) return;
    refuse(function,
           {"batches from ", batches_.back().index, " on, because earlier batches are averaged"},
           index);
  }
  [[noreturn]] static void refuse(const char* function, detail::TextParts expected,
                                  detail::TextPart got) {
    detail::raise_expected(
        errc::bad_argument, std::string("tq::MovingAverageMinMax::") + function, expected,
        {got, "; observers that keep batches (Keeps::batches) merge in any order"});
  }

  void take(const Batch& batch) {
    if (keeps_ == Keeps::average && !batches_.empty() && batch.index > batches_.back().index) {
      average_ = moved(average_, batches_.back());
      batches_.front() = batch;
      return;
    }
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
  Keeps keeps_;
  std::uint64_t current_ = 0;
  std::optional<Average> average_;
  std::vector<Batch> batches_;
  std::uint64_t count_ = 0, nan_ = 0, infinite_ = 0;
};

}  // namespace tq
