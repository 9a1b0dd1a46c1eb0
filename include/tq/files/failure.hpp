// SPDX-License-Identifier: MIT
#pragma once
// The one shape of an error text of tq::io: function, file, member, then what was expected and what
// came.

#include <tq/bodies.hpp>
#include <tq/error.hpp>

#include <system_error>

#include <string>
#include <string_view>

namespace tq::io {

/// Untrusted text made fit for a message: cut to 80 bytes, anything but printable ASCII as '?'.
[[nodiscard]] TQ_API std::string shown(std::string_view text);

namespace detail {

using io::shown;

/// Raises "<where>: <file>: <item>: <text>"; an empty item is left out.
[[noreturn]] TQ_API void fail(errc code, std::string_view where, std::string_view file,
                              std::string_view item, std::string_view text);

/// Raises `errc::io_failure` with the text of an errno value; 0 reads "unknown error".
[[noreturn]] TQ_API void fail_errno(std::string_view where, std::string_view file,
                                    std::string_view action, int number);

/// "expected <a>, got <b>".
[[nodiscard]] TQ_API std::string expected_got(std::string_view expected, std::string_view got);

}  // namespace detail

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/files/failure.ipp>
#endif
