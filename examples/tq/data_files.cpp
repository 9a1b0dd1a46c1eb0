// SPDX-License-Identifier: MIT
#include "data_files.hpp"

#include <tq/files/hidden_file.hpp>
#include <tq/store/missing_file.hpp>

#include <algorithm>
#include <string_view>
#include <system_error>

namespace tool {

namespace {

namespace fs = std::filesystem;
using tq::errc;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits at the front of a text, without zeros that mean nothing; they are taken off the text.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

bool comes_before(std::string_view a, std::string_view b) {
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

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::size_t hidden = 0;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    const bool is_data =
        name.ends_with(".npy") || name.ends_with(".npz") || name.ends_with(".safetensors");
    std::error_code ignored;
    if (!is_data || !at->is_regular_file(ignored)) continue;
    if (tq::io::is_hidden(name)) ++hidden;
    else files.push_back(at->path());
  }
  if (code) throw tq::error(errc::io_failure, folder.string() + ": " + code.message());
  if (files.empty())
    throw tq::error(errc::no_data,
                    folder.string() +
                        ": expected .npy, .npz or .safetensors files in the folder, got none" +
                        tq::io::hidden_text(hidden));
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return comes_before(a.filename().string(), b.filename().string());
  });
  return files;
}

}  // namespace

std::vector<fs::path> data_files(const std::vector<std::string>& data) {
  std::vector<fs::path> files;
  for (const std::string& name : data) {
    tq::store::require_there(name);
    std::error_code code;
    if (!fs::is_directory(name, code)) {
      files.emplace_back(name);
      continue;
    }
    for (fs::path& file : files_in(name)) files.push_back(std::move(file));
  }
  return files;
}

std::string batch_of(const fs::path& file, const StoredTensor& tensor) {
  if (file.extension() != ".npy") return tensor.name;
  const std::string stem = file.stem().string();
  std::size_t end = stem.size();
  while (end > 0 && is_digit(stem[end - 1])) --end;
  const bool has_number = end < stem.size() && end > 1 &&
                          std::string_view("_.-").find(stem[end - 1]) != std::string_view::npos;
  return has_number ? stem.substr(0, end - 1) : stem;
}

}  // namespace tool
