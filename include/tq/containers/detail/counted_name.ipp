// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/detail/counted_name.hpp.

#include <tq/containers/detail/counted_name.hpp>

#include <cstddef>

namespace tq::io::detail {

TQ_API std::string CountedName::name(std::uint64_t i, std::uint64_t count) const {
  const auto digits = [](std::uint64_t n) {
    const std::string text = std::to_string(n);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return before + "-" + digits(i + 1) + "-of-" + digits(count) + after;
}

TQ_API std::optional<CountedName> counted_name(std::string_view name) {
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
