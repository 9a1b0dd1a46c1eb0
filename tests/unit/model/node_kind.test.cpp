// SPDX-License-Identifier: MIT
#include <tq/model/node_kind.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace tq;

TEST_CASE("kinds have names, and names kinds") {
  for (const std::string& name : node_kinds()) CHECK(to_string(node_kind(name)) == name);
  CHECK(node_kinds().size() == 10);
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
  CHECK_FALSE(is_of_kind(NodeKind::head, NodeKind::linear));
  CHECK_FALSE(is_of_kind(NodeKind::position, NodeKind::embedding));
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
           Case{"lm_head.weight", 2, head},
           Case{"model.layers.1.self_attn.rotary_emb.inv_freq", 1, position},
           // experts and their router
           Case{"model.layers.0.mlp.gate.weight", 2, router},
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
           Case{"bert.embeddings.position_embeddings.weight", 2, position},
           Case{"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 2,
                position},
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
           Case{"blk.0.ffn_gate_inp.weight", 2, router},
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

TEST_CASE("heads, routers and positions are told from what has names like theirs") {
  struct Family {
    NodeKind kind;
    std::vector<const char*> names, others;  // of matrices
  };
  using enum NodeKind;
  const std::vector<Family> families{
      {head,
       {"lm_head.weight", "model.lm_head.weight", "language_model.lm_head.weight",
        "lm_head.decoder.weight", "output.weight", "module.output.weight",
        "transformer.output_layer.weight", "embed_out.weight", "classifier.weight",
        "classifier.out_proj.weight", "score.weight", "head.weight", "head.fc.weight",
        "heads.head.weight", "proj_out.weight", "cls.predictions.decoder.weight",
        "cls.seq_relationship.weight", "qa_outputs.weight", "text_projection.weight"},
       {"fc.weight", "fc2.weight", "classifier.6.weight", "classifier.dense.weight",
        "layers.0.output.weight", "encoder.layer.0.output.dense.weight", "blk.0.attn_output.weight",
        "attentions.0.proj_out.weight", "lm_head.bias", "headset.weight", "scores.weight"}},
      {router,
       {"model.layers.0.mlp.gate.weight", "model.layers.0.block_sparse_moe.gate.weight",
        "layers.0.feed_forward.gate.weight", "model.layers.0.mlp.shared_expert_gate.weight",
        "model.layers.0.mlp.router.weight", "transformer.blocks.0.ffn.router.layer.weight",
        "encoder.block.1.layer.1.mlp.router.classifier.weight", "moe.deepspeed_moe.gate.wg.weight",
        "blk.0.ffn_gate_inp.weight", "blk.0.ffn_gate_inp_shexp.weight"},
       {"model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.gate_up_proj.weight",
        "model.layers.0.mlp.experts.0.gate_proj.weight", "blk.0.ffn_gate.weight",
        "blk.0.ffn_gate_exps.weight", "gates.weight", "wg.weight"}},
      {position,
       {"transformer.wpe.weight", "bert.embeddings.position_embeddings.weight",
        "text_model.embeddings.position_embedding.weight", "positional_embedding",
        "model.decoder.embed_positions.weight", "pos_embed", "decoder_pos_embed",
        "encoder.pos_embedding", "position_embd.weight",
        "layers.0.blocks.0.attn.relative_position_bias_table", "rope_freqs.weight",
        "model.layers.0.self_attn.rotary_emb.inv_freq", "blocks.0.attn.rel_pos_h",
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
       {"transformer.wte.weight", "model.embed_tokens.weight",
        "bert.embeddings.word_embeddings.weight", "bert.embeddings.token_type_embeddings.weight",
        "patch_embed.proj.weight", "token_embd.weight", "position.weight"}}};
  for (const Family& family : families) {
    for (const char* name : family.names) {
      INFO(name);
      CHECK(to_string(guess_node_kind(name, 2)) == to_string(family.kind));
    }
    for (const char* name : family.others) {
      INFO(name);
      CHECK_FALSE(guess_node_kind(name, 2) == family.kind);
    }
  }
  // What has one axis is no product, and positions may have any number of axes.
  CHECK(guess_node_kind("lm_head.weight", 1) == other);
  CHECK(guess_node_kind("blk.0.ffn_gate_inp_shexp.weight", 1) == other);
  CHECK(guess_node_kind("head.weight", 4) == conv);
  CHECK(guess_node_kind("pos_embed", 3) == position);
  CHECK(guess_node_kind("rotary_emb.inv_freq", 1) == position);
}

TEST_CASE("heads, routers and positions stay in float by default; tables are looked up") {
  for (const std::string& name : node_kinds()) {
    const NodeKind kind = node_kind(name);
    const bool stays = std::find(default_float_kinds.begin(), default_float_kinds.end(), kind) !=
                       default_float_kinds.end();
    CHECK(stays == (name == "head" || name == "router" || name == "position"));
    CHECK(is_table(kind) == (name == "embedding" || name == "position"));
  }
}
