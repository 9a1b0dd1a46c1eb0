// SPDX-License-Identifier: MIT
#pragma once
// PackedSlots: accumulators that nothing is added to, in the memory that their content needs.

#include <tq/bodies.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::detail {

/// True for accumulators that are large by themselves, and mostly zeros while they have seen
/// little: histograms.
template <class A>
inline constexpr bool packs_slots =
    std::is_trivially_copyable_v<A> && std::default_initializable<A> &&
    std::equality_comparable<A> && sizeof(A) >= 1024 && sizeof(A) % sizeof(std::uint64_t) == 0;

/// The words of objects of one size, without those that are zero: of each a list of runs, a word
/// with the number of zeros in its upper half and of other words in its lower half, and these words.
class PackedWords {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }

  /// Appends an object of so many words. Throws: std::bad_alloc.
  TQ_CORE_API void push_back(const std::byte* object, std::size_t words);
  /// Makes `object` the one of a number.
  TQ_CORE_API void unpack(std::size_t number, std::byte* object) const noexcept;

 private:
  std::vector<std::uint64_t> packed_;
  std::vector<std::size_t> ends_;  // of each object, in `packed_`
};

/// Accumulators as their words.
template <class A>
  requires packs_slots<A>
class PackedSlots {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }

  /// Appends a slot. Throws: std::bad_alloc.
  void push_back(const A& slot) {
    words_.push_back(reinterpret_cast<const std::byte*>(&slot), sizeof(A) / sizeof(std::uint64_t));
  }

  /// Calls f(number, slot) for every slot in ascending order. Throws: std::bad_alloc; what f does.
  template <class F>
  void for_each(F&& f) const {
    const auto room = std::make_unique<A>();
    for (std::size_t i = 0; i < size(); ++i) {
      unpack(i, *room);
      f(i, std::as_const(*room));
    }
  }
  /// Makes `slot` the one of a number.
  void unpack(std::size_t number, A& slot) const noexcept {
    words_.unpack(number, reinterpret_cast<std::byte*>(&slot));
  }

 private:
  PackedWords words_;
};

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/detail/packed_slots.ipp>
#endif
