// SPDX-License-Identifier: MIT
#pragma once
// Writing a file so that its name always holds either the old content or the complete new one.

#include <tq/bodies.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/temporary_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>

namespace tq::io {

namespace detail {

// Writes every byte; a short write raises with the reason of the operating system.
TQ_API void write_all(std::FILE* file, const std::string& name, std::span<const std::byte> bytes);

// Pushes buffered bytes to the device, so that a full disk shows before the file is renamed.
TQ_API void flush_to_disk(std::FILE* file, const std::string& name);

}  // namespace detail

/// How a file is written whose name is a symbolic link: `followed` writes the file that the link
/// names, or makes it; `replaced` puts the new file in the place of the link.
enum class Links { followed, replaced };

/// A file under construction: bytes, in order or at places of their own, go to a temporary file in
/// the same folder, `commit()` renames it over the target. Without `commit()` (an error, an early
/// return) the temporary file is removed and the target keeps its old content.
/// `remove_temporary_files` is for programs that a signal ends, `remove_abandoned_files` for the
/// files of killed ones.
class AtomicFile {
 public:
  /// Throws: `errc::io_failure` when the target is not a regular file or the folder is not
  /// writable.
  TQ_API explicit AtomicFile(const std::filesystem::path& target, Links links = Links::followed);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  TQ_API AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile() { discard(); }

  /// Writes bytes after the ones before. Throws: `errc::io_failure`, for example on a full disk.
  TQ_API void write(std::span<const std::byte> bytes);

  /// Writes bytes at `offset` from the start of the file, and what follows after them; what no
  /// bytes were written to is 0. Throws: as `write`.
  TQ_API void write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  /// Where the next bytes go.
  [[nodiscard]] std::uint64_t position() const noexcept { return written_; }
  [[nodiscard]] const std::filesystem::path& target() const noexcept { return target_; }

  /// Pushes what was written to the device, so that the rename is all that `commit()` has left to
  /// do. Where several files are to change together, each is flushed before the first is committed.
  /// Throws: `errc::io_failure`, for example on a full disk.
  TQ_API void flush();

  /// Flushes, closes and renames onto the target; nothing can be written afterwards.
  /// Throws: `errc::io_failure`; the target is then untouched.
  TQ_API void commit();

 private:
  // The lock of an open file, which outlasts the file's end.
  class HeldLock {
   public:
    explicit HeldLock([[maybe_unused]] std::FILE* file) noexcept {
#if TQ_IO_POSIX
      fd_ = ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0);
#endif
    }
    HeldLock(const HeldLock&) = delete;
    HeldLock& operator=(const HeldLock&) = delete;
    ~HeldLock() {
#if TQ_IO_POSIX
      if (fd_ >= 0) ::close(fd_);
#endif
    }

   private:
    int fd_ = -1;
  };

  TQ_API void require_open() const;

  // One link after the other: what the last one names need not exist.
  TQ_API void follow_links();

  // Another process may find the file before it is locked, take it for one that was left, and
  // remove it: then the next name is tried.
  TQ_API void open_temporary();

  // An open new file, which child processes do not inherit, or null.
  [[nodiscard]] TQ_API static std::FILE* make_file(const std::filesystem::path& path);
  [[nodiscard]] TQ_API bool has_name() const noexcept;

  TQ_API void discard() noexcept;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  detail::TemporaryEntry entry_;
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;
  bool pending_ = false;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/files/atomic_file.ipp>
#endif
