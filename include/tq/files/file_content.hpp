// SPDX-License-Identifier: MIT
#pragma once
// Recognizes files that have the name of a model but other content: a pointer of Git LFS, a web
// page, an archive, a download that did not arrive.

#include <tq/bodies.hpp>
#include <tq/files/byte_source.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tq::io {

/// Bytes that `foreign_content` looks at.
inline constexpr std::size_t content_sample = 1024;

/// The apparent content of a file, for the end of a message: "an HTML page, ...". `begin`: up to
/// `content_sample` first bytes; empty if they show nothing. `size`: bytes of the whole file.
/// Meant for files that could not be read as their names say.
[[nodiscard]] TQ_API std::string foreign_content(std::string_view begin, std::uint64_t size);

namespace detail {

// Raises where the bytes show what the file is in place of `expected`; else returns.
TQ_API void refuse_foreign_content(const ByteSource& source, std::string_view where,
                                   std::string_view expected);

}  // namespace detail
}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/files/file_content.ipp>
#endif
