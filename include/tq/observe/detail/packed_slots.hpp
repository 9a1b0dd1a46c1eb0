// SPDX-License-Identifier: MIT
#pragma once
// PackedSlots: accumulators that nothing is added to, in the memory that their content needs.

#include <tq/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// The words of accumulators, without those that are zero: of each a list of runs, a word with the
/// number of zeros in its upper half and of other words in its lower half, and these words.
template <class A>
  requires packs_slots<A>
class PackedSlots {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }

  /// Appends a slot. Throws: std::bad_alloc.
  void push_back(const A& slot) {
    for (std::size_t at = 0; at < words;) {
      const std::size_t zeros_at = at;
      while (at < words && word_at(slot, at) == 0) ++at;
      const std::size_t begin = at;
      while (at < words && word_at(slot, at) != 0) ++at;
      packed_.push_back(std::uint64_t{begin - zeros_at} << 32 | std::uint64_t{at - begin});
      for (std::size_t i = begin; i < at; ++i) packed_.push_back(word_at(slot, i));
    }
    ends_.push_back(packed_.size());
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
    auto* const to = reinterpret_cast<std::byte*>(&slot);
    std::size_t at = 0;
    for (std::size_t i = number == 0 ? 0 : ends_[number - 1]; i < ends_[number];) {
      const auto zeros = static_cast<std::size_t>(packed_[i] >> 32),
                 others = static_cast<std::size_t>(packed_[i] & 0xffffffffu);
      std::memset(to + at * word_bytes, 0, zeros * word_bytes);
      std::memcpy(to + (at + zeros) * word_bytes, packed_.data() + i + 1, others * word_bytes);
      at += zeros + others;
      i += 1 + others;
    }
  }

 private:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t), words = sizeof(A) / word_bytes;

  [[nodiscard]] static std::uint64_t word_at(const A& slot, std::size_t at) noexcept {
    std::uint64_t out = 0;
    std::memcpy(&out, reinterpret_cast<const std::byte*>(&slot) + at * word_bytes, word_bytes);
    return out;
  }

  std::vector<std::uint64_t> packed_;
  std::vector<std::size_t> ends_;  // of each slot, in `packed_`
};

}  // namespace tq::detail
