// SPDX-License-Identifier: MIT
#pragma once
// SlotsUndo: puts the slots of an observer back where a call fails half way.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace tq::detail {

// The number of an observer's next batch. The last number, 2^64 - 1, is given once.
struct NextBatch {
  std::uint64_t number = 0;
  bool is_used = false;  // the last number

  void count() noexcept {
    if (number == std::numeric_limits<std::uint64_t>::max()) is_used = true;
    else ++number;
  }
};

// Restores the slots and the next batch of an observer in its destructor, unless `keep` was
// called. Slots that may be left half changed are saved first; there were none before where the
// observer was empty, so that these need not be.
template <class A>
class SlotsUndo {
 public:
  SlotsUndo(std::vector<A>& states, NextBatch& next)
      : slots_(states), next_(next), next_before_(next), was_empty_(states.empty()) {}
  SlotsUndo(const SlotsUndo&) = delete;
  SlotsUndo& operator=(const SlotsUndo&) = delete;
  ~SlotsUndo();

  // Saves the slots [first, last). Tasks may call it at the same time, for different slots.
  // Throws: std::bad_alloc, and what copies of slots throw.
  void save(std::size_t first, std::size_t last);
  void save_all();
  void keep() noexcept { is_kept_ = true; }

 private:
  struct Saved {
    std::size_t first;
    std::vector<A> states;
  };
  std::vector<A>& slots_;
  NextBatch& next_;
  NextBatch next_before_;
  bool was_empty_, has_all_ = false, is_kept_ = false;
  std::mutex mutex_;
  std::vector<Saved> saved_;
};

template <class A>
SlotsUndo<A>::~SlotsUndo() {
  if (is_kept_) return;
  next_ = next_before_;
  if (was_empty_) slots_.clear();
  for (Saved& part : saved_)
    for (std::size_t i = 0; i < part.states.size(); ++i)
      slots_[part.first + i] = std::move(part.states[i]);
}

template <class A>
void SlotsUndo<A>::save(std::size_t first, std::size_t last) {
  if (was_empty_ || has_all_) return;
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first);
  Saved part{first, std::vector<A>(begin, begin + static_cast<std::ptrdiff_t>(last - first))};
  const std::lock_guard lock(mutex_);
  saved_.push_back(std::move(part));
}

template <class A>
void SlotsUndo<A>::save_all() {
  save(0, slots_.size());
  has_all_ = true;
}

}  // namespace tq::detail
