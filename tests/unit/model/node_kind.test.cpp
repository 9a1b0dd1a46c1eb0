// SPDX-License-Identifier: MIT
#include <tq/model/node_kind.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <string>

using namespace tq;

TEST_CASE("kinds have names, and names kinds") {
  for (const std::string& name : node_kinds()) CHECK(to_string(node_kind(name)) == name);
  CHECK(node_kinds().size() == 7);
  CHECK_FALSE(find_node_kind("Linear"));
  test::raises(errc::unknown_name, {"linear, conv", "did you mean \"linear\""},
               [] { (void)node_kind("linaer"); });
}

TEST_CASE(
    "what is said of linear nodes goes for projections of attentions, not the other way round") {
  CHECK(is_of_kind(NodeKind::attention, NodeKind::linear));
  CHECK_FALSE(is_of_kind(NodeKind::linear, NodeKind::attention));
  CHECK(is_of_kind(NodeKind::conv, NodeKind::conv));
  CHECK_FALSE(is_of_kind(NodeKind::conv, NodeKind::linear));
}

TEST_CASE("names of published checkpoints are told apart") {
  struct Case {
    const char* name;
    std::size_t rank;
    NodeKind kind;
  };
  using enum NodeKind;
  for (const Case& c : {
           // Llama, Mistral, Qwen, Phi
           Case{"model.layers.0.self_attn.q_proj.weight", 2, attention},
           Case{"model.layers.0.self_attn.o_proj.weight", 2, attention},
           Case{"model.layers.0.self_attn.q_proj.bias", 1, other},
           Case{"model.layers.3.self_attn.q_norm.weight", 1, norm},
           Case{"model.layers.0.mlp.gate_proj.weight", 2, linear},
           Case{"model.layers.0.mlp.down_proj.weight", 2, linear},
           Case{"model.layers.0.input_layernorm.weight", 1, norm},
           Case{"model.norm.weight", 1, norm},
           Case{"model.embed_tokens.weight", 2, embedding},
           Case{"lm_head.weight", 2, linear},
           Case{"model.layers.1.self_attn.rotary_emb.inv_freq", 1, other},
           // experts and their router
           Case{"model.layers.0.mlp.gate.weight", 2, other},
           Case{"model.layers.0.block_sparse_moe.experts.3.w1.weight", 2, linear},
           Case{"model.layers.0.mlp.experts.gate_up_proj", 3, linear},
           // GPT-2, BERT, T5, Whisper, ViT
           Case{"transformer.h.0.attn.c_attn.weight", 2, attention},
           Case{"transformer.h.0.attn.c_proj.weight", 2, attention},
           Case{"transformer.h.0.mlp.c_proj.weight", 2, linear},
           Case{"transformer.wte.weight", 2, embedding},
           Case{"transformer.h.0.ln_1.weight", 1, norm},
           Case{"transformer.ln_f.weight", 1, norm},
           Case{"bert.encoder.layer.0.attention.self.query.weight", 2, attention},
           Case{"bert.encoder.layer.0.attention.output.dense.weight", 2, attention},
           Case{"bert.encoder.layer.0.output.dense.weight", 2, linear},
           Case{"bert.embeddings.LayerNorm.gamma", 1, norm},
           Case{"bert.embeddings.position_embeddings.weight", 2, embedding},
           Case{"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 2,
                embedding},
           Case{"encoder.block.0.layer.1.DenseReluDense.wo.weight", 2, linear},
           Case{"encoder.block.0.layer.0.SelfAttention.o.weight", 2, attention},
           Case{"model.encoder.conv1.weight", 3, conv},
           Case{"vit.embeddings.patch_embeddings.projection.weight", 4, conv},
           Case{"patch_embed.proj.weight", 4, conv},
           Case{"blocks.0.attn.qkv.weight", 2, attention},
           Case{"blocks.0.norm1.weight", 1, norm},
           // convolutional networks, diffusion
           Case{"layer1.0.conv1.weight", 4, conv},
           Case{"layer1.0.bn1.running_mean", 1, norm},
           Case{"layer2.0.downsample.0.weight", 4, conv},
           Case{"fc.weight", 2, linear},
           Case{"down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_out.0.weight", 2,
                attention},
           Case{"down_blocks.0.attentions.0.transformer_blocks.0.ff.net.2.weight", 2, linear},
           Case{"backbone.layers.0.mixer.conv1d.weight", 3, conv},
           // GGUF
           Case{"blk.0.attn_q.weight", 2, attention},
           Case{"blk.0.attn_output.weight", 2, attention},
           Case{"blk.0.ffn_gate.weight", 2, linear},
           Case{"blk.0.ffn_gate_inp.weight", 2, other},
           Case{"blk.0.ffn_norm.weight", 1, norm},
           Case{"blk.0.ffn_up_exps.weight", 3, linear},
           Case{"token_embd.weight", 2, embedding},
           Case{"", 2, linear},
           Case{"x", 0, other},
       }) {
    INFO(c.name);
    CHECK(to_string(guess_node_kind(c.name, c.rank)) == to_string(c.kind));
  }
}
