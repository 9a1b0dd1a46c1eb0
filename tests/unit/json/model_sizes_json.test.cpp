// SPDX-License-Identifier: MIT
#include <tq/json/model_sizes_json.hpp>

#include "support/catch.hpp"
#include "support/directories.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

using namespace tq;
using Sizes = std::set<std::size_t>;

TEST_CASE("sizes of a model come from its configuration and those inside it") {
  const ModelSizes sizes = io::model_sizes_from_json(io::Json::parse(R"({
    "model_type": "qwen3_vl_moe", "num_labels": 3, "id2label": {"0": "a", "1": "b"},
    "text_config": {"vocab_size": 151936, "hidden_size": 2048, "num_experts": 128,
                    "n_routed_experts": null, "num_local_experts": "8"},
    "vision_config": {"hidden_size": 1152, "depths": [3, 3]},
    "quantization_config": {"hidden_size": 7}})"));
  CHECK(sizes.vocabularies == Sizes{151936});
  CHECK(sizes.experts == Sizes{128});
  CHECK(sizes.widths == Sizes{1152, 2048});
  CHECK(sizes.labels == Sizes{2, 3});
  CHECK_FALSE(sizes.stacks_have_inputs_first);
  for (const char* text :
       {R"({"model_type": "gpt_oss"})", R"({"text_config": {"model_type": "llama4_text"}})"})
    CHECK(io::model_sizes_from_json(io::Json::parse(text)).stacks_have_inputs_first);
  for (const char* text :
       {"[]", "3", "null", R"({"vocab_size": [], "hidden_size": -4, "num_labels": 0})"})
    CHECK(io::model_sizes_from_json(io::Json::parse(text)) == ModelSizes{});
}

TEST_CASE("a folder without a configuration, or with one that is no JSON, says nothing") {
  const auto folder = std::filesystem::path(test::output_dir) / "model_sizes";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  CHECK(io::read_model_sizes(folder) == ModelSizes{});
  std::ofstream(folder / "config.json") << "{\"vocab_size\": ";
  CHECK(io::read_model_sizes(folder) == ModelSizes{});
  std::ofstream(folder / "config.json") << "{\"vocab_size\": 100}";
  CHECK(io::read_model_sizes(folder).vocabularies == Sizes{100});
}
