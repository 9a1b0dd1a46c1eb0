// SPDX-License-Identifier: MIT
#pragma once
// sync_folder: makes the names of files durable.

#include <tq/files/byte_source.hpp>

#include <filesystem>

namespace tq::io {

/// Pushes the entries of a folder to the device: the names that files got or lost there outlast a
/// loss of power from then on. An empty path is the working folder. A refusal of the system is no
/// error, since the content of the files is safe by itself.
inline void sync_folder([[maybe_unused]] const std::filesystem::path& folder) noexcept {
#if TQ_IO_POSIX
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  ::close(fd);
#endif
}

}  // namespace tq::io
