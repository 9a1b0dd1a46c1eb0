// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/printable.hpp.

#include <tq/files/printable.hpp>
#include <tq/files/utf8.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tq::io {

TQ_API std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

namespace detail {

// At most `widest` characters: of more, the first and the last with an ellipsis between them.
TQ_API std::string shortened(const std::string& text) {
  constexpr std::size_t widest = 80, kept = (widest - 1) / 2;
  if (character_count(text) <= widest) return text;
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
  const auto first_of = [&](std::size_t character) {  // its place in bytes
    std::size_t at = 0;
    for (std::size_t seen = 0; at < text.size(); ++at)
      if (is_first(text[at]) && seen++ == character) break;
    return at;
  };
  return text.substr(0, first_of(kept)) + "\u2026" +
         text.substr(first_of(character_count(text) - kept));
}

// The number of one well-formed character of UTF-8.
TQ_API char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const std::size_t length = character.size();
  char32_t code = length == 1 ? first : first & (0xffu >> (length + 1));
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

// True for a character that a terminal obeys in place of showing it.
TQ_API bool is_hidden_character(char32_t c) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},      // control characters, soft hyphen
      {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e},  // directions, lines, no width
      {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
  };
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const auto& r) { return r.first <= c && c <= r.second; });
}

}  // namespace detail

TQ_API std::string printable(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto first = static_cast<unsigned char>(name[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const std::string_view character = std::string_view(name).substr(i, length);
    const bool shown =
        is_utf8(character) && !detail::is_hidden_character(detail::code_point(character));
    if (shown) out += character;
    else out += '?';
    i += is_utf8(character) ? length : 1;
  }
  return detail::shortened(out);
}

}  // namespace tq::io
