// SPDX-License-Identifier: MIT
#pragma once
// read_text: a whole file as text.

#include <tq/files/byte_source.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace tq::io {

/// All of a file. Throws: `errc::io_failure`.
[[nodiscard]] inline std::string read_text(const std::filesystem::path& file) {
  const ByteSource source = ByteSource::open(file);
  std::string text(static_cast<std::size_t>(source.size()), '\0');
  source.read(0, std::as_writable_bytes(std::span<char>(text)));
  return text;
}

}  // namespace tq::io
