// SPDX-License-Identifier: MIT
#pragma once
// NameIndex: where in a list each name is, without a copy of the names.

#include <tq/config.hpp>

#include <bit>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace tq::io {

/// Places of names in a list of things that have a `name`. The list is given to every call; what is
/// in the index stays where it is in the list.
class NameIndex {
 public:
  /// With room for so many names.
  explicit NameIndex(std::size_t names = 0)
      : slots_(std::bit_ceil(2 * names + 1), std::size_t{0}) {}

  /// The place of a name.
  template <class List>
  [[nodiscard]] std::optional<std::size_t> find(const List& list, std::string_view name) const {
    const std::size_t place = slots_[slot_of(list, name)];
    return place == 0 ? std::nullopt : std::optional(place - 1);
  }

  /// Adds the next place of the list; false where its name has one already.
  /// Precondition: there is room.
  template <class List>
  [[nodiscard]] bool add_next(const List& list) {
    std::size_t& slot = slots_[slot_of(list, list[size_].name)];
    const bool is_new = slot == 0;
    ++size_;
    if (is_new) slot = size_;
    return is_new;
  }

 private:
  // The slot that holds the name, or the empty one where it belongs.
  template <class List>
  [[nodiscard]] std::size_t slot_of(const List& list, std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>{}(name)&mask;
    while (slots_[slot] != 0 && list[slots_[slot] - 1].name != name) slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<std::size_t> slots_;  // a place and 1, or 0; at least half of them are empty
  std::size_t size_ = 0;
};

}  // namespace tq::io
