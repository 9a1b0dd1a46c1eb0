// SPDX-License-Identifier: MIT
#include "own_file.hpp"

#include "stored_model.hpp"

#include <tq/containers/safetensors.hpp>
#include <tq/error.hpp>
#include <tq/files/byte_source.hpp>

#include <cstddef>
#include <string>
#include <system_error>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/stat.h>
#include <sys/xattr.h>
#endif

namespace tool {

namespace fs = std::filesystem;

namespace {

constexpr const char* mark_name = "user.tq";

// The mark that tq gives a file: its size and time, which another program changes by writing.
std::string expected_mark(const fs::path& file) {
  std::error_code no_size, no_time;
  const std::uintmax_t size = fs::file_size(file, no_size);
  const auto time = fs::last_write_time(file, no_time).time_since_epoch().count();
  return no_size || no_time ? "" : std::to_string(size) + " " + std::to_string(time);
}

std::string mark_of([[maybe_unused]] const fs::path& file) {
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

// True for a .safetensors file with the metadata that tq quantize writes.
bool is_quantized_file(const fs::path& file) {
  if (!file.string().ends_with(".safetensors")) return false;
  try {
    const auto reader = tq::io::SafetensorsReader::open(file);
    const auto found = reader.metadata().find(metadata_key);
    return found != reader.metadata().end() && found->second.starts_with('{');
  } catch (const tq::error&) {
    return false;
  }
}

}  // namespace

void mark_as_own(const fs::path& file) noexcept {
  try {
    [[maybe_unused]] const std::string mark = expected_mark(file);
#if defined(__linux__)
    static_cast<void>(::setxattr(file.c_str(), mark_name, mark.data(), mark.size(), 0));
#elif defined(__APPLE__)
    static_cast<void>(::setxattr(file.c_str(), mark_name, mark.data(), mark.size(), 0, 0));
#endif
  } catch (...) {  // without memory for the text there is no mark
  }
}

bool is_own(const fs::path& file) {
  std::error_code code;
  if (!fs::is_regular_file(fs::symlink_status(file, code))) return false;
  const std::string mark = mark_of(file);
  return (!mark.empty() && mark == expected_mark(file)) || is_quantized_file(file);
}

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

std::string occupied_by(const std::string& what) {
  return "expected a free place for the output, got " + what + "; --overwrite replaces it";
}

void require_free_place(const fs::path& out, bool overwrite) {
  std::error_code code;
  const fs::file_status status = fs::symlink_status(out, code);
  if (overwrite || !fs::exists(status) || is_own(out)) return;
  if (!fs::is_symlink(status) && !fs::is_regular_file(status))
    return;  // never replaced: AtomicFile
  throw tq::error(
      tq::errc::bad_argument,
      out.string() + ": " +
          occupied_by(fs::is_symlink(status) ? "a symbolic link" : "a file that tq did not write"));
}

}  // namespace tool
