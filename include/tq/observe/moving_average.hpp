// SPDX-License-Identifier: MIT
#pragma once
// MovingAverageMinMax: the range of a batch, averaged over batches with the later ones counting
// more.

#include <tq/bodies.hpp>
#include <tq/observe/min_max.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
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
  TQ_CORE_API explicit MovingAverageMinMax(double constant = 0.01, Keeps keeps = Keeps::average);

  /// Values added from now on belong to batch `index`. Without a call, all values are batch
  /// number 0.
  void begin_batch(std::uint64_t index) noexcept { current_ = index; }

  /// Makes room for the batch that was begun last. True if `add` to it throws nothing then. Throws:
  /// std::bad_alloc.
  [[nodiscard]] TQ_CORE_API bool make_room();

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
  TQ_CORE_API void merge(const MovingAverageMinMax& other);
  void reset() noexcept { *this = MovingAverageMinMax(constant_, keeps_); }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return batches_.empty(); }
  /// The averages, each step computed in float32 as PyTorch does. Precondition: not empty().
  [[nodiscard]] TQ_CORE_API Range range() const noexcept;
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
  [[nodiscard]] TQ_CORE_API State state() const;
  /// Throws: `errc::bad_argument`, and `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] TQ_CORE_API static MovingAverageMinMax from_state(const State& s);
  friend bool operator==(const MovingAverageMinMax& a, const MovingAverageMinMax& b) noexcept {
    return a.constant_ == b.constant_ && a.keeps_ == b.keeps_ && a.average_ == b.average_ &&
           a.batches_ == b.batches_ && a.count_ == b.count_ && a.nan_ == b.nan_ &&
           a.infinite_ == b.infinite_;
  }

 private:
  // from + constant * (to - from) with every operation rounded to float32: double holds sums and
  // products of two floats well enough to round them once, and no compiler makes a fused
  // multiply-add of these. A finite average stays finite.
  [[nodiscard]] TQ_CORE_API float moved(float from, float to) const noexcept;

  // Throws: std::bad_alloc.
  TQ_CORE_API void reserve_one();
  // Precondition: `require_mergeable`. Throws: std::bad_alloc, before anything changes.
  TQ_CORE_API void merge_batches(const MovingAverageMinMax& other);

  [[nodiscard]] TQ_CORE_API std::optional<Average> moved(const std::optional<Average>& from,
                                                         const Batch& to) const noexcept;

  // Refuses an averaged `other` unless this is empty, and batches that come before averaged ones.
  TQ_CORE_API void require_mergeable(const MovingAverageMinMax& other) const;
  TQ_CORE_API void require_not_averaged(const char* function, std::uint64_t index) const;
  [[noreturn]] TQ_CORE_API static void refuse(const char* function, detail::TextParts expected,
                                              detail::TextPart got);

  TQ_CORE_API void take(const Batch& batch);

  double constant_;
  Keeps keeps_;
  std::uint64_t current_ = 0;
  std::optional<Average> average_;
  std::vector<Batch> batches_;
  std::uint64_t count_ = 0, nan_ = 0, infinite_ = 0;
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/moving_average.ipp>
#endif
