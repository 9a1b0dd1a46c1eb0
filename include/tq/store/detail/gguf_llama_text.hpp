// SPDX-License-Identifier: MIT
#pragma once
// The mapping of Llama models to GGUF, as JSON. Source: llama.cpp, convert_hf_to_gguf.py.

namespace tq::store::detail {

// "requires": fields of config.json that must have one of some values where they are there. A dot
// separates the names of nested fields.
// "keys": keys of the GGUF file and the first of the fields that is there, divided by another.
// "tensors": names, in which {layer} and {expert} are numbers; experts of one name are stacked.
// "heads": the rows of every head are reordered from halves to pairs, as rotary embeddings of
// llama.cpp want them.
inline constexpr const char* gguf_llama_text = R"json({
"architecture": "llama",
"requires": [
  {"from": ["model_type"], "values": ["llama", "mistral", "mixtral"]},
  {"from": ["hidden_act"], "values": ["silu"]}],
"keys": [
  {"key": "llama.block_count", "type": "uint32", "from": ["num_hidden_layers"]},
  {"key": "llama.context_length", "type": "uint32", "from": ["max_position_embeddings"]},
  {"key": "llama.embedding_length", "type": "uint32", "from": ["hidden_size"]},
  {"key": "llama.feed_forward_length", "type": "uint32", "from": ["intermediate_size"]},
  {"key": "llama.attention.head_count", "type": "uint32", "from": ["num_attention_heads"]},
  {"key": "llama.attention.head_count_kv", "type": "uint32",
   "from": ["num_key_value_heads", "num_attention_heads"]},
  {"key": "llama.attention.layer_norm_rms_epsilon", "type": "float32", "from": ["rms_norm_eps"]},
  {"key": "llama.attention.key_length", "type": "uint32", "from": ["head_dim"], "optional": true},
  {"key": "llama.attention.value_length", "type": "uint32", "from": ["head_dim"], "optional": true},
  {"key": "llama.rope.freq_base", "type": "float32",
   "from": ["rope_theta", "rope_parameters.rope_theta"], "optional": true},
  {"key": "llama.rope.dimension_count", "type": "uint32", "from": ["head_dim"],
   "else": "hidden_size", "over": "num_attention_heads"},
  {"key": "llama.expert_count", "type": "uint32", "from": ["num_local_experts"], "optional": true},
  {"key": "llama.expert_used_count", "type": "uint32", "from": ["num_experts_per_tok"],
   "optional": true},
  {"key": "llama.vocab_size", "type": "uint32", "from": ["vocab_size"]}],
"tensors": [
  {"from": "model.embed_tokens.weight", "to": "token_embd.weight"},
  {"from": "model.norm.weight", "to": "output_norm.weight"},
  {"from": "lm_head.weight", "to": "output.weight"},
  {"from": "model.layers.{layer}.input_layernorm.weight", "to": "blk.{layer}.attn_norm.weight"},
  {"from": "model.layers.{layer}.post_attention_layernorm.weight",
   "to": "blk.{layer}.ffn_norm.weight"},
  {"from": "model.layers.{layer}.self_attn.q_proj.weight", "to": "blk.{layer}.attn_q.weight",
   "heads": ["num_attention_heads"]},
  {"from": "model.layers.{layer}.self_attn.q_proj.bias", "to": "blk.{layer}.attn_q.bias",
   "heads": ["num_attention_heads"]},
  {"from": "model.layers.{layer}.self_attn.k_proj.weight", "to": "blk.{layer}.attn_k.weight",
   "heads": ["num_key_value_heads", "num_attention_heads"]},
  {"from": "model.layers.{layer}.self_attn.k_proj.bias", "to": "blk.{layer}.attn_k.bias",
   "heads": ["num_key_value_heads", "num_attention_heads"]},
  {"from": "model.layers.{layer}.self_attn.v_proj.weight", "to": "blk.{layer}.attn_v.weight"},
  {"from": "model.layers.{layer}.self_attn.v_proj.bias", "to": "blk.{layer}.attn_v.bias"},
  {"from": "model.layers.{layer}.self_attn.o_proj.weight", "to": "blk.{layer}.attn_output.weight"},
  {"from": "model.layers.{layer}.self_attn.o_proj.bias", "to": "blk.{layer}.attn_output.bias"},
  {"from": "model.layers.{layer}.mlp.gate_proj.weight", "to": "blk.{layer}.ffn_gate.weight"},
  {"from": "model.layers.{layer}.mlp.up_proj.weight", "to": "blk.{layer}.ffn_up.weight"},
  {"from": "model.layers.{layer}.mlp.down_proj.weight", "to": "blk.{layer}.ffn_down.weight"},
  {"from": "model.layers.{layer}.block_sparse_moe.gate.weight",
   "to": "blk.{layer}.ffn_gate_inp.weight"},
  {"from": "model.layers.{layer}.block_sparse_moe.experts.{expert}.w1.weight",
   "to": "blk.{layer}.ffn_gate_exps.weight"},
  {"from": "model.layers.{layer}.block_sparse_moe.experts.{expert}.w2.weight",
   "to": "blk.{layer}.ffn_down_exps.weight"},
  {"from": "model.layers.{layer}.block_sparse_moe.experts.{expert}.w3.weight",
   "to": "blk.{layer}.ffn_up_exps.weight"},
  {"from": "tok_embeddings.weight", "to": "token_embd.weight"},
  {"from": "norm.weight", "to": "output_norm.weight"},
  {"from": "output.weight", "to": "output.weight"},
  {"from": "layers.{layer}.attention_norm.weight", "to": "blk.{layer}.attn_norm.weight"},
  {"from": "layers.{layer}.ffn_norm.weight", "to": "blk.{layer}.ffn_norm.weight"},
  {"from": "layers.{layer}.attention.wq.weight", "to": "blk.{layer}.attn_q.weight"},
  {"from": "layers.{layer}.attention.wk.weight", "to": "blk.{layer}.attn_k.weight"},
  {"from": "layers.{layer}.attention.wv.weight", "to": "blk.{layer}.attn_v.weight"},
  {"from": "layers.{layer}.attention.wo.weight", "to": "blk.{layer}.attn_output.weight"},
  {"from": "layers.{layer}.feed_forward.w1.weight", "to": "blk.{layer}.ffn_gate.weight"},
  {"from": "layers.{layer}.feed_forward.w2.weight", "to": "blk.{layer}.ffn_down.weight"},
  {"from": "layers.{layer}.feed_forward.w3.weight", "to": "blk.{layer}.ffn_up.weight"}],
"dropped": ["model.layers.{layer}.self_attn.rotary_emb.inv_freq", "rope.freqs"]
})json";

}  // namespace tq::store::detail
