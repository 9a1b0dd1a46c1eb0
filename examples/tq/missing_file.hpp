// SPDX-License-Identifier: MIT
#pragma once
// What may have been meant by the name of a file or folder that is not there.

#include <tq/scheme/closest_name.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tq::io {

/// For the end of a message about a path that does not exist: which of its folders is missing,
/// where it is not the last name, and `; did you mean "llama-3-8b"?` where a name beside it is
/// close. Empty where there is nothing to say. Hidden names are never proposed.
[[nodiscard]] inline std::string missing_file_hint(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  constexpr std::size_t most_names = 10000;
  std::error_code code;
  fs::path folder, missing;
  for (const fs::path& part : path) {
    if (!part.empty() && !fs::exists(folder / part, code)) {
      missing = part;
      break;
    }
    folder /= part;
  }
  if (missing.empty()) return "";
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, code), end;
       !code && at != end && names.size() < most_names; at.increment(code))
    if (std::string name = at->path().filename().string(); !name.starts_with('.'))
      names.push_back(std::move(name));
  const bool is_last = (folder / missing).lexically_normal() == path.lexically_normal() ||
                       folder / missing / "" == path;
  std::string hint;
  if (!is_last) hint = " (there is no folder \"" + (folder / missing).string() + "\")";
  const std::string closest = tq::closest_name(missing.string(), names);
  if (!closest.empty()) hint += "; did you mean \"" + (folder / closest).string() + "\"?";
  return hint;
}

}  // namespace tq::io
