// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/scheme/closest_name.hpp.

#include <tq/scheme/closest_name.hpp>

#include <algorithm>
#include <cstddef>

namespace tq {

namespace detail {

// Lower case, and without what people put between words.
TQ_API std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ' || c == '.') continue;
    plain += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

// The least number of characters to insert, delete, replace, or swap with a neighbour.
TQ_API std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

// The shortest that goes on where `plain` ends ("asym"), or else has it in it.
TQ_API std::string longer_name(const std::string& plain, const std::vector<std::string>& known) {
  const std::string* begins = nullptr;
  const std::string* contains = nullptr;
  for (const std::string& candidate : known) {
    const std::size_t at = plain_name(candidate).find(plain);
    if (at == std::string::npos) continue;
    const std::string*& best = at == 0 ? begins : contains;
    if (best == nullptr || candidate.size() < best->size()) best = &candidate;
  }
  return begins != nullptr ? *begins : contains != nullptr ? *contains : "";
}

}  // namespace detail

TQ_API std::string closest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 64, shortest_part = 3;
  if (name.empty() || name.size() > longest) return "";
  const std::string plain = detail::plain_name(name);
  for (const std::string& candidate : known)
    if (detail::plain_name(candidate) == plain) return candidate;
  for (const detail::OtherName& other : detail::other_names)
    if (other.said == plain && std::find(known.begin(), known.end(), other.meant) != known.end())
      return std::string(other.meant);
  if (plain.size() >= shortest_part)
    if (const std::string longer = detail::longer_name(plain, known); !longer.empty())
      return longer;
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, plain.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = detail::edit_distance(plain, detail::plain_name(candidate));
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    } else if (distance == fewest && candidate != best) {
      best.clear();  // a guess would be one of several
    }
  }
  return best;
}

TQ_API std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string closest = closest_name(name, known);
  return closest.empty() ? "" : "; did you mean \"" + closest + "\"?";
}

}  // namespace tq
