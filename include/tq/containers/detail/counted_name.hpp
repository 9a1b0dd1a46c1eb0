// SPDX-License-Identifier: MIT
#pragma once
// Names of files that say how many there are: "model-00001-of-00003.safetensors".

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tq::io::detail {

// "model" and ".safetensors" of "model-00001-of-00003.safetensors".
struct CountedName {
  std::string before, after;

  friend bool operator==(const CountedName&, const CountedName&) = default;

  // File `i`, from 0 on, of `count`; numbers have at least five digits.
  [[nodiscard]] std::string name(std::uint64_t i, std::uint64_t count) const {
    const auto digits = [](std::uint64_t n) {
      const std::string text = std::to_string(n);
      return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
    };
    return before + "-" + digits(i + 1) + "-of-" + digits(count) + after;
  }
};

// The parts of a name with two numbers of five digits, or nothing.
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

}  // namespace tq::io::detail
