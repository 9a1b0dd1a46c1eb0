// SPDX-License-Identifier: MIT
#pragma once
// The one shape of an error text of tq::io: function, file, member, then what was expected and what
// came.

#include <tq/error.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace tq::io {

/// Untrusted text made fit for a message: cut to 80 bytes, anything but printable ASCII as '?'.
[[nodiscard]] inline std::string shown(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 80 ? "...\"" : "\"");
}

namespace detail {

using io::shown;

/// Raises "<where>: <file>: <item>: <text>"; an empty item is left out.
[[noreturn]] inline void fail(errc code, std::string_view where, std::string_view file,
                              std::string_view item, std::string_view text) {
  std::string message(where);
  message.append(": ").append(file).append(": ");
  if (!item.empty()) message.append(item).append(": ");
  message.append(text);
  raise(code, message);
}

/// Raises `errc::io_failure` with the text of an errno value; 0 reads "unknown error".
[[noreturn]] inline void fail_errno(std::string_view where, std::string_view file,
                                    std::string_view action, int number) {
  const std::string reason =
      number == 0 ? "unknown error" : std::generic_category().message(number);
  fail(errc::io_failure, where, file, "", std::string(action) + " failed: " + reason);
}

/// "expected <a>, got <b>".
[[nodiscard]] inline std::string expected_got(std::string_view expected, std::string_view got) {
  std::string text = "expected ";
  text.append(expected).append(", got ").append(got);
  return text;
}

}  // namespace detail

}  // namespace tq::io
