// SPDX-License-Identifier: MIT
#pragma once
// SlotsUndo: puts the slots of an observer back where a call fails half way.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tq::detail {

// Restores the slots and the number of batches of an observer in its destructor, unless `keep` was
// called. Slots that may be left half changed are saved first; there were none before where the
// observer was empty, so that these need not be.
template <class A>
class SlotsUndo {
 public:
  SlotsUndo(std::vector<A>& slots, std::uint64_t& batches)
      : slots_(slots), batches_(batches), batches_before_(batches), was_empty_(slots.empty()) {}
  SlotsUndo(const SlotsUndo&) = delete;
  SlotsUndo& operator=(const SlotsUndo&) = delete;
  ~SlotsUndo() {
    if (is_kept_) return;
    batches_ = batches_before_;
    if (was_empty_) slots_.clear();
    for (Saved& part : saved_)
      for (std::size_t i = 0; i < part.slots.size(); ++i)
        slots_[part.first + i] = std::move(part.slots[i]);
  }

  // Saves the slots [first, last). Tasks may call it at the same time, for different slots.
  // Throws: std::bad_alloc, and what copies of slots throw.
  void save(std::size_t first, std::size_t last) {
    if (was_empty_ || has_all_) return;
    const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first);
    Saved part{first, std::vector<A>(begin, begin + static_cast<std::ptrdiff_t>(last - first))};
    const std::lock_guard lock(mutex_);
    saved_.push_back(std::move(part));
  }
  void save_all() {
    save(0, slots_.size());
    has_all_ = true;
  }
  void keep() noexcept { is_kept_ = true; }

 private:
  struct Saved {
    std::size_t first;
    std::vector<A> slots;
  };
  std::vector<A>& slots_;
  std::uint64_t& batches_;
  std::uint64_t batches_before_;
  bool was_empty_, has_all_ = false, is_kept_ = false;
  std::mutex mutex_;
  std::vector<Saved> saved_;
};

}  // namespace tq::detail
