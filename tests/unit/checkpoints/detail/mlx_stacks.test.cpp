// SPDX-License-Identifier: MIT
// Names of the stacks of experts in folders of MLX.
#include <tq/checkpoints/detail/mlx_stacks.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using namespace tq::io;

TEST_CASE("experts are in the stacks that classes of mlx-lm have", "[checkpoints][mlx]") {
  CHECK(detail::mlx_stack("model.layers.0.mlp.experts.3.up_proj", "qwen3_moe") ==
        "model.layers.0.mlp.switch_mlp.up_proj");
  CHECK(detail::mlx_stack("model.layers.0.block_sparse_moe.experts.11.w2", "mixtral") ==
        "model.layers.0.block_sparse_moe.switch_mlp.down_proj");
  CHECK(detail::mlx_stack("model.layers.0.feed_forward.experts.0.gate_proj", "llama4") ==
        "model.layers.0.feed_forward.experts.gate_proj");
  CHECK(detail::mlx_stack("model.layers.0.mlp.shared_expert.up_proj", "qwen2_moe").empty());
  // Its class adds 1 to norms, but only where experts are one by one.
  CHECK(detail::mlx_stack("model.layers.0.mlp.experts.3.up_proj", "qwen3_next").empty());
  CHECK(detail::mlx_module("model.layers.0.self_attn.q_proj", "qwen3_moe") ==
        "model.layers.0.self_attn.q_proj");
}

TEST_CASE("stacks lead back to the names of experts", "[checkpoints][mlx]") {
  for (const detail::MlxStacks& type : detail::mlx_stacks)
    for (const std::string name : {"gate_proj", "up_proj", "down_proj"}) {
      const std::string expert = "model.layers.7.mlp.experts.12." + name;
      CHECK(detail::mlx_expert(detail::mlx_stack(expert, type.model_type), 12) == expert);
    }
  for (const std::string name : {"w1", "w2", "w3"}) {
    const std::string expert = "model.layers.7.block_sparse_moe.experts.0." + name;
    CHECK(detail::mlx_expert(detail::mlx_stack(expert, "phimoe"), 0) == expert);
  }
  CHECK_FALSE(detail::mlx_expert("model.layers.0.mlp.up_proj", 0));
  CHECK_FALSE(detail::mlx_expert("model.layers.0.mlp.experts.3.up_proj", 0));
}

TEST_CASE("experts of types without stacks are refused by name", "[checkpoints][mlx]") {
  WrittenModel model{{"a.q_proj", "a.experts.1.up_proj"}, {}, "qwen3_next"};
  test::raises(tq::errc::unsupported, {"qwen3_next", "a.experts.1.up_proj"},
               [&] { detail::require_mlx_stacks(model); });
  model.model_type = "qwen3_moe";
  detail::require_mlx_stacks(model);
  model = {{"a.q_proj"}, {}, "qwen3_next"};
  detail::require_mlx_stacks(model);
}
