// SPDX-License-Identifier: MIT
#pragma once
// Common parts of the tests of tq::io: temporary folders, whole files, and the error of a call.

#include <tq/error.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/directories.hpp"

namespace io_test {

namespace fs = std::filesystem;

inline const fs::path golden = test::golden_dir;

/// A fresh folder that is removed with its content.
class TempDir {
 public:
  TempDir() {
    static std::atomic<int> count = 0;
    path_ = fs::temp_directory_path() /
            ("tq-io-" + std::to_string(std::random_device{}()) + "-" + std::to_string(count++));
    fs::create_directories(path_);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  [[nodiscard]] fs::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

[[nodiscard]] inline std::vector<std::byte> to_bytes(const std::string& text) {
  const auto view = std::as_bytes(std::span<const char>(text));
  return {view.begin(), view.end()};
}

[[nodiscard]] inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void spill(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

[[nodiscard]] inline std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes)
    for (const int shift : {4, 0})
      out += "0123456789abcdef"[(std::to_integer<unsigned>(b) >> shift) & 15u];
  return out;
}

struct Outcome {
  tq::errc code = tq::errc::ok;
  std::string text;
};

/// Runs a call; anything thrown that is not a tq::error leaves the test.
template <class F>
[[nodiscard]] Outcome outcome(F&& call) {
  try {
    static_cast<void>(std::forward<F>(call)());
  } catch (const tq::error& e) {
    return {e.code(), e.what()};
  }
  return {};
}

/// Runs a call that returns nothing.
template <class F>
[[nodiscard]] Outcome outcome_of(F&& call) {
  return outcome([&] {
    std::forward<F>(call)();
    return 0;
  });
}

[[nodiscard]] inline nlohmann::json cases(const std::string& group) {
  return nlohmann::json::parse(slurp(golden / group / "cases.json"));
}

}  // namespace io_test
