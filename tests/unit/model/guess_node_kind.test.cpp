// SPDX-License-Identifier: MIT
#include <tq/model/guess_node_kind.hpp>
#include <tq/model/model_sizes.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace tq;

TEST_CASE("names of published checkpoints are told apart by name and rank") {
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
  // A tensor of one axis is no product, and positions may have any number of axes.
  CHECK(guess_node_kind("lm_head.weight", 1) == other);
  CHECK(guess_node_kind("blk.0.ffn_gate_inp_shexp.weight", 1) == other);
  CHECK(guess_node_kind("head.weight", 4) == conv);
  CHECK(guess_node_kind("pos_embed", 3) == position);
  CHECK(guess_node_kind("rotary_emb.inv_freq", 1) == position);
}

namespace {

struct Published {
  const char* name;
  std::vector<std::size_t> shape;
  NodeKind kind;
};

struct Family {
  const char* family;
  ModelSizes sizes;
  std::vector<Published> tensors;
};

ModelSizes sizes(std::set<std::size_t> vocabularies, std::set<std::size_t> experts = {},
                 std::set<std::size_t> widths = {}, std::set<std::size_t> labels = {}) {
  return {std::move(vocabularies), std::move(labels), std::move(experts), std::move(widths)};
}

void require_kinds(const std::vector<Family>& families) {
  for (const Family& family : families)
    for (const Published& t : family.tensors) {
      INFO(family.family << ": " << t.name);
      CHECK(to_string(guess_node_kind(t.name, t.shape, family.sizes)) == to_string(t.kind));
    }
}

}  // namespace

TEST_CASE("language models: heads, routers and tables are told from products") {
  using enum NodeKind;
  require_kinds({
      {"Llama",
       sizes({32000}, {}, {4096}),
       {{"model.embed_tokens.weight", {32000, 4096}, embedding},
        {"model.layers.0.self_attn.q_proj.weight", {4096, 4096}, attention},
        {"model.layers.0.self_attn.k_proj.weight", {1024, 4096}, attention},
        {"model.layers.0.mlp.gate_proj.weight", {11008, 4096}, linear},
        {"model.layers.0.mlp.down_proj.weight", {4096, 11008}, linear},
        {"model.layers.0.post_attention_layernorm.weight", {4096}, norm},
        {"lm_head.weight", {32000, 4096}, head},
        {"tok_embeddings.weight", {32000, 4096}, embedding},
        {"layers.0.attention.wo.weight", {4096, 4096}, attention},
        {"layers.0.feed_forward.w1.weight", {11008, 4096}, linear},
        {"output.weight", {32000, 4096}, head}}},
      {"Llama 4",
       sizes({202048}, {16}, {5120}),
       {{"language_model.model.layers.1.feed_forward.router.weight", {16, 5120}, router},
        {"language_model.model.layers.1.feed_forward.experts.gate_up_proj",
         {16, 5120, 16384},
         linear},
        {"language_model.model.layers.1.feed_forward.experts.down_proj", {16, 8192, 5120}, linear},
        {"language_model.model.layers.1.feed_forward.shared_expert.up_proj.weight",
         {8192, 5120},
         linear},
        {"language_model.lm_head.weight", {202048, 5120}, head},
        {"vision_model.class_embedding", {1408}, other},
        {"vision_model.positional_embedding_vlm", {577, 1408}, position},
        {"multi_modal_projector.linear_1.weight", {5120, 4096}, linear}}},
      {"Qwen 2 and 3, MoE",
       sizes({151936}, {128}, {2048}),
       {{"model.layers.0.mlp.gate.weight", {128, 2048}, router},
        {"model.layers.0.mlp.shared_expert_gate.weight", {1, 2048}, router},
        {"model.layers.0.mlp.experts.0.gate_proj.weight", {768, 2048}, linear},
        {"model.layers.0.mlp.experts.gate_up_proj", {128, 1536, 2048}, linear},
        {"model.layers.0.self_attn.q_norm.weight", {128}, norm},
        {"model.layers.0.linear_attn.in_proj_qkvz.weight", {12288, 2048}, linear},
        {"model.layers.0.linear_attn.in_proj_ba.weight", {64, 2048}, elementwise},
        {"model.layers.0.linear_attn.conv1d.weight", {8192, 1, 4}, elementwise},
        {"model.layers.0.linear_attn.A_log", {32}, other},
        {"visual.patch_embed.proj.weight", {1152, 3, 2, 16, 16}, conv},
        {"visual.pos_embed.weight", {2304, 1152}, position},
        {"visual.blocks.0.attn.qkv.weight", {3456, 1152}, attention}}},
      {"Mixtral",
       sizes({32000}, {8}, {4096}),
       {{"model.layers.0.block_sparse_moe.gate.weight", {8, 4096}, router},
        {"model.layers.0.block_sparse_moe.experts.3.w2.weight", {4096, 14336}, linear},
        {"model.layers.0.block_sparse_moe.experts.3.w3.weight", {14336, 4096}, linear}}},
      {"DeepSeek V2 and V3",
       sizes({129280}, {256}, {7168}),
       {{"model.layers.3.mlp.gate.weight", {256, 7168}, router},
        {"model.layers.3.mlp.gate.e_score_correction_bias", {256}, other},
        {"model.layers.3.mlp.shared_experts.gate_proj.weight", {2048, 7168}, linear},
        {"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", {576, 7168}, linear},
        {"model.layers.0.self_attn.kv_a_layernorm.weight", {512}, norm},
        {"model.layers.0.self_attn.kv_b_proj.weight", {32768, 512}, linear},
        {"model.layers.61.shared_head.head.weight", {129280, 7168}, head},
        {"model.layers.61.eh_proj.weight", {7168, 14336}, linear},
        {"model.layers.61.embed_tokens.weight", {129280, 7168}, embedding}}},
      {"GPT-2",
       sizes({50257}, {}, {768}),
       {{"h.0.attn.bias", {1, 1, 1024, 1024}, elementwise},
        {"wpe.weight", {1024, 768}, position},
        {"h.0.attn.c_attn.weight", {768, 2304}, attention},
        {"h.0.mlp.c_fc.weight", {768, 3072}, linear},
        {"transformer.h.11.ln_2.weight", {768}, norm}}},
      {"GPT-NeoX and GPT-J",
       sizes({50432}, {}, {6144}),
       {{"gpt_neox.embed_in.weight", {50432, 6144}, embedding},
        {"embed_out.weight", {50432, 6144}, head},
        {"gpt_neox.layers.0.attention.query_key_value.weight", {18432, 6144}, linear},
        {"gpt_neox.layers.0.attention.dense.weight", {6144, 6144}, attention},
        {"gpt_neox.layers.0.attention.masked_bias", {}, other},
        {"gpt_neox.layers.0.mlp.dense_4h_to_h.weight", {6144, 24576}, linear},
        {"transformer.h.0.attn.out_proj.weight", {4096, 4096}, attention},
        {"transformer.h.0.mlp.fc_in.weight", {16384, 4096}, linear}}},
      {"OPT, BLOOM, Falcon, Phi, Gemma",
       sizes({}, {}, {}),
       {{"model.decoder.embed_positions.weight", {2050, 768}, position},
        {"model.decoder.layers.0.self_attn.out_proj.weight", {768, 768}, attention},
        {"model.decoder.project_in.weight", {1024, 512}, linear},
        {"word_embeddings_layernorm.weight", {4096}, norm},
        {"h.0.self_attention.query_key_value.weight", {12288, 4096}, linear},
        {"transformer.word_embeddings.weight", {65024, 4544}, embedding},
        {"transformer.h.0.mlp.dense_h_to_4h.weight", {18176, 4544}, linear},
        {"model.layers.0.self_attn.dense.weight", {2560, 2560}, attention},
        {"model.layers.0.mlp.fc2.weight", {2560, 10240}, linear},
        {"model.layers.0.pre_feedforward_layernorm.weight", {2304}, norm},
        {"model.embed_tokens_per_layer.weight", {262144, 7680}, embedding}}},
      {"InternLM2 and InternVL",
       sizes({92553}, {}, {2048}),
       {{"language_model.output.weight", {92553, 2048}, head},
        {"language_model.model.tok_embeddings.weight", {92553, 2048}, embedding},
        {"language_model.model.layers.0.attention.wqkv.weight", {4096, 2048}, linear},
        {"vision_model.embeddings.class_embedding", {1, 1, 1024}, elementwise},
        {"vision_model.embeddings.position_embedding", {1, 1025, 1024}, position},
        {"vision_model.encoder.layers.0.ls1", {1024}, other},
        {"mlp1.1.weight", {2048, 4096}, linear}}},
      {"RWKV 4 to 7",
       sizes({65536}, {}, {2048}),
       {{"emb.weight", {65536, 2048}, embedding},
        {"head.weight", {65536, 2048}, head},
        {"blocks.0.att.time_decay", {32, 64}, elementwise},
        {"blocks.0.att.time_faaaa", {32, 64}, elementwise},
        {"blocks.0.att.time_maa_w1", {2048, 160}, elementwise},
        {"blocks.0.att.time_maa_w2", {5, 32, 2048}, elementwise},
        {"blocks.0.att.time_decay_w1", {2048, 64}, elementwise},
        {"blocks.0.att.time_mix_k", {1, 1, 2048}, elementwise},
        {"blocks.0.att.gate.weight", {2048, 2048}, attention},
        {"blocks.0.att.receptance.weight", {2048, 2048}, attention},
        {"blocks.0.att.output.weight", {2048, 2048}, attention},
        {"blocks.0.att.r_k", {32, 64}, elementwise},
        {"blocks.0.att.w1", {2048, 64}, elementwise},
        {"blocks.0.att.g2", {128, 2048}, elementwise},
        {"blocks.0.ffn.key.weight", {7168, 2048}, linear},
        {"rwkv.blocks.0.attention.time_mix_key", {1, 1, 2048}, elementwise},
        {"blk.0.time_mix_key.weight", {2048, 2048}, linear},
        {"blk.0.time_mix_lerp_fused.weight", {1, 1, 2048}, elementwise}}},
      {"Mamba 1 and 2, Jamba",
       sizes({50280}, {16}, {2560}),
       {{"backbone.embeddings.weight", {50280, 2560}, embedding},
        {"backbone.layers.0.mixer.A_log", {5120, 16}, elementwise},
        {"backbone.layers.0.mixer.D", {5120}, other},
        {"backbone.layers.0.mixer.conv1d.weight", {5120, 1, 4}, elementwise},
        {"backbone.layers.0.mixer.in_proj.weight", {10240, 2560}, linear},
        {"backbone.layers.0.mixer.x_proj.weight", {192, 5120}, linear},
        {"backbone.layers.0.mixer.dt_proj.weight", {5120, 160}, linear},
        {"backbone.norm_f.weight", {2560}, norm},
        {"model.layers.0.mamba.A_log", {8192, 16}, elementwise},
        {"model.layers.1.feed_forward.router.weight", {16, 4096}, router},
        {"model.layers.1.feed_forward.experts.0.down_proj.weight", {4096, 14336}, linear},
        {"blk.0.ssm_a", {16, 5120}, elementwise},
        {"blk.0.ssm_conv1d.weight", {5120, 4}, elementwise},
        {"blk.0.ssm_out.weight", {2560, 5120}, linear},
        {"model.layers.0.conv.conv.weight", {2048, 1, 3}, elementwise},
        {"model.layers.0.conv.in_proj.weight", {6144, 2048}, linear}}},
      {"gpt-oss",
       sizes({201088}, {32}, {2880}),
       {{"model.layers.0.mlp.router.weight", {32, 2880}, router},
        {"model.layers.0.mlp.experts.gate_up_proj", {32, 2880, 5760}, linear},
        {"model.layers.0.mlp.experts.gate_up_proj_bias", {32, 5760}, elementwise},
        {"model.layers.0.mlp.experts.down_proj_bias", {32, 2880}, elementwise},
        {"model.layers.0.self_attn.sinks", {64}, other}}},
      {"others with experts",
       sizes({}, {}, {}),
       {{"model.layers.0.block_sparse_moe.input_linear.weight", {40, 1024, 1536}, linear},
        {"model.layers.0.block_sparse_moe.router.layer.weight", {40, 1536}, router},
        {"model.layers.0.mlp.switch_mlp.gate_proj.weight", {128, 768, 2048}, linear},
        {"backbone.layers.1.mixer.gate.weight", {128, 2688}, router},
        {"model.layers.0.mlp.gate.wg.weight", {64, 4096}, router},
        {"blocks.1.mlp._moe_layer.gates.0.wg.weight", {8, 768}, router},
        {"model.layers.0.mlp.gate.weight", {4096, 1024}, linear},
        {"encoder.layers.0.self_attn.gate.weight", {16, 1024}, attention},
        {"decoder.layers.3.ffn.router.classifier.weight", {128, 2048}, router},
        {"transformer.blocks.0.ffn.experts.mlp.w1", {172032, 6144}, linear},
        {"model.transformer.ff_out.weight", {50304, 2048}, head},
        {"model.transformer.blocks.0.ff_out.weight", {2048, 8192}, linear},
        {"v_head.summary.weight", {1, 4096}, head},
        {"unembed.W_U", {768, 50257}, head},
        {"score.weight", {1, 4096}, head}}},
  });
}

TEST_CASE("encoders and decoders: the last products are heads, outputs of attentions are not") {
  using enum NodeKind;
  require_kinds({
      {"T5 and BART",
       sizes({32128}, {}, {512}),
       {{"shared.weight", {32128, 512}, embedding},
        {"encoder.block.0.layer.0.SelfAttention.q.weight", {512, 512}, attention},
        {"encoder.block.0.layer.1.DenseReluDense.wi_0.weight", {1024, 512}, linear},
        {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 8}, position},
        {"encoder.final_layer_norm.weight", {512}, norm},
        {"model.decoder.layers.0.encoder_attn.out_proj.weight", {1024, 1024}, attention},
        {"classification_head.out_proj.weight", {3, 1024}, head},
        {"classification_head.dense.weight", {1024, 1024}, linear},
        {"final_logits_bias", {1, 50265}, elementwise},
        {"decoder.output_projection.weight", {50265, 1024}, head}}},
      {"BERT, RoBERTa, DistilBERT, ELECTRA, DeBERTa",
       sizes({30522}, {}, {768}, {2}),
       {{"bert.embeddings.token_type_embeddings.weight", {2, 768}, embedding},
        {"bert.encoder.layer.0.attention.output.dense.weight", {768, 768}, attention},
        {"bert.encoder.layer.0.output.dense.weight", {768, 3072}, linear},
        {"bert.encoder.layer.0.intermediate.dense.weight", {3072, 768}, linear},
        {"bert.pooler.dense.weight", {768, 768}, linear},
        {"cls.predictions.transform.dense.weight", {768, 768}, linear},
        {"cls.predictions.decoder.weight", {30522, 768}, head},
        {"predictions.decoder.weight", {30000, 128}, head},
        {"lm_head.decoder.weight", {50265, 768}, head},
        {"classifier.out_proj.weight", {2, 768}, head},
        {"distilbert.transformer.layer.0.attention.out_lin.weight", {768, 768}, linear},
        {"vocab_transform.weight", {768, 768}, linear},
        {"vocab_projector.weight", {30522, 768}, head},
        {"pre_classifier.weight", {768, 768}, linear},
        {"generator_lm_head.weight", {30522, 128}, head},
        {"generator_predictions.dense.weight", {128, 256}, linear},
        {"discriminator_predictions.dense_prediction.weight", {1, 256}, head},
        {"deberta.encoder.rel_embeddings.weight", {512, 768}, position},
        {"qa_outputs.weight", {2, 768}, head}}},
      {"Whisper and wav2vec2",
       sizes({51865}, {}, {384}),
       {{"model.encoder.conv1.weight", {384, 80, 3}, conv},
        {"model.encoder.embed_positions.weight", {1500, 384}, position},
        {"model.decoder.layers.0.encoder_attn.out_proj.weight", {384, 384}, attention},
        {"proj_out.weight", {51865, 384}, head},
        {"decoder.positional_embedding", {448, 384}, position},
        {"decoder.token_embedding.weight", {51865, 384}, embedding},
        {"wav2vec2.feature_extractor.conv_layers.0.conv.weight", {512, 1, 10}, conv},
        {"wav2vec2.encoder.pos_conv_embed.conv.weight_g", {1, 1, 128}, elementwise},
        {"wav2vec2.encoder.pos_conv_embed.conv.weight_v", {768, 48, 128}, conv},
        {"wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original0",
         {1, 1, 128},
         elementwise},
        {"wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original1",
         {768, 48, 128},
         conv},
        {"quantizer.codevectors", {1, 640, 128}, elementwise},
        {"project_hid.weight", {256, 768}, linear},
        {"lm_head.weight", {32, 768}, head},
        {"encoder.encoders.0.self_attn.linear_pos.weight", {512, 512}, linear},
        {"encoder.layers.0.self_attn.pos_bias_u", {8, 64}, position}}},
      {"MusicGen",
       sizes({2048}, {}, {1024}),
       {{"decoder.lm_heads.0.weight", {2048, 1024}, head},
        {"decoder.model.decoder.embed_tokens.0.weight", {2049, 1024}, embedding},
        {"decoder.model.decoder.layers.0.fc1.weight", {4096, 1024}, linear},
        {"enc_to_dec_proj.weight", {1024, 768}, linear},
        {"audio_encoder.quantizer.layers.0.codebook.embed", {2048, 128}, embedding},
        {"audio_encoder.quantizer.layers.0.codebook.embed_avg", {2048, 128}, elementwise}}},
  });
}

TEST_CASE("images, sounds and diffusion: filters, tokens and gains of several axes") {
  using enum NodeKind;
  require_kinds({
      {"ViT, CLIP, SigLIP, DINO",
       sizes({49408}, {}, {768}, {1000}),
       {{"vit.embeddings.cls_token", {1, 1, 768}, elementwise},
        {"vit.embeddings.position_embeddings", {1, 197, 768}, position},
        {"vit.embeddings.patch_embeddings.projection.weight", {768, 3, 16, 16}, conv},
        {"vit.encoder.layer.0.attention.output.dense.weight", {768, 768}, attention},
        {"classifier.weight", {1000, 768}, head},
        {"heads.head.weight", {1000, 768}, head},
        {"embeddings.register_tokens", {1, 4, 768}, elementwise},
        {"embeddings.mask_token", {1, 768}, elementwise},
        {"blocks.0.ls1.gamma", {768}, norm},
        {"vision_model.embeddings.patch_embedding.weight", {768, 3, 32, 32}, conv},
        {"text_model.embeddings.position_embedding.weight", {77, 512}, position},
        {"visual.positional_embedding", {50, 768}, position},
        {"text_projection.weight", {512, 512}, head},
        {"text_model.encoder.layers.0.self_attn.out_proj.weight", {512, 512}, attention},
        {"vision_model.head.probe", {1, 1, 768}, elementwise},
        {"vision_model.head.attention.in_proj_weight", {2304, 768}, attention},
        {"vision_model.head.mlp.fc1.weight", {3072, 768}, linear},
        {"query_tokens", {1, 32, 768}, elementwise}}},
      {"DETR, Swin, SAM",
       sizes({}, {}, {}, {91}),
       {{"class_embed.weight", {92, 256}, head},
        {"class_embed.0.weight", {91, 256}, head},
        {"bbox_embed.layers.2.weight", {4, 256}, head},
        {"class_labels_classifier.weight", {92, 256}, head},
        {"query_embed.weight", {100, 256}, elementwise},
        {"model.query_position_embeddings.weight", {100, 256}, position},
        {"model.position_embedding.row_embeddings.weight", {50, 256}, position},
        {"transformer.encoder.layers.0.self_attn.out_proj.weight", {256, 256}, attention},
        {"layers.0.blocks.0.attn.relative_position_bias_table", {169, 3}, position},
        {"layers.0.blocks.1.attn_mask", {64, 49, 49}, elementwise},
        {"layers.0.blocks.0.attn.logit_scale", {3, 1, 1}, elementwise},
        {"mask_decoder.mask_tokens.weight", {4, 256}, elementwise},
        {"prompt_encoder.shared_embedding.positional_embedding", {2, 128}, position},
        {"roi_heads.box_head.fc6.weight", {1024, 12544}, linear},
        {"roi_heads.box_predictor.cls_score.weight", {91, 1024}, head}}},
      {"UNet, DiT, Flux",
       sizes({}, {}, {}),
       {{"time_embedding.linear_1.weight", {1280, 320}, linear},
        {"model.diffusion_model.time_embed.0.weight", {1280, 320}, linear},
        {"down_blocks.0.resnets.0.conv1.weight", {320, 320, 3, 3}, conv},
        {"down_blocks.0.resnets.0.time_emb_proj.weight", {320, 1280}, linear},
        {"down_blocks.0.attentions.0.proj_in.weight", {320, 320, 1, 1}, conv},
        {"down_blocks.0.attentions.0.proj_out.weight", {320, 320}, linear},
        {"mid_block.attentions.0.transformer_blocks.0.attn2.to_out.0.weight",
         {1280, 1280},
         attention},
        {"conv_norm_out.weight", {320}, norm},
        {"decoder.mid_block.attentions.0.norm.gamma", {96, 1, 1}, norm},
        {"decoder.mid_block.resnets.0.norm1.gamma", {96, 1, 1, 1}, norm},
        {"transformer_blocks.0.scale_shift_table", {6, 1152}, elementwise},
        {"scale_shift_table", {2, 1152}, elementwise},
        {"blocks.0.modulation", {1, 6, 1536}, elementwise},
        {"pos_embed.proj.weight", {1152, 4, 2, 2}, conv},
        {"pos_embed.pos_embed", {1, 9216, 1536}, position},
        {"y_embedder.embedding_table.weight", {1001, 1152}, embedding},
        {"transformer_blocks.0.norm1.linear.weight", {6912, 1152}, linear},
        {"x_embedder.weight", {3072, 64}, linear},
        {"proj_out.weight", {32, 1152}, head}}},
      {"MobileNet, ResNet, ConvNeXt",
       sizes({}, {}, {}, {1000}),
       {{"features.1.conv.0.0.weight", {32, 1, 3, 3}, conv},
        {"layer1.0.conv1.weight", {64, 256, 1, 1}, conv},
        {"layer1.0.bn1.weight", {64}, norm},
        {"fc.weight", {1000, 2048}, head},
        {"classifier.1.weight", {1000, 1280}, head},
        {"classifier.0.weight", {1280, 960}, linear},
        {"convnextv2.encoder.stages.0.layers.0.grn.weight", {1, 1, 1, 96}, norm},
        {"norm1.gamma", {96, 1, 1, 1}, norm},
        {"convnext.encoder.stages.0.layers.0.dwconv.weight", {96, 1, 7, 7}, conv},
        {"convnext.encoder.stages.0.layers.0.layer_scale_parameter", {96}, other}}},
      {"Silero, HiFiGAN",
       sizes({}, {}, {}),
       {{"_model.stft.forward_basis_buffer", {258, 1, 256}, elementwise},
        {"_model.encoder.0.reparam_conv.weight", {128, 129, 3}, conv},
        {"_model.decoder.rnn.weight_ih", {512, 128}, linear},
        {"_model.decoder.rnn.weight_hh", {512, 128}, linear},
        {"_model.decoder.decoder.2.weight", {1, 128, 1}, elementwise},
        {"ups.0.weight", {512, 256, 16}, conv},
        {"resblocks.0.convs1.0.weight_v", {256, 256, 3}, conv},
        {"enc_q.pre.weight", {192, 513, 1}, conv}}},
  });
}
