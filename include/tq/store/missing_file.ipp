// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/missing_file.hpp.

#include <tq/error.hpp>
#include <tq/files/hidden_file.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/missing_file.hpp>

#include <system_error>

#include <cstddef>
#include <utility>

namespace tq::store {

namespace detail {

inline constexpr std::size_t most_listed_names = 10000;

TQ_API std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, code), end;
       !code && at != end && names.size() < most_listed_names; at.increment(code))
    if (std::string name = at->path().filename().string(); !io::is_hidden(name))
      names.push_back(std::move(name));
  return names;
}

}  // namespace detail

TQ_API std::string missing_file_hint(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::path folder;
  auto part = path.begin();
  for (; part != path.end(); ++part) {
    if (!part->empty() && !std::filesystem::exists(folder / *part, code)) break;
    folder /= *part;
  }
  if (part == path.end()) return "";
  const std::filesystem::path missing = *part;
  const bool is_last = ++part == path.end() || part->empty();  // empty behind a slash at the end
  std::string hint;
  if (!is_last) hint = " (there is no folder \"" + (folder / missing).string() + "\")";
  const std::string closest = closest_name(missing.string(), detail::names_in(folder));
  if (!closest.empty()) hint += "; did you mean \"" + (folder / closest).string() + "\"?";
  return hint;
}

TQ_API void require_there(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::status(path, code).type() != std::filesystem::file_type::not_found) return;
  tq::detail::raise_text(
      errc::io_failure,
      {path.string(), ": ", std::make_error_code(std::errc::no_such_file_or_directory).message(),
       missing_file_hint(path)});
}

}  // namespace tq::store
