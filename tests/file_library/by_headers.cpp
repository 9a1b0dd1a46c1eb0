// SPDX-License-Identifier: MIT
#include <tq/files/text_file.hpp>
#include <tq/store/save.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "saved_bytes.hpp"

#ifdef TQ_FILE_LIBRARY
#error "this file is for the other way"
#endif

std::string bytes_by_headers(const std::filesystem::path& file) {
  const std::vector<float> values{0.5f, -1.0f, 0.25f, 2.0f};
  tq::save(file, {{"values", values}});
  return tq::io::read_text(file);
}
