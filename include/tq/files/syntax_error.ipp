// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/syntax_error.hpp.

#include <tq/files/failure.hpp>
#include <tq/files/file_content.hpp>
#include <tq/files/syntax_error.hpp>
#include <tq/files/text_position.hpp>

namespace tq::io::detail {

TQ_API std::string syntax_error(std::string_view text, std::size_t position) {
  if (std::string content = foreign_content(text.substr(0, content_sample), text.size());
      !content.empty())
    return content;
  const std::size_t at = position == 0 ? 0 : position - 1;
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == text.npos || at > last)
    return "the end of the text at " + text_position(text, last == text.npos ? 0 : last + 1);
  std::string error = shown(text.substr(at, 1)) + " at " + text_position(text, at);
  const std::size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t\r\n", at - 1);
  if (before != text.npos && text[before] == ',' && (text[at] == ']' || text[at] == '}'))
    error += ", after the comma at " + text_position(text, before);
  return error;
}

}  // namespace tq::io::detail
