// SPDX-License-Identifier: MIT
#pragma once
// Writing a file so that its name always holds either the old content or the complete new one.

#include <tq/files/byte_source.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/sync_folder.hpp>
#include <tq/files/temporary_file.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace tq::io {

namespace detail {

// Writes every byte; a short write raises with the reason of the operating system.
inline void write_all(std::FILE* file, const std::string& name, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    fail_errno("tq::io::AtomicFile", name, "write", errno);
}

inline void seek(std::FILE* file, const std::string& name, std::uint64_t offset) {
  errno = 0;
#if TQ_IO_POSIX
  const int result = ::fseeko(file, static_cast<::off_t>(offset), SEEK_SET);
#else
  const int result = ::_fseeki64(file, static_cast<long long>(offset), SEEK_SET);
#endif
  if (result != 0) fail_errno("tq::io::AtomicFile", name, "write", errno);
}

// Pushes buffered bytes to the device, so that a full disk shows before the file is renamed.
inline void flush_to_disk(std::FILE* file, const std::string& name) {
  errno = 0;
  if (std::fflush(file) != 0) fail_errno("tq::io::AtomicFile", name, "flush", errno);
#if TQ_IO_POSIX
  if (::fsync(::fileno(file)) != 0) fail_errno("tq::io::AtomicFile", name, "fsync", errno);
#endif
}

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
  explicit AtomicFile(const std::filesystem::path& target, Links links = Links::followed)
      : target_(target) {
    namespace fs = std::filesystem;
    std::error_code code;
    if (links == Links::followed) follow_links();
    fs::file_status status = fs::symlink_status(target_, code);
    if (links == Links::replaced && fs::is_symlink(status)) status = fs::file_status();
    if (fs::exists(status) && !fs::is_regular_file(status))
      detail::fail(errc::io_failure, "tq::io::AtomicFile", target_.string(), "",
                   "expected a regular file or a free name, got something else");
    open_temporary();
    if (fs::exists(status)) {  // the new file keeps the access rights of the old one
      fs::permissions(temporary_, status.permissions(), code);
    }
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&& other) noexcept
      : target_(std::move(other.target_)),
        temporary_(std::move(other.temporary_)),
        entry_(std::move(other.entry_)),
        file_(std::exchange(other.file_, nullptr)),
        written_(other.written_),
        pending_(std::exchange(other.pending_, false)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile() { discard(); }

  /// Writes bytes after the ones before. Throws: `errc::io_failure`, for example on a full disk.
  void write(std::span<const std::byte> bytes) {
    require_open();
    detail::write_all(file_, target_.string(), bytes);
    written_ += bytes.size();
  }

  /// Writes bytes at `offset` from the start of the file, and what follows after them; what no
  /// bytes were written to is 0. Throws: as `write`.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    require_open();
    if (offset != written_) detail::seek(file_, target_.string(), offset);
    written_ = offset;
    write(bytes);
  }

  /// Where the next bytes go.
  [[nodiscard]] std::uint64_t position() const noexcept { return written_; }
  [[nodiscard]] const std::filesystem::path& target() const noexcept { return target_; }

  /// Pushes what was written to the device, so that the rename is all that `commit()` has left to
  /// do. Where several files are to change together, each is flushed before the first is committed.
  /// Throws: `errc::io_failure`, for example on a full disk.
  void flush() {
    require_open();
    detail::flush_to_disk(file_, target_.string());
  }

  /// Flushes, closes and renames onto the target; nothing can be written afterwards.
  /// Throws: `errc::io_failure`; the target is then untouched.
  void commit() {
    require_open();
    const std::string name = target_.string();
    detail::flush_to_disk(file_, name);
    const HeldLock lock(file_);  // of the temporary file, until it has its name
    errno = 0;
    if (std::fclose(std::exchange(file_, nullptr)) != 0)
      detail::fail_errno("tq::io::AtomicFile", name, "close", errno);
    std::error_code code;
    std::filesystem::rename(temporary_, target_, code);
    if (code) detail::fail_errno("tq::io::AtomicFile", name, "rename", code.value());
    pending_ = false;
    entry_ = {};
    sync_folder(target_.parent_path());
  }

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

  void require_open() const {
    if (file_ == nullptr)
      detail::fail(errc::bad_argument, "tq::io::AtomicFile", target_.string(), "",
                   "expected an open file, got one already committed or moved from");
  }

  // One link after the other: what the last one names need not exist.
  void follow_links() {
    namespace fs = std::filesystem;
    constexpr int most = 40;
    const std::string given = target_.string();
    std::error_code code;
    for (int i = 0; fs::is_symlink(fs::symlink_status(target_, code)); ++i) {
      const fs::path next = fs::read_symlink(target_, code);
      if (code) detail::fail_errno("tq::io::AtomicFile", given, "reading a link", code.value());
      if (i == most)
        detail::fail(errc::io_failure, "tq::io::AtomicFile", given, "",
                     "expected at most " + std::to_string(most) + " symbolic links, got more");
      target_ = target_.parent_path() / next;
    }
  }

  // Another process may find the file before it is locked, take it for one that was left, and
  // remove it: then the next name is tried.
  void open_temporary() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      temporary_ = detail::temporary_name(target_);
      entry_ = detail::TemporaryEntry(temporary_);
      errno = 0;
      file_ = make_file(temporary_);
      if (file_ != nullptr) {
        detail::lock_temporary(file_);
        pending_ = true;
        if (has_name()) return;
        discard();
        continue;
      }
      const int number = errno;
      entry_ = {};
      errno = number;
      if (number != EEXIST) break;
    }
    detail::fail_errno("tq::io::AtomicFile", target_.string(), "creating a temporary file", errno);
  }

  // An open new file, which child processes do not inherit, or null.
  [[nodiscard]] static std::FILE* make_file(const std::filesystem::path& path) {
#if TQ_IO_POSIX
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd < 0 ? nullptr : ::fdopen(fd, "wb");
#else
    return std::fopen(path.string().c_str(), "wbx");
#endif
  }
  [[nodiscard]] bool has_name() const noexcept {
#if TQ_IO_POSIX
    return detail::is_named(::fileno(file_), temporary_.c_str());
#else
    return true;
#endif
  }

  void discard() noexcept {
    if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
    std::error_code code;
    if (std::exchange(pending_, false)) std::filesystem::remove(temporary_, code);
    entry_ = {};
  }

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  detail::TemporaryEntry entry_;
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;
  bool pending_ = false;
};

}  // namespace tq::io
