// SPDX-License-Identifier: MIT
#pragma once
// The mixes of types that tq ships, as JSON. Source of the rules: llama.cpp, src/llama-quant.cpp.

namespace tq::store::detail {

// "weights" and "float": which tensors are weights, by expressions that have a match in the name.
// "groups": roles of weights, of which a tensor has the first that fits; the layers of a counted
// group are the numbers of its tensors, those of others the numbers of blocks.
// "fallbacks": types for rows that are no multiple of a block.
// "shared": lists of rules that a mix takes over by name. The first rule that fits decides.
inline constexpr const char* gguf_mixes_text = R"json({
"weights": "weight$",
"float": ["_norm\\.weight", "ffn_gate_inp\\.weight", "ffn_gate_tid2eid\\.weight", "altup", "laurel",
  "per_layer_model_proj", "^position_embd\\.weight$", "^token_types\\.weight$", "ssm_conv1d",
  "shortconv\\.conv\\.weight", "indexer\\.[kq]_proj\\.weight", "attn_rel_b\\.weight",
  "time_mix_(first|w[012]|v[012]|a[012]|g[12]|decay_w[12]|lerp_fused)\\.weight",
  "\\.position_embd", "sam\\.(pos_embd|neck\\.|net_)", "\\.rel_pos", "\\.patch_embd",
  "\\.patch_merger", "a\\.rvq\\.codebook", "mm\\.a\\.code_embd"],
"groups": [
  {"name": "output", "tensors": "^output\\.weight$"},
  {"name": "token_embd", "tensors": "^(per_layer_)?token_embd\\.weight$"},
  {"name": "attn_v", "tensors": "attn_(qkv|kv_b|v)\\.weight", "counted": true},
  {"name": "attn_k", "tensors": "attn_k\\.weight"},
  {"name": "attn_output", "tensors": "attn_output\\.weight"},
  {"name": "ffn_down", "tensors": "ffn_down"}],
"fallbacks": {"iq4_xs": "iq4_nl", "q2_0": "q4_0", "q2_K": "q4_0", "q3_K": "q4_0", "tq1_0": "q4_0",
  "tq2_0": "q4_0", "q4_K": "q5_0", "q5_K": "q5_1", "q6_K": "q8_0"},
"shared": {
  "output": [
    {"group": "output", "architecture": "falcon", "type": "q8_0"},
    {"group": "output", "type": "q6_K"}],
  "experts": [
    {"group": "attn_v", "experts": 8, "type": "q8_0"},
    {"group": "attn_k", "experts": 8, "type": "q8_0"}],
  "expert_output": [
    {"group": "attn_output", "experts": 8, "type": "q5_K"}],
  "llama_70b": [
    {"group": "attn_v", "architecture": "llama", "blocks": 80, "min_gqa": 2, "type": "q5_K"}],
  "iq4": [
    {"group": "attn_v", "min_gqa": 4, "type": "q5_K"},
    {"group": "ffn_down", "layers": "first 1/8", "importance": false, "type": "q5_K"}],
  "ternary": [
    {"group": "token_embd", "type": "q4_K"}]},
"mixes": {
  "f32": {"type": "f32", "file_type": 0, "rules": []},
  "f16": {"type": "f16", "file_type": 1, "rules": []},
  "bf16": {"type": "bf16", "file_type": 32, "rules": []},
  "q4_0": {"type": "q4_0", "file_type": 2, "rules": ["output", "experts",
    {"group": "ffn_down", "layers": "first 1/8", "importance": true, "type": "q4_1"}]},
  "q4_1": {"type": "q4_1", "file_type": 3, "rules": ["output", "experts"]},
  "q5_0": {"type": "q5_0", "file_type": 8, "rules": ["output", "experts",
    {"group": "ffn_down", "layers": "first 1/8", "importance": true, "type": "q5_1"}]},
  "q5_1": {"type": "q5_1", "file_type": 9, "rules": ["output", "experts"]},
  "q8_0": {"type": "q8_0", "file_type": 7, "rules": []},
  "q2_k": {"type": "q2_K", "file_type": 10, "rules": ["output", "experts", "expert_output",
    "llama_70b",
    {"group": "attn_v", "min_gqa": 4, "type": "q4_K"},
    {"group": "attn_v", "type": "q3_K"},
    {"group": "ffn_down", "type": "q3_K"},
    {"group": "attn_output", "architecture": "falcon", "type": "q2_K"},
    {"group": "attn_output", "type": "q3_K"}]},
  "q2_k_s": {"type": "q2_K", "file_type": 21, "rules": ["output", "experts",
    {"group": "attn_v", "architecture": "llama", "blocks": 80, "min_gqa": 4, "type": "q5_K"},
    {"group": "attn_v", "min_gqa": 4, "type": "q4_K"},
    {"group": "ffn_down", "layers": "first 1/8", "type": "q4_K"}]},
  "q3_k": {"type": "q3_K", "file_type": 11, "rules": ["output"]},
  "q3_k_s": {"type": "q3_K", "file_type": 11, "rules": ["output", "experts", "expert_output",
    "llama_70b"]},
  "q3_k_m": {"type": "q3_K", "file_type": 12, "rules": ["output", "experts", "expert_output",
    {"group": "attn_v", "layers": "first 2", "type": "q5_K"},
    "llama_70b",
    {"group": "attn_v", "type": "q4_K"},
    {"group": "ffn_down", "layers": "first 1/16", "type": "q5_K"},
    {"group": "ffn_down", "architecture": "falcon", "layers": "more", "type": "q4_K"},
    {"group": "ffn_down", "architecture": "falcon", "type": "q3_K"},
    {"group": "ffn_down", "type": "q4_K"},
    {"group": "attn_output", "architecture": "falcon", "type": "q3_K"},
    {"group": "attn_output", "type": "q4_K"}]},
  "q3_k_l": {"type": "q3_K", "file_type": 13, "rules": ["output", "experts",
    {"group": "attn_v", "type": "q5_K"},
    {"group": "ffn_down", "architecture": "falcon", "type": "q4_K"},
    {"group": "ffn_down", "type": "q5_K"},
    {"group": "attn_output", "architecture": "falcon", "type": "q4_K"},
    {"group": "attn_output", "experts": 8, "type": "q3_K"},
    {"group": "attn_output", "type": "q5_K"}]},
  "q4_k": {"type": "q4_K", "file_type": 14, "rules": ["output"]},
  "q4_k_s": {"type": "q4_K", "file_type": 14, "rules": ["output", "experts", "expert_output",
    {"group": "attn_v", "layers": "first 4", "type": "q5_K"},
    "llama_70b",
    {"group": "ffn_down", "architecture": "falcon", "type": "q4_K"},
    {"group": "ffn_down", "layers": "first 1/8", "type": "q5_K"}]},
  "q4_k_m": {"type": "q4_K", "file_type": 15, "rules": ["output", "experts", "expert_output",
    {"group": "attn_v", "layers": "more", "type": "q6_K"},
    "llama_70b",
    {"group": "ffn_down", "architecture": "falcon", "layers": "first 1/16", "type": "q6_K"},
    {"group": "ffn_down", "architecture": "falcon", "layers": "more", "type": "q5_K"},
    {"group": "ffn_down", "architecture": "falcon", "type": "q4_K"},
    {"group": "ffn_down", "layers": "more", "type": "q6_K"}]},
  "q5_k": {"type": "q5_K", "file_type": 16, "rules": ["output"]},
  "q5_k_s": {"type": "q5_K", "file_type": 16, "rules": ["output", "experts"]},
  "q5_k_m": {"type": "q5_K", "file_type": 17, "rules": ["output", "experts",
    {"group": "attn_v", "layers": "more", "type": "q6_K"},
    {"group": "ffn_down", "layers": "more", "type": "q6_K"}]},
  "q6_k": {"type": "q6_K", "file_type": 18, "rules": ["output", "experts"]},
  "iq4_nl": {"type": "iq4_nl", "file_type": 25, "rules": ["output", "experts", "expert_output",
    "iq4"]},
  "iq4_xs": {"type": "iq4_xs", "file_type": 30, "rules": ["output", "experts", "expert_output",
    "iq4"]},
  "tq1_0": {"type": "tq1_0", "file_type": 36, "rules": ["output", "ternary", "experts"]},
  "tq2_0": {"type": "tq2_0", "file_type": 37, "rules": ["output", "ternary", "experts"]},
  "mxfp4": {"type": "mxfp4", "file_type": 38, "rules": ["output", "experts"]},
  "mxfp4_moe": {"type": "q8_0", "file_type": 38, "rules": [
    {"group": "output", "type": "q8_0"},
    {"tensors": "weight$", "stacked": true, "type": "mxfp4"}]},
  "nvfp4": {"type": "nvfp4", "file_type": 39, "rules": ["output", "experts"]},
  "q1_0": {"type": "q1_0", "file_type": 40, "rules": ["output", "experts"]},
  "q2_0": {"type": "q2_0", "file_type": 41, "rules": ["output", "ternary", "experts"]}}
})json";

}  // namespace tq::store::detail
