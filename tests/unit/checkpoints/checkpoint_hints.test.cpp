// SPDX-License-Identifier: MIT
#include <tq/checkpoints/checkpoint_hints.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

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
  const std::string why = tq::io::read_checkpoint_hints(folder).unreadable;
  CHECK(why.find("config.json: expected a JSON document, got ") != why.npos);
  write("config.json", R"({"hidden_size": 64, "group_size": "many"})");
  expect(0, false);
  write("config.json",
        R"({"quantization_config": {"group_size": 64, "checkpoint_format": "gptq_v2"}})");
  expect(64, true);
  write("quantize_config.json", R"({"bits": 4, "group_size": -1, "checkpoint_format": "gptq"})");
  expect(64, false);
}

TEST_CASE("the groups of compressed-tensors say what they agree on", "[checkpoint_hints]") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(test::output_dir) / "checkpoint_groups";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto hints = [&](const std::string& groups) {
    std::ofstream(folder / "config.json")
        << R"({"quantization_config": {"config_groups": )" << groups << "}}";
    return tq::io::read_checkpoint_hints(folder);
  };
  using Widths = std::set<std::size_t>;
  using Block = std::vector<std::size_t>;
  const auto one = hints(R"({"group_0": {"weights": {"num_bits": 7, "type": "int",
                             "group_size": 32, "strategy": "group"}}})");
  CHECK(one.widths == Widths{7});
  CHECK(one.group_size == 32);
  CHECK(one.block.empty());
  CHECK(one.strategies == std::set<std::string>{"group"});
  const auto two = hints(R"({"a": {"weights": {"num_bits": 4, "group_size": 32}},
                             "b": {"weights": {"num_bits": 8, "group_size": null}},
                             "c": {"weights": null}, "d": 3})");
  CHECK(two.widths == Widths{4, 8});
  CHECK(two.group_size == 0);
  const auto floats = hints(R"({"a": {"weights": {"num_bits": 8, "type": "float",
                                "strategy": "block", "block_structure": [64, 32]}}})");
  CHECK(floats.widths.empty());
  CHECK(floats.block == Block{64, 32});
  CHECK(floats.strategies == std::set<std::string>{"block"});
  const auto mixed = hints(R"({
      "a": {"weights": {"strategy": "group", "group_size": 96}},
      "b": {"weights": {"strategy": "channel", "group_size": null}},
      "c": {"weights": {"strategy": "block", "block_structure": [32, 32]}}})");
  CHECK(mixed.strategies == std::set<std::string>{"block", "channel", "group"});
  CHECK(mixed.group_size == 96);  // only groups have one
  CHECK(mixed.block == Block{32, 32});
  for (const char* without : {"null", "7", R"({"a": 1})"})
    CHECK(hints(R"({"a": {"weights": {"strategy": "group"}}, "b": {"weights": {"strategy": )" +
                std::string(without) + "}}}")
              .strategies.empty());
  CHECK(hints("[]").widths.empty());
  std::ofstream(folder / "config.json")
      << R"({"quantization_config": {"weight_block_size": [64, 64]}})";
  CHECK(tq::io::read_checkpoint_hints(folder).block == Block{64, 64});
}
