// SPDX-License-Identifier: MIT
#pragma once
// Where in a text something is, as editors count it.

#include <tq/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io {

/// "line 41, column 3" of the byte at `offset`, both from 1 on; an offset behind the text is its
/// end. Columns count characters of UTF-8.
[[nodiscard]] inline std::string text_position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const std::size_t newline = before.rfind('\n');
  const std::string_view in_line = newline == before.npos ? before : before.substr(newline + 1);
  const auto column = std::ranges::count_if(
      in_line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; });
  return "line " + std::to_string(line) + ", column " + std::to_string(column + 1);
}

}  // namespace tq::io
