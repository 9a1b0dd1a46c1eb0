// SPDX-License-Identifier: MIT
#pragma once
// printable: names from files in messages and tables.

#include <tq/bodies.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io {

/// Characters of UTF-8, not bytes: continuation bytes do not count.
[[nodiscard]] TQ_API std::size_t character_count(std::string_view text);

/// A name for a terminal: without control characters and characters that change the direction of
/// text or have no width; a name longer than a line is shortened in the middle.
[[nodiscard]] TQ_API std::string printable(const std::string& name);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/files/printable.ipp>
#endif
