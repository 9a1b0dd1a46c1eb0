// SPDX-License-Identifier: MIT
// Names of shards that say how many there are.
#include <tq/store/detail/shard_names.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tq::store::detail;

namespace {

std::vector<std::string> counted(const std::vector<std::string>& names) {
  std::vector<OutputShard> shards;
  for (const std::string& name : names) shards.push_back({name, {}});
  count_shards(shards);
  std::vector<std::string> out;
  for (const OutputShard& shard : shards) out.push_back(shard.name);
  return out;
}

}  // namespace

TEST_CASE("shards are counted by those that are there", "[store]") {
  using Names = std::vector<std::string>;
  CHECK(counted({"model-00002-of-00004.safetensors", "model-00004-of-00004.safetensors"}) ==
        Names{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"});
  CHECK(counted({"a/b-00003-of-00003.bin"}) == Names{"a/b-00001-of-00001.bin"});
  CHECK(counted({"-00003-of-00009"}) == Names{"-00001-of-00001"});
  for (const Names& names :
       {Names{}, Names{"model.safetensors"}, Names{"model-1.safetensors", "model-3.safetensors"},
        Names{"model-0002-of-0004.safetensors"}, Names{"model-00002-of-0000x.safetensors"},
        Names{"model-0000x-of-00004.safetensors"}, Names{"0002-of-00004"}, Names{"x-00001-of-"},
        Names{"a-00001-of-00003.safetensors", "b-00003-of-00003.safetensors"},
        Names{"a-00001-of-00003.safetensors", "a-00003-of-00003.bin"},
        Names{"a-00001-of-00003.safetensors", "rest.safetensors"}})
    CHECK(counted(names) == names);
}
