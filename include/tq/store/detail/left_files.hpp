// SPDX-License-Identifier: MIT
#pragma once
// Files beside a model in its folder, such as config.json, which are not copied to the output.

#include <tq/error.hpp>
#include <tq/files/hidden_file.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/same_file.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace tq::store::detail {

// Files of the folder of a model that are not read, and that the folder of the output has not:
// config.json, tokenizer.json, ...; folders end in '/'. By name, without hidden ones. Only of a
// model that was given as a folder or as an index: a single file may lie among anything.
[[nodiscard]] inline std::vector<std::string> files_left_behind(const std::string& in,
                                                                const ModelContents& model,
                                                                const std::string& out);

inline std::filesystem::path or_here(const std::filesystem::path& folder) {
  return folder.empty() ? std::filesystem::path(".") : folder;
}

// The folder that a name of an output is, or is in.
inline std::filesystem::path folder_of(const std::string& out) {
  std::error_code code;
  return std::filesystem::is_directory(out, code)
             ? std::filesystem::path(out)
             : or_here(std::filesystem::path(out).parent_path());
}

inline std::vector<std::string> files_left_behind(const std::string& in, const ModelContents& model,
                                                  const std::string& out) {
  std::error_code code;
  const bool is_folder = std::filesystem::is_directory(in, code);
  if (!is_folder && !in.ends_with(".index.json")) return {};
  const std::filesystem::path from =
      is_folder ? std::filesystem::path(in) : or_here(std::filesystem::path(in).parent_path());
  const std::filesystem::path to = folder_of(out);
  if (is_same_file(from, to)) return {};
  std::set<std::filesystem::path>
      read;  // names in the folder: of a shard in one below, that folder
  for (const std::filesystem::path& file : model.files())
    if (const std::filesystem::path inside = file.lexically_relative(from); !inside.empty())
      read.insert(*inside.begin());
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(from, code), end; !code && at != end;
       at.increment(code)) {
    const std::filesystem::path name = at->path().filename();
    std::error_code ignored;
    if (io::is_hidden(name.string()) || read.contains(name) ||
        std::filesystem::exists(to / name, ignored))
      continue;
    if (is_same_file(at->path(), to)) continue;
    names.push_back(name.string() + (at->is_directory(ignored) ? "/" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tq::store::detail
