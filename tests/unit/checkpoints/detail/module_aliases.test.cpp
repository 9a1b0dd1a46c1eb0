// SPDX-License-Identifier: MIT
// Names of modules that differ between the files of a model and the classes of engines.
#include <tq/checkpoints/detail/module_aliases.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tq::io;
using Names = std::vector<std::string>;

TEST_CASE("modules have the names of their files and of the classes of models", "[checkpoints]") {
  CHECK(detail::module_aliases("model.layers.0.mlp.up_proj", false) ==
        Names{"model.layers.0.mlp.up_proj"});
  CHECK(detail::module_aliases("model.layers.0.mlp.up_proj", true) ==
        Names{"model.layers.0.mlp.up_proj", "model.language_model.layers.0.mlp.up_proj"});
  CHECK(detail::module_aliases("language_model.model.layers.3.mlp.up_proj", true) ==
        Names{"language_model.model.layers.3.mlp.up_proj",
              "model.language_model.layers.3.mlp.up_proj"});
  CHECK(detail::module_aliases("model.language_model.layers.3.mlp.up_proj", true) ==
        Names{"model.language_model.layers.3.mlp.up_proj"});
  CHECK(detail::module_aliases("language_model.lm_head", true) ==
        Names{"language_model.lm_head", "lm_head"});
  CHECK(detail::module_aliases("model.layers.0.block_sparse_moe.gate", false) ==
        Names{"model.layers.0.block_sparse_moe.gate", "model.layers.0.mlp.router",
              "model.layers.0.mlp.gate"});
  const std::string mixture = "model.layers.0.block_sparse_moe.experts.2.",
                    mlp = "model.layers.0.mlp.experts.2.";
  CHECK(detail::module_aliases(mixture + "w3", false) ==
        Names{mixture + "w3", mlp + "w3", mixture + "up_proj", mlp + "up_proj"});
}

TEST_CASE("a tower has one pattern for all of its modules", "[checkpoints]") {
  CHECK(detail::tower_pattern("vision_tower.vision_model.encoder.layers.0.mlp.fc1") ==
        "re:(.*\\.)?vision_tower\\..*");
  CHECK(detail::tower_pattern("model.visual.blocks.0.attn.qkv") == "re:(.*\\.)?visual\\..*");
  CHECK(detail::tower_pattern("multi_modal_projector.linear_1") ==
        "re:(.*\\.)?multi_modal_projector\\..*");
  CHECK(detail::tower_pattern("model.layers.0.mlp.gate").empty());
  CHECK(detail::tower_pattern("lm_head").empty());
}

TEST_CASE("modules that stay floats are listed under all names, each once", "[checkpoints]") {
  WrittenModel model;
  model.left = {"lm_head", "model.layers.0.mlp.gate"};
  CHECK(detail::left_names(model) == model.left);
  model.left = {"language_model.lm_head", "lm_head", "visual.a", "visual.b",
                "model.layers.0.mlp.gate"};
  CHECK(detail::left_names(model) == Names{"language_model.lm_head", "lm_head", "visual.a",
                                           "visual.b", "model.layers.0.mlp.gate",
                                           "model.language_model.layers.0.mlp.gate",
                                           "re:(.*\\.)?visual\\..*"});
}
