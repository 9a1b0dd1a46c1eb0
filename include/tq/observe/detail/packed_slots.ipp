// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/detail/packed_slots.hpp.

#include <tq/observe/detail/packed_slots.hpp>

#include <cstring>

namespace tq::detail {

TQ_CORE_API void PackedWords::push_back(const std::byte* object, std::size_t words) {
  const auto word_at = [&](std::size_t at) {
    std::uint64_t out = 0;
    std::memcpy(&out, object + at * sizeof out, sizeof out);
    return out;
  };
  for (std::size_t at = 0; at < words;) {
    const std::size_t zeros_at = at;
    while (at < words && word_at(at) == 0) ++at;
    const std::size_t begin = at;
    while (at < words && word_at(at) != 0) ++at;
    packed_.push_back(std::uint64_t{begin - zeros_at} << 32 | std::uint64_t{at - begin});
    for (std::size_t i = begin; i < at; ++i) packed_.push_back(word_at(i));
  }
  ends_.push_back(packed_.size());
}

TQ_CORE_API void PackedWords::unpack(std::size_t number, std::byte* object) const noexcept {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  std::size_t at = 0;
  for (std::size_t i = number == 0 ? 0 : ends_[number - 1]; i < ends_[number];) {
    const auto zeros = static_cast<std::size_t>(packed_[i] >> 32),
               others = static_cast<std::size_t>(packed_[i] & 0xffffffffu);
    std::memset(object + at * word_bytes, 0, zeros * word_bytes);
    std::memcpy(object + (at + zeros) * word_bytes, packed_.data() + i + 1, others * word_bytes);
    at += zeros + others;
    i += 1 + others;
  }
}

}  // namespace tq::detail
