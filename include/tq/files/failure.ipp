// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/failure.hpp.

#include <tq/files/failure.hpp>

#include <cerrno>

namespace tq::io {

TQ_API std::string shown(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 80 ? "...\"" : "\"");
}

namespace detail {

TQ_API void fail(errc code, std::string_view where, std::string_view file, std::string_view item,
                 std::string_view text) {
  std::string message(where);
  message.append(": ").append(file).append(": ");
  if (!item.empty()) message.append(item).append(": ");
  message.append(text);
  raise(code, message);
}

TQ_API void fail_errno(std::string_view where, std::string_view file, std::string_view action,
                       int number) {
  const std::string reason =
      number == 0 ? "unknown error" : std::generic_category().message(number);
  fail(errc::io_failure, where, file, "", std::string(action) + " failed: " + reason);
}

TQ_API std::string expected_got(std::string_view expected, std::string_view got) {
  std::string text = "expected ";
  text.append(expected).append(", got ").append(got);
  return text;
}

}  // namespace detail

}  // namespace tq::io
