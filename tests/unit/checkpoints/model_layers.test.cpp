// SPDX-License-Identifier: MIT
// The linear layers of language models, by the names and shapes that their checkpoints have.
#include <tq/checkpoints/model_layers.hpp>

#include <tq/json/json_text.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tq;

namespace {

struct Case {
  const char* name;
  const char* config;
  std::vector<io::TensorInfo> tensors;
  std::vector<std::string> layers;          // modules that are quantized
  std::map<std::string, std::string> left;  // modules and reasons
  std::vector<std::string> dropped{};
};

io::TensorInfo tensor(std::string name, std::vector<std::size_t> shape) {
  return {std::move(name), io::DType::bf16, std::move(shape)};
}

const std::string block = "model.layers.0.";

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"Llama",
       R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "vocab_size": 512})",
       {tensor("model.embed_tokens.weight", {512, 64}), tensor("lm_head.weight", {512, 64}),
        tensor(block + "self_attn.q_proj.weight", {64, 64}),
        tensor(block + "self_attn.q_proj.bias", {64}),
        tensor(block + "self_attn.k_proj.weight", {32, 64}),
        tensor(block + "self_attn.v_proj.weight", {32, 64}),
        tensor(block + "self_attn.o_proj.weight", {64, 64}),
        tensor(block + "self_attn.rotary_emb.inv_freq", {16}),
        tensor(block + "mlp.gate_proj.weight", {128, 64}),
        tensor(block + "mlp.up_proj.weight", {128, 64}),
        tensor(block + "mlp.down_proj.weight", {64, 128}),
        tensor(block + "input_layernorm.weight", {64}), tensor("model.norm.weight", {64})},
       {block + "self_attn.q_proj", block + "self_attn.k_proj", block + "self_attn.v_proj",
        block + "self_attn.o_proj", block + "mlp.gate_proj", block + "mlp.up_proj",
        block + "mlp.down_proj"},
       {{"lm_head", "head"}}},
      {"a tied head that the file has",
       R"({"model_type": "llama", "tie_word_embeddings": true, "vocab_size": 512})",
       {tensor("model.embed_tokens.weight", {512, 64}), tensor("lm_head.weight", {512, 64}),
        tensor(block + "mlp.down_proj.weight", {64, 128})},
       {block + "mlp.down_proj"},
       {{"lm_head", "head, tied to the embedding"}},
       {"lm_head.weight"}},
      {"a tied head that the file has not",
       R"({"model_type": "llama", "tie_word_embeddings": true, "vocab_size": 512})",
       {tensor("model.embed_tokens.weight", {512, 64}),
        tensor(block + "mlp.down_proj.weight", {64, 128})},
       {block + "mlp.down_proj"},
       {{"lm_head", "head, tied to the embedding"}}},
      {"Qwen3-MoE",
       R"({"model_type": "qwen3_moe", "num_hidden_layers": 1, "hidden_size": 64,
           "num_experts": 2, "vocab_size": 512})",
       {tensor(block + "mlp.gate.weight", {2, 64}),
        tensor(block + "mlp.experts.0.gate_proj.weight", {32, 64}),
        tensor(block + "mlp.experts.1.down_proj.weight", {64, 32}),
        tensor(block + "mlp.shared_expert.up_proj.weight", {32, 64}),
        tensor(block + "mlp.shared_expert_gate.weight", {1, 64}),
        tensor("lm_head.weight", {512, 64})},
       {block + "mlp.experts.0.gate_proj", block + "mlp.experts.1.down_proj",
        block + "mlp.shared_expert.up_proj"},
       {{block + "mlp.gate", "router"},
        {block + "mlp.shared_expert_gate", "router"},
        {"lm_head", "head"}}},
      {"Mixtral",
       R"({"model_type": "mixtral", "num_hidden_layers": 1, "hidden_size": 64,
           "num_local_experts": 2})",
       {tensor(block + "block_sparse_moe.gate.weight", {2, 64}),
        tensor(block + "block_sparse_moe.experts.1.w1.weight", {32, 64}),
        tensor(block + "block_sparse_moe.experts.1.w2.weight", {64, 32}),
        tensor(block + "block_sparse_moe.experts.1.w3.weight", {32, 64})},
       {block + "block_sparse_moe.experts.1.w1", block + "block_sparse_moe.experts.1.w2",
        block + "block_sparse_moe.experts.1.w3"},
       {{block + "block_sparse_moe.gate", "router"}, {"lm_head", "head"}}},
      {"DeepSeek with latent attention and a block that predicts",
       R"({"model_type": "deepseek_v3", "num_hidden_layers": 1, "hidden_size": 64,
           "n_routed_experts": 4})",
       {tensor(block + "self_attn.q_a_proj.weight", {32, 64}),
        tensor(block + "self_attn.kv_a_proj_with_mqa.weight", {48, 64}),
        tensor(block + "self_attn.q_b_proj.weight", {64, 32}),
        tensor(block + "self_attn.kv_b_proj.weight", {64, 32}),
        tensor(block + "self_attn.indexer.weights_proj.weight", {8, 64}),
        tensor(block + "mlp.gate.weight", {4, 64}),
        tensor(block + "mlp.gate.e_score_correction_bias", {4}),
        tensor(block + "mlp.shared_experts.up_proj.weight", {32, 64}),
        tensor("model.layers.1.eh_proj.weight", {64, 128}),
        tensor("model.layers.1.self_attn.o_proj.weight", {64, 64})},
       {block + "self_attn.q_a_proj", block + "self_attn.kv_a_proj_with_mqa",
        block + "self_attn.q_b_proj", block + "self_attn.kv_b_proj",
        block + "mlp.shared_experts.up_proj"},
       {{block + "self_attn.indexer.weights_proj", "indexer"},
        {block + "mlp.gate", "router"},
        {"model.layers.1.eh_proj", "prediction of further tokens"},
        {"model.layers.1.self_attn.o_proj", "prediction of further tokens"},
        {"lm_head", "head"}}},
      {"gpt-oss",
       R"({"model_type": "gpt_oss", "num_hidden_layers": 1, "hidden_size": 64,
           "num_local_experts": 1})",
       {tensor(block + "mlp.router.weight", {1, 64}),
        tensor(block + "mlp.experts.gate_up_proj", {1, 64, 128}),
        tensor(block + "mlp.experts.gate_up_proj_bias", {1, 128}),
        tensor(block + "mlp.experts.down_proj", {1, 64, 64}),
        tensor(block + "self_attn.q_proj.weight", {64, 64}),
        tensor(block + "self_attn.sinks", {4})},
       {block + "self_attn.q_proj"},
       {{block + "mlp.router", "router"},
        {block + "mlp.experts.0.gate_proj",
         "experts of gpt-oss, which engines load in MXFP4 alone"},
        {block + "mlp.experts.0.up_proj", "experts of gpt-oss, which engines load in MXFP4 alone"},
        {block + "mlp.experts.0.down_proj",
         "experts of gpt-oss, which engines load in MXFP4 alone"},
        {"lm_head", "head"}}},
      {"fused experts",
       R"({"model_type": "qwen3_vl_moe", "text_config": {"hidden_size": 64, "num_experts": 2}})",
       {tensor("model.language_model.layers.0.mlp.experts.gate_up_proj", {2, 64, 96}),
        tensor("model.language_model.layers.0.mlp.experts.down_proj", {2, 48, 64}),
        tensor("model.language_model.layers.0.linear_attn.in_proj_ba.weight", {8, 64}),
        tensor("model.language_model.layers.0.linear_attn.conv1d.weight", {96, 1, 4}),
        tensor("model.visual.blocks.0.attn.qkv.weight", {96, 32}),
        tensor("model.visual.patch_embed.proj.weight", {32, 3, 2, 14, 14})},
       {"model.language_model.layers.0.mlp.experts.0.gate_proj",
        "model.language_model.layers.0.mlp.experts.0.up_proj",
        "model.language_model.layers.0.mlp.experts.1.gate_proj",
        "model.language_model.layers.0.mlp.experts.1.up_proj",
        "model.language_model.layers.0.mlp.experts.0.down_proj",
        "model.language_model.layers.0.mlp.experts.1.down_proj"},
       {{"model.language_model.layers.0.linear_attn.in_proj_ba", "no linear layer by its name"},
        {"model.visual.blocks.0.attn.qkv", "vision tower"},
        {"lm_head", "head"}}},
      {"stacks of Granite beside their router",
       R"({"model_type": "granitemoehybrid", "num_hidden_layers": 1, "hidden_size": 64,
           "num_local_experts": 1})",
       {tensor(block + "block_sparse_moe.input_linear.weight", {1, 96, 64}),
        tensor(block + "block_sparse_moe.output_linear.weight", {1, 64, 48}),
        tensor(block + "block_sparse_moe.router.layer.weight", {1, 64}),
        tensor(block + "shared_mlp.input_linear.weight", {96, 64})},
       {block + "shared_mlp.input_linear"},
       {{block + "block_sparse_moe.experts.0.gate_proj",
         "fused experts, which engines load in float alone"},
        {block + "block_sparse_moe.experts.0.up_proj",
         "fused experts, which engines load in float alone"},
        {block + "block_sparse_moe.experts.0.down_proj",
         "fused experts, which engines load in float alone"},
        {block + "block_sparse_moe.router.layer", "router"},
        {"lm_head", "head"}}},
      {"experts of DBRX, one below the other",
       R"({"model_type": "dbrx", "n_layers": 1, "d_model": 64})",
       {tensor("transformer.blocks.0.ffn.experts.mlp.w1", {96, 64}),
        tensor("transformer.blocks.0.ffn.experts.mlp.v1", {96, 64}),
        tensor("transformer.blocks.0.ffn.experts.mlp.w2", {96, 64}),
        tensor("transformer.blocks.0.norm_attn_norm.attn.out_proj.weight", {64, 64})},
       {"transformer.blocks.0.norm_attn_norm.attn.out_proj"},
       {{"transformer.blocks.0.ffn.experts.mlp.w1",
         "fused experts, which engines load in float alone"},
        {"transformer.blocks.0.ffn.experts.mlp.v1",
         "fused experts, which engines load in float alone"},
        {"transformer.blocks.0.ffn.experts.mlp.w2",
         "fused experts, which engines load in float alone"},
        {"lm_head", "head"}}},
      {"BERT, whose head has another name",
       R"({"model_type": "bert", "num_hidden_layers": 1, "hidden_size": 64})",
       {tensor("bert.encoder.layer.0.attention.self.query.weight", {64, 64}),
        tensor("bert.encoder.layer.0.output.dense.weight", {64, 64}),
        tensor("cls.predictions.transform.dense.weight", {64, 64}),
        tensor("cls.predictions.decoder.bias", {512})},
       {"bert.encoder.layer.0.attention.self.query", "bert.encoder.layer.0.output.dense"},
       {{"cls.predictions.transform.dense", "outside of decoder blocks"},
        {"lm_head", "head"},
        {"cls.predictions.decoder", "head, tied to the embedding"}}},
      {"GPT-2, whose matrices are transposed",
       R"({"model_type": "gpt2", "n_layer": 1})",
       {tensor("h.0.attn.c_attn.weight", {64, 192})},
       {},
       {{"h.0.attn.c_attn", "[inputs, outputs], as no engine reads it quantized"},
        {"lm_head", "head"}}},
  };
  return all;
}

const io::ModelLayer& layer_of(const io::ModelLayers& found, const std::string& module) {
  const auto at = std::ranges::find(found.layers, module, &io::ModelLayer::module);
  REQUIRE(at != found.layers.end());
  return *at;
}

}  // namespace

TEST_CASE("layers of language models are found by configuration, names and shapes") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const io::ModelLayers found = io::find_model_layers(io::Json::parse(c.config), c.tensors);
    std::vector<std::string> modules;
    for (const io::ModelLayer& layer : found.layers) modules.push_back(layer.module);
    CHECK(modules == c.layers);
    std::map<std::string, std::string> left;
    for (const io::LeftModule& m : found.left) CHECK(left.emplace(m.module, m.reason).second);
    CHECK(left == c.left);
    CHECK(found.dropped == c.dropped);
  }
}

TEST_CASE("layers that engines fuse are of one set, and expert layers of one scale") {
  const auto found_in = [](std::size_t i) {
    return io::find_model_layers(io::Json::parse(cases()[i].config), cases()[i].tensors);
  };
  const auto set = [](const io::ModelLayers& found, const std::string& module) {
    return layer_of(found, block + module).set;
  };
  const io::ModelLayers llama = found_in(0);
  CHECK(set(llama, "self_attn.q_proj") == set(llama, "self_attn.v_proj"));
  CHECK(set(llama, "mlp.gate_proj") == set(llama, "mlp.up_proj"));
  CHECK(set(llama, "mlp.gate_proj") != set(llama, "mlp.down_proj"));
  const io::ModelLayers mixtral = found_in(4);
  const std::string experts = "block_sparse_moe.experts.1.";
  CHECK(set(mixtral, experts + "w1") == set(mixtral, experts + "w2"));
  CHECK(layer_of(mixtral, block + experts + "w1").scale_set ==
        layer_of(mixtral, block + experts + "w3").scale_set);
  CHECK(layer_of(mixtral, block + experts + "w1").scale_set !=
        layer_of(mixtral, block + experts + "w2").scale_set);
  const io::ModelLayers deepseek = found_in(5);
  CHECK(set(deepseek, "self_attn.q_a_proj") == set(deepseek, "self_attn.kv_a_proj_with_mqa"));
}

TEST_CASE("a set stays in float as a whole") {
  const Case& llama = cases()[0];
  io::ModelLayers found = io::find_model_layers(io::Json::parse(llama.config), llama.tensors);
  const std::string k = block + "self_attn.k_proj", with_k = "together with " + k;
  found.leave_sets({{layer_of(found, k).set, {k, "too narrow"}}});
  CHECK(found.layers.size() == 4);
  std::map<std::string, std::string> left;
  for (const io::LeftModule& m : found.left) left.emplace(m.module, m.reason);
  CHECK(left == std::map<std::string, std::string>{{"lm_head", "head"},
                                                   {k, "too narrow"},
                                                   {block + "self_attn.q_proj", with_k},
                                                   {block + "self_attn.v_proj", with_k}});
}

// Element (output, input) of expert e in a stack, as its layer says where it is.
TEST_CASE("layers of fused experts say where their matrices are") {
  constexpr std::size_t hidden = 64, inner = 48;
  for (const bool is_transposed : {false, true}) {
    const std::vector<io::TensorInfo> tensors{
        tensor(block + "mlp.experts.gate_up_proj",
               is_transposed ? std::vector<std::size_t>{2, hidden, 2 * inner}
                             : std::vector<std::size_t>{2, 2 * inner, hidden}),
        tensor(block + "mlp.experts.down_proj", is_transposed
                                                    ? std::vector<std::size_t>{2, inner, hidden}
                                                    : std::vector<std::size_t>{2, hidden, inner})};
    const io::ModelLayers found =
        io::find_model_layers(io::Json::parse(R"({"hidden_size": 64, "num_experts": 2})"), tensors);
    const io::ModelLayer& up = layer_of(found, block + "mlp.experts.1.up_proj");
    CHECK(up.outputs == inner);
    CHECK(up.inputs == hidden);
    const std::size_t place =
        up.place.first + 3 * up.place.output_stride + 5 * up.place.input_stride;
    CHECK(place == (is_transposed ? (hidden + 5) * 2 * inner + inner + 3
                                  : (2 * inner + inner + 3) * hidden + 5));
    const io::ModelLayer& down = layer_of(found, block + "mlp.experts.1.down_proj");
    CHECK(down.outputs == hidden);
    CHECK(down.place.first + 3 * down.place.output_stride + 5 * down.place.input_stride ==
          (is_transposed ? (inner + 5) * hidden + 3 : (hidden + 3) * inner + 5));
  }
}

TEST_CASE("stacks of experts stay whole where the format wants them") {
  const Case& oss = cases()[6];
  const io::ModelLayers found =
      io::find_model_layers(io::Json::parse(oss.config), oss.tensors, true);
  const io::ModelLayer& pair = layer_of(found, block + "mlp.experts.gate_up_proj");
  CHECK(pair.experts == 1);
  CHECK(pair.outputs == 128);
  CHECK(pair.inputs == 64);
  CHECK(pair.place.input_stride == 128);
}

TEST_CASE("a configuration gives the type of the model, its blocks and heads") {
  const io::ServedConfig plain = io::served_config(io::Json::parse(
      R"({"model_type": "llama", "torch_dtype": "float16", "num_hidden_layers": 3})"));
  CHECK(plain.model_type == "llama");
  CHECK(plain.dtype == io::DType::f16);
  CHECK(plain.blocks == 3);
  CHECK(!plain.is_tied);
  const io::ServedConfig nested = io::served_config(io::Json::parse(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "dtype": "bfloat16",
          "num_hidden_layers": 2, "tie_word_embeddings": true}})"));
  CHECK(nested.model_type == "gemma3");
  CHECK(nested.dtype == io::DType::bf16);
  CHECK(nested.blocks == 2);
  CHECK(nested.is_tied);
  CHECK(!io::served_config(io::Json::parse("[]")).dtype);
}

TEST_CASE("a tower of the width of an expert does not turn stacks") {
  constexpr std::size_t hidden = 64, inner = 32;
  for (const bool is_transposed : {false, true}) {
    const std::vector<io::TensorInfo> tensors{
        tensor("model.visual.blocks.0.norm1.weight", {inner}),
        tensor("model.language_model.norm.weight", {hidden}),
        tensor("model.language_model.layers.0.mlp.experts.gate_up_proj", {2, hidden, 2 * inner}),
        tensor("model.language_model.layers.0.mlp.experts.down_proj",
               is_transposed ? std::vector<std::size_t>{2, inner, hidden}
                             : std::vector<std::size_t>{2, hidden, inner})};
    const io::ModelLayers found =
        io::find_model_layers(io::Json::parse(R"({"vision_config": {"hidden_size": 32},
                            "text_config": {"hidden_size": 64, "num_experts": 2}})"),
                              tensors);
    const io::ModelLayer& down =
        layer_of(found, "model.language_model.layers.0.mlp.experts.1.down_proj");
    CHECK(down.outputs == hidden);
    CHECK(down.inputs == inner);
    const io::ModelLayer& up =
        layer_of(found, "model.language_model.layers.0.mlp.experts.1.up_proj");
    CHECK(up.outputs == inner);
    CHECK(up.inputs == hidden);
    CHECK(up.place.output_stride == (is_transposed ? 1 : hidden));
    CHECK(up.place.input_stride == (is_transposed ? 2 * inner : 1));
  }
}
