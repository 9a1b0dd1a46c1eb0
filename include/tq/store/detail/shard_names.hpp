// SPDX-License-Identifier: MIT
#pragma once
// Names of shards that say how many there are: "model-00001-of-00003.safetensors".

#include <tq/store/detail/output_shard.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq::store::detail {

// "model" and ".safetensors" of "model-00001-of-00003.safetensors".
struct CountedName {
  std::string before, after;

  friend bool operator==(const CountedName&, const CountedName&) = default;

  // Shard `i`, from 0 on, of `count`.
  [[nodiscard]] std::string name(std::size_t i, std::size_t count) const {
    std::array<char, 64> numbers{};
    std::snprintf(numbers.data(), numbers.size(), "-%05zu-of-%05zu", i + 1, count);
    return before + numbers.data() + after;
  }
};

// The parts of a name that says how many shards there are, or nothing.
[[nodiscard]] inline std::optional<CountedName> counted_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789", numbers = "-00000-of-00000";
  const std::size_t of = name.rfind("-of-");
  if (of == name.npos || of < 6 || name.size() < of + 9) return std::nullopt;
  const std::string_view text = name.substr(of - 6, numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] == '0' ? digits.find(text[i]) == digits.npos : text[i] != numbers[i])
      return std::nullopt;
  return CountedName{std::string(name.substr(0, of - 6)), std::string(name.substr(of + 9))};
}

// Gives shards that are counted in their names the numbers of those that are there. Names of other
// kinds stay.
inline void count_shards(std::vector<OutputShard>& shards) {
  if (shards.empty()) return;
  const std::optional<CountedName> name = counted_name(shards.front().name);
  if (!name || !std::ranges::all_of(shards, [&](const OutputShard& shard) {
        return counted_name(shard.name) == name;
      }))
    return;
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i].name = name->name(i, shards.size());
}

}  // namespace tq::store::detail
