// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/atomic_file.hpp.

#include <tq/files/atomic_file.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/sync_folder.hpp>

#include <system_error>

#include <cerrno>
#include <utility>

namespace tq::io {

namespace detail {

TQ_API void write_all(std::FILE* file, const std::string& name, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    fail_errno("tq::io::AtomicFile", name, "write", errno);
}

TQ_API void seek(std::FILE* file, const std::string& name, std::uint64_t offset) {
  errno = 0;
#if TQ_IO_POSIX
  const int result = ::fseeko(file, static_cast<::off_t>(offset), SEEK_SET);
#else
  const int result = ::_fseeki64(file, static_cast<long long>(offset), SEEK_SET);
#endif
  if (result != 0) fail_errno("tq::io::AtomicFile", name, "write", errno);
}

TQ_API void flush_to_disk(std::FILE* file, const std::string& name) {
  errno = 0;
  if (std::fflush(file) != 0) fail_errno("tq::io::AtomicFile", name, "flush", errno);
#if TQ_IO_POSIX
  if (::fsync(::fileno(file)) != 0) fail_errno("tq::io::AtomicFile", name, "fsync", errno);
#endif
}

}  // namespace detail

TQ_API AtomicFile::AtomicFile(const std::filesystem::path& target, Links links) : target_(target) {
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

TQ_API AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      entry_(std::move(other.entry_)),
      file_(std::exchange(other.file_, nullptr)),
      written_(other.written_),
      pending_(std::exchange(other.pending_, false)) {}

TQ_API void AtomicFile::write(std::span<const std::byte> bytes) {
  require_open();
  detail::write_all(file_, target_.string(), bytes);
  written_ += bytes.size();
}

TQ_API void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  require_open();
  if (offset != written_) detail::seek(file_, target_.string(), offset);
  written_ = offset;
  write(bytes);
}

TQ_API void AtomicFile::flush() {
  require_open();
  detail::flush_to_disk(file_, target_.string());
}

TQ_API void AtomicFile::commit() {
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

TQ_API void AtomicFile::require_open() const {
  if (file_ == nullptr)
    detail::fail(errc::bad_argument, "tq::io::AtomicFile", target_.string(), "",
                 "expected an open file, got one already committed or moved from");
}

TQ_API void AtomicFile::follow_links() {
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

TQ_API void AtomicFile::open_temporary() {
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

TQ_API std::FILE* AtomicFile::make_file(const std::filesystem::path& path) {
#if TQ_IO_POSIX
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return fd < 0 ? nullptr : ::fdopen(fd, "wb");
#else
  return std::fopen(path.string().c_str(), "wbx");
#endif
}

TQ_API bool AtomicFile::has_name() const noexcept {
#if TQ_IO_POSIX
  return detail::is_named(::fileno(file_), temporary_.c_str());
#else
  return true;
#endif
}

TQ_API void AtomicFile::discard() noexcept {
  if (file_ != nullptr) std::fclose(std::exchange(file_, nullptr));
  std::error_code code;
  if (std::exchange(pending_, false)) std::filesystem::remove(temporary_, code);
  entry_ = {};
}

}  // namespace tq::io
