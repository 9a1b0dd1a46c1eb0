// SPDX-License-Identifier: MIT
#include "left_files.hpp"

#include <tq/files/hidden_file.hpp>

#include "output.hpp"
#include "output_files.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <set>
#include <system_error>

namespace tool {

namespace fs = std::filesystem;

namespace {

fs::path or_here(const fs::path& folder) { return folder.empty() ? fs::path(".") : folder; }

// The folder that a name of an output is, or is in.
fs::path folder_of(const std::string& out) {
  std::error_code code;
  return fs::is_directory(out, code) ? fs::path(out) : or_here(fs::path(out).parent_path());
}

}  // namespace

std::vector<std::string> files_left_behind(const std::string& in, const StoredModel& model,
                                           const std::string& out) {
  std::error_code code;
  const bool is_folder = fs::is_directory(in, code);
  if (!is_folder && !in.ends_with(".index.json")) return {};
  const fs::path from = is_folder ? fs::path(in) : or_here(fs::path(in).parent_path());
  const fs::path to = folder_of(out);
  if (is_same_file(from, to)) return {};
  std::set<fs::path> read;  // names in the folder: of a shard in one below, that folder
  for (const fs::path& file : model.files())
    if (const fs::path inside = file.lexically_relative(from); !inside.empty())
      read.insert(*inside.begin());
  std::vector<std::string> names;
  for (fs::directory_iterator at(from, code), end; !code && at != end; at.increment(code)) {
    const fs::path name = at->path().filename();
    std::error_code ignored;
    if (tq::io::is_hidden(name.string()) || read.contains(name) || fs::exists(to / name, ignored))
      continue;
    if (is_same_file(at->path(), to)) continue;
    names.push_back(name.string() + (at->is_directory(ignored) ? "/" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void print_left_behind(const std::vector<std::string>& names, const std::string& in) {
  constexpr std::size_t most = 6;
  if (names.empty()) return;
  std::cout << "Not copied from " << printable(in) << ": ";
  const std::size_t shown = names.size() <= most + 1 ? names.size() : most;
  for (std::size_t i = 0; i < shown; ++i) std::cout << (i == 0 ? "" : ", ") << printable(names[i]);
  if (shown < names.size()) std::cout << " and " << names.size() - shown << " more";
  std::cout << ".\n";
}

}  // namespace tool
