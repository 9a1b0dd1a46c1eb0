// SPDX-License-Identifier: MIT
#pragma once
// Bounds-checked random-access reading of a file or of memory.

#include <tq/files/failure.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#define TQ_IO_POSIX 1
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define TQ_IO_POSIX 0
#include <mutex>
#endif

namespace tq::io {

namespace detail {

// An open file of known size. Reads do not move a shared position, so threads may read at once.
class FileHandle {
 public:
  explicit FileHandle(const std::filesystem::path& path) : name_(path.string()) {
#if TQ_IO_POSIX
    // O_NONBLOCK: opening a FIFO must fail the test below, not wait for a writer.
    do fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail_errno("tq::io::ByteSource", name_, "open", errno);
    struct stat status{};
    const int result = ::fstat(fd_, &status);
    const int number = errno;
    if (result != 0 || !S_ISREG(status.st_mode)) {
      ::close(fd_);
      if (result != 0) fail_errno("tq::io::ByteSource", name_, "fstat", number);
      fail(errc::io_failure, "tq::io::ByteSource", name_, "",
           expected_got("a regular file", S_ISDIR(status.st_mode) ? "a folder" : "something else"));
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
#else
    std::error_code code;
    size_ = std::filesystem::file_size(path, code);
    if (code) fail(errc::io_failure, "tq::io::ByteSource", name_, "", code.message());
    file_ = std::fopen(name_.c_str(), "rb");
    if (file_ == nullptr) fail_errno("tq::io::ByteSource", name_, "open", errno);
#endif
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() {
#if TQ_IO_POSIX
    ::close(fd_);
#else
    std::fclose(file_);
#endif
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  // Only advice: systems without it, and failures, change nothing.
  void will_read([[maybe_unused]] std::uint64_t offset,
                 [[maybe_unused]] std::uint64_t count) const noexcept {
#if defined(POSIX_FADV_WILLNEED)
    static_cast<void>(::posix_fadvise(fd_, static_cast<::off_t>(offset),
                                      static_cast<::off_t>(count), POSIX_FADV_WILLNEED));
#endif
  }

  void read(std::uint64_t offset, std::span<std::byte> out) {
#if TQ_IO_POSIX
    while (!out.empty()) {
      const std::size_t want = std::min<std::size_t>(out.size(), std::size_t{1} << 30);
      const ::ssize_t got = ::pread(fd_, out.data(), want, static_cast<::off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_errno("tq::io::ByteSource", name_, "read", errno);
      if (got == 0) fail_short(offset);
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
#else
    const std::lock_guard lock(mutex_);
    if (::_fseeki64(file_, static_cast<long long>(offset), SEEK_SET) != 0)
      fail_errno("tq::io::ByteSource", name_, "seek", errno);
    if (std::fread(out.data(), 1, out.size(), file_) != out.size()) fail_short(offset);
#endif
  }

 private:
  [[noreturn]] void fail_short(std::uint64_t offset) const {
    fail(errc::io_failure, "tq::io::ByteSource", name_, "",
         expected_got(std::to_string(size_) + " bytes as when it was opened",
                      "the end at offset " + std::to_string(offset)));
  }

  std::string name_;
  std::uint64_t size_ = 0;
#if TQ_IO_POSIX
  int fd_ = -1;
#else
  std::FILE* file_ = nullptr;
  std::mutex mutex_;
#endif
};

}  // namespace detail

/// Bytes that can be read at any offset: a file, opened once and read piece by piece, or memory.
/// Copies share the file; reading from several threads is safe.
class ByteSource {
 public:
  /// Opens a regular file. Throws: `errc::io_failure`.
  [[nodiscard]] static ByteSource open(const std::filesystem::path& path) {
    ByteSource source;
    source.name_ = path.string();
    source.file_ = std::make_shared<detail::FileHandle>(path);
    source.size_ = source.file_->size();
    return source;
  }

  /// Reads from memory that the caller keeps alive; `name` stands for the file in messages.
  [[nodiscard]] static ByteSource from_memory(std::span<const std::byte> bytes,
                                              std::string name = "memory") {
    ByteSource source;
    source.name_ = std::move(name);
    source.memory_ = bytes;
    source.size_ = bytes.size();
    return source;
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// True when [offset, offset + count) lies inside.
  [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t count) const noexcept {
    return offset <= size_ && count <= size_ - offset;
  }

  /// Says that these bytes, as far as there are any, are read soon: the system may begin to read
  /// them now.
  void will_read(std::uint64_t offset, std::uint64_t count) const noexcept {
    if (file_ && offset < size_) file_->will_read(offset, std::min(count, size_ - offset));
  }

  /// Fills `out` from `offset`. Throws: `errc::malformed` past the end, `errc::io_failure`.
  void read(std::uint64_t offset, std::span<std::byte> out) const {
    if (!contains(offset, out.size()))
      detail::fail(errc::malformed, "tq::io::ByteSource", name_, "",
                   detail::expected_got(std::to_string(out.size()) + " bytes",
                                        std::to_string(offset < size_ ? size_ - offset : 0)) +
                       ", at offset " + std::to_string(offset));
    if (out.empty()) return;
    if (file_) file_->read(offset, out);
    else std::memcpy(out.data(), memory_.data() + offset, out.size());
  }

 private:
  ByteSource() = default;
  std::string name_;
  std::uint64_t size_ = 0;
  std::shared_ptr<detail::FileHandle> file_;
  std::span<const std::byte> memory_;
};

}  // namespace tq::io
