// SPDX-License-Identifier: MIT
#include <tq/model/guess_node_kind.hpp>
#include <tq/model/model_size_finder.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

using namespace tq;

TEST_CASE("sizes come from other tensors where no configuration gives them") {
  ModelSizeFinder finder;
  const auto add = [&](const char* name, std::vector<std::size_t> shape) {
    finder.add(name, shape);
  };
  add("model.embed_tokens.weight", {512, 64});
  add("model.layers.0.mlp.gate.weight", {8, 64});
  for (const char* expert : {"0", "7", "3"})
    finder.add("model.layers.0.mlp.experts." + std::string(expert) + ".up_proj.weight",
               std::vector<std::size_t>{128, 64});
  const ModelSizes found = finder.sizes();
  CHECK(found.vocabularies == std::set<std::size_t>{512});
  CHECK(found.experts == std::set<std::size_t>{8});
  CHECK(found.widths == std::set<std::size_t>{64});
  const auto kind = [&](const char* name, std::vector<std::size_t> shape) {
    return std::string(to_string(guess_node_kind(name, shape, found)));
  };
  CHECK(kind("speech.final_projection.weight", {512, 64}) == "head");
  CHECK(kind("model.layers.0.mlp.wide.weight", {512, 64}) == "linear");
  CHECK(kind("model.layers.0.mlp.gate.weight", {8, 64}) == "router");
  CHECK(kind("model.layers.0.mlp.gate.weight", {32, 64}) == "linear");
  CHECK(finder.sizes({.vocabularies = {100}}).vocabularies == std::set<std::size_t>{100});
  // A table with fewer rows than columns is none of words.
  ModelSizeFinder types;
  types.add("token_type_embeddings.weight", std::vector<std::size_t>{2, 64});
  CHECK(types.sizes() == ModelSizes{});
}
