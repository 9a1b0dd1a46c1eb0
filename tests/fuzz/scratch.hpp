// SPDX-License-Identifier: MIT
#pragma once
// A folder for targets whose code opens files by name.

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <system_error>

#include "fuzz.hpp"

namespace fuzz {

/// A fresh folder, removed at the end of the program; in memory where there is such a place.
class Scratch {
 public:
  Scratch() {
    namespace fs = std::filesystem;
    const fs::path memory = "/dev/shm";
    path_ = (fs::is_directory(memory) ? memory : fs::temp_directory_path()) /
            ("tq-fuzz-" + std::to_string(std::random_device{}()));
    fs::create_directories(path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

inline void spill(const std::filesystem::path& path, Bytes bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace fuzz
