// SPDX-License-Identifier: MIT
#pragma once
// Describes the error in a text that should be JSON, and its place.

#include <tq/bodies.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io::detail {

// For the end of a message about a text that is no JSON: what is wrong, and where: `"]" at line 42,
// column 1, after a comma`.
[[nodiscard]] TQ_API std::string syntax_error(std::string_view text, std::size_t position);

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/files/syntax_error.ipp>
#endif
