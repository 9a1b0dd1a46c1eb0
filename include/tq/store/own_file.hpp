// SPDX-License-Identifier: MIT
#pragma once
// The rule for outputs that exist: tq replaces them with `overwrite`, or if tq wrote them.

#include <tq/containers/safetensors.hpp>
#include <tq/error.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/store/description.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/xattr.h>
#endif

namespace tq::store {

namespace detail {

inline constexpr const char* mark_name = "user.tq";

// The mark that tq gives a file: its size and time, which another program changes by writing.
inline std::string expected_mark(const std::filesystem::path& file) {
  std::error_code no_size, no_time;
  const std::uintmax_t size = std::filesystem::file_size(file, no_size);
  const auto time = std::filesystem::last_write_time(file, no_time).time_since_epoch().count();
  return no_size || no_time ? "" : std::to_string(size) + " " + std::to_string(time);
}

inline std::string mark_of([[maybe_unused]] const std::filesystem::path& file) {
  char text[64] = {};
#if defined(__linux__)
  const auto size = ::getxattr(file.c_str(), mark_name, text, sizeof text);
#elif defined(__APPLE__)
  const auto size = ::getxattr(file.c_str(), mark_name, text, sizeof text, 0, 0);
#else
  const int size = 0;
#endif
  return size <= 0 ? "" : std::string(text, static_cast<std::size_t>(size));
}

// True for a .safetensors file with the metadata of quantized tensors.
inline bool is_quantized_file(const std::filesystem::path& file) {
  if (!file.string().ends_with(".safetensors")) return false;
  try {
    const auto reader = io::SafetensorsReader::open(file);
    const auto found = reader.metadata().find(metadata_key);
    return found != reader.metadata().end() && found->second.starts_with('{');
  } catch (const error&) {
    return false;
  }
}

}  // namespace detail

/// Marks a file that was just written as a file of tq, by an extended attribute with its size and
/// time. Where the file system has no extended attributes, nothing happens.
inline void mark_as_own(const std::filesystem::path& file) noexcept;

/// True for a regular file that tq wrote: a file that has the mark and has not changed since, or
/// that has the metadata of quantized tensors. False for a symbolic link.
[[nodiscard]] inline bool is_own(const std::filesystem::path& file);

/// Throws: `errc::bad_argument` where `out` has something that must not be replaced: unless
/// `overwrite`, a link or a file that tq did not write.
inline void require_free_place(const std::filesystem::path& out, bool overwrite);

/// "expected a free place for the output, got <what>; `overwrite` replaces it".
[[nodiscard]] inline std::string occupied_by(const std::string& what);

/// True for anything, a link that names no file included.
[[nodiscard]] inline bool is_there(const std::filesystem::path& path);

inline void mark_as_own(const std::filesystem::path& file) noexcept {
  try {
    [[maybe_unused]] const std::string mark = detail::expected_mark(file);
#if defined(__linux__)
    static_cast<void>(::setxattr(file.c_str(), detail::mark_name, mark.data(), mark.size(), 0));
#elif defined(__APPLE__)
    static_cast<void>(::setxattr(file.c_str(), detail::mark_name, mark.data(), mark.size(), 0, 0));
#endif
  } catch (...) {  // without memory for the text there is no mark
  }
}

inline bool is_own(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, code))) return false;
  const std::string mark = detail::mark_of(file);
  return (!mark.empty() && mark == detail::expected_mark(file)) || detail::is_quantized_file(file);
}

inline bool is_there(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::exists(std::filesystem::symlink_status(path, code));
}

inline std::string occupied_by(const std::string& what) {
  return "expected a free place for the output, got " + what + "; `overwrite` replaces it";
}

inline void require_free_place(const std::filesystem::path& out, bool overwrite) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::symlink_status(out, code);
  if (overwrite || !std::filesystem::exists(status) || is_own(out)) return;
  if (!std::filesystem::is_symlink(status) && !std::filesystem::is_regular_file(status))
    return;  // never replaced: AtomicFile
  tq::detail::raise_text(errc::bad_argument, {out.string(), ": ",
                                              occupied_by(std::filesystem::is_symlink(status)
                                                              ? "a symbolic link"
                                                              : "a file that tq did not write")});
}

}  // namespace tq::store
