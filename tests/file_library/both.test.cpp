// SPDX-License-Identifier: MIT
// One program with files that link the library of files and with files that have the bodies in headers.
#include <filesystem>
#include <string>

#include "saved_bytes.hpp"
#include "support/catch.hpp"
#include "support/directories.hpp"

TEST_CASE("files with and without the library of files make one program", "[file_library]") {
  const std::filesystem::path folder(test::output_dir);
  const std::string by_library = bytes_by_library(folder / "file_library.safetensors");
  CHECK(by_library.size() > 16);
  CHECK(by_library == bytes_by_headers(folder / "file_headers.safetensors"));
}
