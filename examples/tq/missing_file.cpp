// SPDX-License-Identifier: MIT
#include "missing_file.hpp"

#include <tq/error.hpp>
#include <tq/scheme/closest_name.hpp>

#include <cstddef>
#include <system_error>
#include <utility>
#include <vector>

namespace tool {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_names = 10000;

// What a folder holds, without what is hidden.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, code), end;
       !code && at != end && names.size() < most_names; at.increment(code))
    if (std::string name = at->path().filename().string(); !name.starts_with('.'))
      names.push_back(std::move(name));
  return names;
}

}  // namespace

std::string missing_file_hint(const fs::path& path) {
  std::error_code code;
  fs::path folder;
  auto part = path.begin();
  for (; part != path.end(); ++part) {
    if (!part->empty() && !fs::exists(folder / *part, code)) break;
    folder /= *part;
  }
  if (part == path.end()) return "";
  const fs::path missing = *part;
  const bool is_last = ++part == path.end() || part->empty();  // empty behind a slash at the end
  std::string hint;
  if (!is_last) hint = " (there is no folder \"" + (folder / missing).string() + "\")";
  const std::string closest = tq::closest_name(missing.string(), names_in(folder));
  if (!closest.empty()) hint += "; did you mean \"" + (folder / closest).string() + "\"?";
  return hint;
}

void require_there(const fs::path& path) {
  std::error_code code;
  if (fs::status(path, code).type() != fs::file_type::not_found) return;
  throw tq::error(tq::errc::io_failure,
                  path.string() + ": " +
                      std::make_error_code(std::errc::no_such_file_or_directory).message() +
                      missing_file_hint(path));
}

}  // namespace tool
