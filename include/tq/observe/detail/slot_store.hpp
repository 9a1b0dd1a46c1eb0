// SPDX-License-Identifier: MIT
#pragma once
// SlotStore: the slots of an observer, packed until somebody wants them as they are.

#include <tq/bodies.hpp>
#include <tq/observe/detail/packed_slots.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tq::detail {

/// The slots of an observer. Those of a stored state stay packed until they are added to, or looked
/// at as a whole. Functions that are const do no harm to one another on several threads.
template <class A, bool Packs = packs_slots<A>>
class SlotStore {
 public:
  SlotStore() = default;
  explicit SlotStore(std::vector<A> states) : open_(std::move(states)) {}

  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }
  [[nodiscard]] bool empty() const noexcept { return open_.empty(); }
  [[nodiscard]] bool is_packed() const noexcept { return false; }
  void clear() noexcept { open_.clear(); }

  [[nodiscard]] std::vector<A>& open() noexcept { return open_; }
  [[nodiscard]] const std::vector<A>& view() const noexcept { return open_; }
  /// Calls f(number, slot) for every slot in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t i = 0; i < open_.size(); ++i) f(i, open_[i]);
  }

 private:
  std::vector<A> open_;
};

// One for all observers, so that they can be copied.
[[nodiscard]] TQ_CORE_API std::mutex& slot_mutex() noexcept;

template <class A>
class SlotStore<A, true> {
 public:
  SlotStore() = default;
  explicit SlotStore(std::vector<A> states) : open_(std::move(states)) {}
  explicit SlotStore(PackedSlots<A> states);
  SlotStore(SlotStore&&) noexcept = default;
  SlotStore& operator=(SlotStore&&) noexcept = default;
  SlotStore(const SlotStore& other);
  SlotStore& operator=(const SlotStore& other) {
    if (this != &other) *this = SlotStore(other);
    return *this;
  }
  ~SlotStore();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool is_packed() const;
  void clear() noexcept {
    packed_.reset();
    open_.clear();
  }

  /// The slots, to be changed. Throws: std::bad_alloc.
  [[nodiscard]] std::vector<A>& open();
  /// The slots as they are. Throws: std::bad_alloc.
  [[nodiscard]] const std::vector<A>& view() const;
  /// Calls f(number, slot) for every slot in ascending order, and leaves packed what is packed.
  template <class F>
  void for_each(F&& f) const {
    std::shared_ptr<const PackedSlots<A>> packed;
    {
      const std::lock_guard lock(slot_mutex());
      packed = packed_;
    }
    if (packed) packed->for_each(f);
    else
      for (std::size_t i = 0; i < open_.size(); ++i) f(i, std::as_const(open_[i]));
  }

  /// Calls f(slot, the other's slot) for the slots of each number. Throws: std::bad_alloc; what f
  /// does. Precondition: the sizes are the same, and this is packed.
  template <class F>
  void for_each_beside(const SlotStore& other, F&& f) const {
    const auto room = std::make_unique<A>();
    other.for_each([&](std::size_t i, const A& slot) {
      packed_->unpack(i, *room);
      f(std::as_const(*room), slot);
    });
  }

 private:
  void unpack() const;

  mutable std::shared_ptr<const PackedSlots<A>> packed_;  // null once they are open
  mutable std::vector<A> open_;
};

/// The initial state of an observer's slots; a large one takes no memory while it is the default.
template <class A, bool Packs = packs_slots<A>>
class SlotPrototype {
 public:
  explicit SlotPrototype(A prototype) : own_(std::move(prototype)) {}
  [[nodiscard]] const A& get() const noexcept { return own_; }
  [[nodiscard]] A& change() noexcept { return own_; }

 private:
  A own_;
};

template <class A>
class SlotPrototype<A, true> {
 public:
  explicit SlotPrototype(const A& prototype);
  [[nodiscard]] const A& get() const;

 private:
  [[nodiscard]] static const A& initial();
  SlotStore<A> own_;  // empty for the default
};

// --- bodies, which are no inline functions: see usual_observers.hpp ---

/// Makes slots, or leaves those there are.
template <class A>
void make_slots(std::vector<A>& to, std::size_t n, const A& prototype) {
  if (to.empty()) to.resize(n, prototype);
}

template <class A>
SlotStore<A, true>::SlotStore(PackedSlots<A> states)
    : packed_(std::make_shared<const PackedSlots<A>>(std::move(states))) {}

template <class A>
SlotStore<A, true>::SlotStore(const SlotStore& other) {
  const std::lock_guard lock(slot_mutex());
  packed_ = other.packed_;
  open_ = other.open_;
}

template <class A>
SlotStore<A, true>::~SlotStore() = default;

template <class A>
std::size_t SlotStore<A, true>::size() const {
  const std::lock_guard lock(slot_mutex());
  return packed_ ? packed_->size() : open_.size();
}

template <class A>
bool SlotStore<A, true>::is_packed() const {
  const std::lock_guard lock(slot_mutex());
  return packed_ != nullptr;
}

template <class A>
std::vector<A>& SlotStore<A, true>::open() {
  if (packed_) unpack();
  return open_;
}

template <class A>
const std::vector<A>& SlotStore<A, true>::view() const {
  const std::lock_guard lock(slot_mutex());
  if (packed_) unpack();
  return open_;
}

template <class A>
void SlotStore<A, true>::unpack() const {
  std::vector<A> states(packed_->size());
  for (std::size_t i = 0; i < states.size(); ++i) packed_->unpack(i, states[i]);
  open_ = std::move(states);
  packed_.reset();
}

template <class A>
SlotPrototype<A, true>::SlotPrototype(const A& prototype) {
  if (prototype == initial()) return;
  PackedSlots<A> packed;
  packed.push_back(prototype);
  own_ = SlotStore<A>(std::move(packed));
}

template <class A>
const A& SlotPrototype<A, true>::get() const {
  return own_.empty() ? initial() : own_.view().front();
}

template <class A>
const A& SlotPrototype<A, true>::initial() {
  static const A value{};
  return value;
}

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/detail/slot_store.ipp>
#endif
