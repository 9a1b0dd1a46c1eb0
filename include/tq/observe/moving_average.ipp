// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/moving_average.hpp.

#include <tq/numeric/shortest_text.hpp>
#include <tq/observe/moving_average.hpp>

#include <cstddef>
#include <iterator>
#include <limits>
#include <string>

namespace tq {

TQ_CORE_API MovingAverageMinMax::MovingAverageMinMax(double constant, Keeps keeps)
    : constant_(constant), keeps_(keeps) {
  if (!(constant > 0 && constant <= 1))
    detail::raise_expected(errc::bad_argument, "tq::MovingAverageMinMax", {"a constant in (0, 1]"},
                           {detail::shortest_text(constant)});
}

TQ_CORE_API bool MovingAverageMinMax::make_room() {
  reserve_one();
  return keeps_ == Keeps::batches || batches_.empty() || current_ >= batches_.back().index;
}

TQ_CORE_API void MovingAverageMinMax::merge(const MovingAverageMinMax& other) {
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

TQ_CORE_API Range MovingAverageMinMax::range() const noexcept {
  std::optional<Average> a = average_;
  for (const Batch& b : batches_) a = moved(a, b);
  return {a->min, std::max(a->min, a->max)};  // rounding can bring the averages past one another
}

TQ_CORE_API MovingAverageMinMax::State MovingAverageMinMax::state() const {
  return {constant_, keeps_, average_, batches_, count_ - nan_ - infinite_, nan_, infinite_};
}

TQ_CORE_API MovingAverageMinMax MovingAverageMinMax::from_state(const State& s) {
  constexpr const char* where = "tq::MovingAverageMinMax::from_state";
  MovingAverageMinMax out(s.constant, s.keeps);
  if (s.average) {
    for (const float end : {s.average->min, s.average->max}) detail::require_range(where, end, end);
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

TQ_CORE_API float MovingAverageMinMax::moved(float from, float to) const noexcept {
  constexpr double largest = double(std::numeric_limits<float>::max());
  const float difference =
      static_cast<float>(std::clamp(double(to) - double(from), -largest, largest));
  const float step = static_cast<float>(double(static_cast<float>(constant_)) * double(difference));
  return static_cast<float>(double(from) + double(step));
}

TQ_CORE_API void MovingAverageMinMax::reserve_one() {
  if (batches_.size() == batches_.capacity()) batches_.reserve(2 * batches_.size() + 1);
}

TQ_CORE_API void MovingAverageMinMax::merge_batches(const MovingAverageMinMax& other) {
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

TQ_CORE_API std::optional<MovingAverageMinMax::Average> MovingAverageMinMax::moved(
    const std::optional<Average>& from, const Batch& to) const noexcept {
  if (!from) return Average{to.min, to.max};
  return Average{moved(from->min, to.min), moved(from->max, to.max)};
}

TQ_CORE_API void MovingAverageMinMax::require_mergeable(const MovingAverageMinMax& other) const {
  if (other.average_ && !(batches_.empty() && keeps_ == Keeps::average))
    refuse("merge", {"an observer that keeps its batches"}, "an average of them");
  if (!other.batches_.empty()) require_not_averaged("merge", other.batches_.front().index);
}

TQ_CORE_API void MovingAverageMinMax::require_not_averaged(const char* function,
                                                           std::uint64_t index) const {
  if (keeps_ == Keeps::batches || batches_.empty() || index >= batches_.back().index) return;
  refuse(function,
         {"batches from ", batches_.back().index, " on, because earlier batches are averaged"},
         index);
}

TQ_CORE_API void MovingAverageMinMax::refuse(const char* function, detail::TextParts expected,
                                             detail::TextPart got) {
  detail::raise_expected(
      errc::bad_argument, std::string("tq::MovingAverageMinMax::") + function, expected,
      {got, "; observers that keep batches (Keeps::batches) merge in any order"});
}

TQ_CORE_API void MovingAverageMinMax::take(const Batch& batch) {
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

}  // namespace tq
