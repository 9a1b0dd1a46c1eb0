// SPDX-License-Identifier: MIT
#pragma once
// FileLock: a lock between processes, of a file that its holder may remove.

#include <tq/files/byte_source.hpp>
#include <tq/files/failure.hpp>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#if TQ_IO_POSIX
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace tq::io {

#if TQ_IO_POSIX
namespace detail {

enum class LockWait { no, until_free };
enum class Lock { held, busy, unsupported };

// The exclusive lock of an open file. It ends when the file is closed, with the process at the
// latest.
[[nodiscard]] inline Lock take_lock(int fd, LockWait wait) noexcept {
  int result = 0;
  do result = ::flock(fd, wait == LockWait::no ? LOCK_EX | LOCK_NB : LOCK_EX);
  while (result != 0 && errno == EINTR);
  if (result == 0) return Lock::held;
  return errno == EWOULDBLOCK ? Lock::busy : Lock::unsupported;
}

// True if a path still names the open file. A process that waited for a lock may hold the lock of a
// file that the holder before it has removed or renamed.
[[nodiscard]] inline bool is_named(int fd, const char* path) noexcept {
  struct stat open{}, named{};
  return ::fstat(fd, &open) == 0 && ::lstat(path, &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace detail
#endif

/// The lock of a file that exists for its lock alone. Processes that take it make the file, and the
/// holder may remove it: a process that opened the removed file takes the lock of a new one. Where
/// the file system has no locks, and elsewhere than on POSIX systems, every process gets the lock.
class FileLock {
 public:
  /// Takes the lock, or nothing where another process or another `FileLock` holds it. Makes the
  /// file and its folder. A symbolic link in place of the file is not followed.
  /// Throws: `errc::io_failure`.
  [[nodiscard]] static std::optional<FileLock> take(const std::filesystem::path& path) {
    FileLock lock(path);
    constexpr int most = 1000;  // the file or its folder may be removed between any two calls
    for (int attempt = 0; attempt < most; ++attempt) {
      if (!make_folder(path.parent_path())) continue;
#if TQ_IO_POSIX
      lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (lock.fd_ < 0 && (errno == ENOENT || errno == EINTR)) continue;
      if (lock.fd_ < 0) detail::fail_errno("tq::io::FileLock", path.string(), "open", errno);
      const detail::Lock state = detail::take_lock(lock.fd_, detail::LockWait::no);
      if (state == detail::Lock::busy) return std::nullopt;
      if (state == detail::Lock::held && !detail::is_named(lock.fd_, path.c_str())) {
        lock.close();
        continue;
      }
#endif
      return lock;
    }
    detail::fail(errc::io_failure, "tq::io::FileLock", path.string(), "",
                 "expected a file that stays, got one that is removed again and again");
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock(FileLock&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileLock() { close(); }

  /// Removes the file, then lets the lock go.
  void remove() noexcept {
    std::error_code code;
    if (fd_ >= 0 || !TQ_IO_POSIX) std::filesystem::remove(path_, code);
    close();
  }

 private:
  explicit FileLock(std::filesystem::path path) : path_(std::move(path)) {}

  // False where a folder was removed between two calls.
  [[nodiscard]] static bool make_folder(const std::filesystem::path& folder) {
    if (folder.empty()) return true;
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (!code) return true;
    std::error_code ignored;  // one look at the folder: it may come and go at any moment
    const std::filesystem::file_type found =
        std::filesystem::symlink_status(folder, ignored).type();
    const bool is_made = found == std::filesystem::file_type::directory ||
                         (found == std::filesystem::file_type::symlink &&
                          std::filesystem::is_directory(folder, ignored));
    const bool has_vanished =
        found == std::filesystem::file_type::not_found &&
        (code == std::errc::no_such_file_or_directory || code == std::errc::file_exists);
    if (!is_made && !has_vanished)
      detail::fail_errno("tq::io::FileLock", folder.string(), "creating the folder", code.value());
    return false;
  }
  void close() noexcept {
#if TQ_IO_POSIX
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
#endif
  }

  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace tq::io
