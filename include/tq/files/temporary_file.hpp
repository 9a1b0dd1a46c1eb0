// SPDX-License-Identifier: MIT
#pragma once
// Names for temporary files, and a way to remove those files when a signal ends the program.

#include <tq/files/byte_source.hpp>
#include <tq/files/file_lock.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#if TQ_IO_POSIX
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tq::io {

namespace detail {

// A place for the path of a temporary file that exists. Places are never freed, so that a handler
// of signals may walk along them at any time. Whoever takes the path out owns it: the file's writer
// when it is done, or the handler, which may not free it and leaves it to the next writer.
struct TemporaryPlace {
  std::atomic<char*> path = nullptr, used = nullptr;
  TemporaryPlace* next = nullptr;
};
static_assert(std::atomic<char*>::is_always_lock_free);

[[nodiscard]] inline std::atomic<TemporaryPlace*>& temporary_places() noexcept {
  static constinit std::atomic<TemporaryPlace*> first = nullptr;
  return first;
}

// Enters a path that `remove_temporary_files` removes from now on.
class TemporaryEntry {
 public:
  TemporaryEntry() = default;
  explicit TemporaryEntry(const std::filesystem::path& path) {
    std::error_code code;
    const std::filesystem::path full = std::filesystem::absolute(path, code);
    const std::string text = (code ? path : full).string();  // the working folder may change
    auto copy = std::make_unique<char[]>(text.size() + 1);
    std::memcpy(copy.get(), text.c_str(), text.size() + 1);
    std::atomic<TemporaryPlace*>& first = temporary_places();
    for (place_ = first.load(); place_ != nullptr; place_ = place_->next) {
      char* none = nullptr;
      if (place_->path.compare_exchange_strong(none, copy.get())) {
        delete[] place_->used.exchange(nullptr);
        break;
      }
    }
    if (place_ == nullptr) {
      place_ = new TemporaryPlace;
      place_->path = copy.get();
      place_->next = first.load();
      while (!first.compare_exchange_weak(place_->next, place_)) {
      }
    }
    static_cast<void>(copy.release());
  }
  TemporaryEntry(TemporaryEntry&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
  TemporaryEntry& operator=(TemporaryEntry&& other) noexcept {
    std::swap(place_, other.place_);
    return *this;
  }
  ~TemporaryEntry() {
    if (place_ != nullptr) delete[] place_->path.exchange(nullptr);
  }

 private:
  TemporaryPlace* place_ = nullptr;
};

// "tq-0123456789abcdef.tmp" beside `target`: short, whatever the target's name, and with bits of
// process and time, so that what other writers left behind is not in the way.
[[nodiscard]] inline std::filesystem::path temporary_name(const std::filesystem::path& target) {
  static std::atomic<std::uint64_t> count = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  std::uint64_t x = static_cast<std::uint64_t>(now) + (count++ << 48);
#if TQ_IO_POSIX
  x ^= static_cast<std::uint64_t>(::getpid()) << 32;
#endif
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  std::string name = "tq-";
  for (int shift = 60; shift >= 0; shift -= 4) name += "0123456789abcdef"[(x >> shift) & 15u];
  return target.parent_path() / (name + ".tmp");
}

// Whether a file has such a name.
[[nodiscard]] inline bool is_temporary_name(std::string_view name) noexcept {
  return name.size() == 23 && name.starts_with("tq-") && name.ends_with(".tmp") &&
         name.substr(3, 16).find_first_not_of("0123456789abcdef") == name.npos;
}

// Holds the lock of an open temporary file for as long as it is open: the file is in use.
inline void lock_temporary([[maybe_unused]] std::FILE* file) noexcept {
#if TQ_IO_POSIX
  static_cast<void>(take_lock(::fileno(file), LockWait::until_free));
#endif
}

}  // namespace detail

/// Removes the temporary files that killed programs have left in a folder: the files of
/// `AtomicFile` whose lock is free. The result is their number. Where the file system has no locks,
/// and elsewhere than on POSIX systems, no file is removed.
inline std::size_t remove_abandoned_files([[maybe_unused]] const std::filesystem::path& folder) {
  std::size_t removed = 0;
#if TQ_IO_POSIX
  namespace fs = std::filesystem;
  std::error_code code;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, code), end; !code && at != end;
       at.increment(code)) {
    std::error_code status;
    if (!detail::is_temporary_name(at->path().filename().string()) ||
        !fs::is_regular_file(at->symlink_status(status)) || status)
      continue;
    const int fd = ::open(at->path().c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    // A file that was renamed meanwhile has the lock free and is an output.
    if (detail::take_lock(fd, detail::LockWait::no) == detail::Lock::held &&
        detail::is_named(fd, at->path().c_str()) && ::unlink(at->path().c_str()) == 0)
      ++removed;
    ::close(fd);
  }
#endif
  return removed;
}

/// Removes the temporary file of every `AtomicFile` that is not committed yet; targets keep their
/// content. For the handler of a signal that ends the program: it is async-signal-safe, and nothing
/// may be written to those files afterwards. Elsewhere than on POSIX systems it does nothing.
inline void remove_temporary_files() noexcept {
#if TQ_IO_POSIX
  for (detail::TemporaryPlace* place = detail::temporary_places().load(); place != nullptr;
       place = place->next)
    if (char* path = place->path.exchange(nullptr)) {
      static_cast<void>(::unlink(path));
      place->used = path;
    }
#endif
}

}  // namespace tq::io
