// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/data_files.hpp.

#include <tq/error.hpp>
#include <tq/files/hidden_file.hpp>
#include <tq/store/data_files.hpp>
#include <tq/store/missing_file.hpp>

#include <system_error>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tq::store {

namespace detail {

TQ_API bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits at the front of a text, without zeros that mean nothing; they are taken off the text.
TQ_API std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

TQ_API bool comes_before(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a.front() != b.front())
        return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

TQ_API std::vector<std::filesystem::path> data_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::size_t hidden = 0;
  std::error_code code;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    const bool is_data =
        name.ends_with(".npy") || name.ends_with(".npz") || name.ends_with(".safetensors");
    std::error_code ignored;
    if (!is_data || !at->is_regular_file(ignored)) continue;
    if (io::is_hidden(name)) ++hidden;
    else files.push_back(at->path());
  }
  if (code) tq::detail::raise_text(errc::io_failure, {folder.string(), ": ", code.message()});
  if (files.empty())
    tq::detail::raise_expected(errc::no_data, folder.string(),
                               {".npy, .npz or .safetensors files in the folder"},
                               {"none", io::hidden_text(hidden)});
  std::sort(files.begin(), files.end(),
            [](const std::filesystem::path& a, const std::filesystem::path& b) {
              return comes_before(a.filename().string(), b.filename().string());
            });
  return files;
}

}  // namespace detail

TQ_API std::vector<std::filesystem::path> data_files(const std::vector<std::string>& data) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : data) {
    require_there(name);
    std::error_code code;
    if (!std::filesystem::is_directory(name, code)) {
      files.emplace_back(name);
      continue;
    }
    for (std::filesystem::path& file : detail::data_files_in(name))
      files.push_back(std::move(file));
  }
  return files;
}

TQ_API std::string batch_of(const std::filesystem::path& file, const std::string& tensor) {
  if (file.extension() != ".npy") return tensor;
  const std::string stem = file.stem().string();
  std::size_t end = stem.size();
  while (end > 0 && detail::is_digit(stem[end - 1])) --end;
  const bool has_number = end < stem.size() && end > 1 &&
                          std::string_view("_.-").find(stem[end - 1]) != std::string_view::npos;
  return has_number ? stem.substr(0, end - 1) : stem;
}

}  // namespace tq::store
