// SPDX-License-Identifier: MIT
#include <tq/io/checkpoint_hints.hpp>

#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/directories.hpp"

TEST_CASE("hints are what a configuration beside the checkpoint says", "[checkpoint_hints]") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(test::output_dir) / "checkpoint_hints";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto expect = [&](std::size_t group_size, bool is_gptq_v2) {
    const tq::io::CheckpointHints hints = tq::io::read_checkpoint_hints(folder);
    CHECK(hints.group_size == group_size);
    CHECK(hints.is_gptq_v2 == is_gptq_v2);
  };
  expect(0, false);
  const auto write = [&](const char* file, const char* text) {
    std::ofstream(folder / file) << text;
  };
  write("config.json", "{no JSON");
  expect(0, false);
  write("config.json", R"({"hidden_size": 64, "group_size": "many"})");
  expect(0, false);
  write("config.json",
        R"({"quantization_config": {"group_size": 64, "checkpoint_format": "gptq_v2"}})");
  expect(64, true);
  write("quantize_config.json", R"({"bits": 4, "group_size": -1, "checkpoint_format": "gptq"})");
  expect(64, false);
}
