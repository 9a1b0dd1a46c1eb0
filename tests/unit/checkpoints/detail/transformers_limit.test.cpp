// SPDX-License-Identifier: MIT
// Models that transformers does not load in a format, with the reason.
#include <tq/checkpoints/detail/transformers_limit.hpp>

#include <tq/json/json_text.hpp>

#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using namespace tq::io;

namespace {

std::string limit(const char* config, const std::string& type, bool has_experts) {
  WrittenModel model;
  model.model_type = type;
  model.quantized = {has_experts ? "model.layers.0.mlp.experts.0.up_proj"
                                 : "model.layers.0.mlp.up_proj"};
  return detail::transformers_limit(Json::parse(config), model);
}

constexpr const char* int4 = R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
    {"format": "pack-quantized", "weights": {"symmetric": true}}}})";
constexpr const char* asymmetric = R"({"quant_method": "compressed-tensors", "config_groups":
    {"group_0": {"format": "pack-quantized", "weights": {"symmetric": false}}}})";
constexpr const char* w8a8 = R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
    {"format": "int-quantized", "weights": {"symmetric": true}}}})";
constexpr const char* fp8 = R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
    {"format": "float-quantized", "weights": {"symmetric": true}, "input_activations": null}}})";
constexpr const char* static_fp8 = R"({"quant_method": "compressed-tensors", "config_groups":
    {"group_0": {"format": "float-quantized", "weights": {"symmetric": true}, "input_activations":
    {"dynamic": false}}}})";

}  // namespace

TEST_CASE("classes that read float weights take no packed layers", "[checkpoints]") {
  for (const char* const type : {"falcon", "mamba", "mamba2", "gpt_bigcode"}) {
    CHECK(test::has(limit(int4, type, false), "reads float weights"));
    CHECK(test::has(limit(R"({"quant_method": "gptq"})", type, false), type));
    CHECK(limit(w8a8, type, false).empty());
    CHECK(limit(R"({"quant_method": "bitsandbytes"})", type, false).empty() ==
          (type != std::string_view("falcon")));
  }
  CHECK(limit(int4, "llama", false).empty());
}

TEST_CASE("schemes of experts that transformers does not load have a reason", "[checkpoints]") {
  CHECK(limit(int4, "qwen3_moe", true).empty());
  CHECK(limit(fp8, "qwen3_moe", true).empty());
  CHECK(limit(R"({"quant_method": "fp8"})", "qwen3_moe", true).empty());
  CHECK(test::has(limit(w8a8, "qwen3_moe", true), "mixtures of experts in int-quantized"));
  CHECK(test::has(limit(asymmetric, "qwen3_moe", true), "asymmetric pack-quantized"));
  CHECK(test::has(limit(static_fp8, "qwen3_moe", true), "stored scales of activations"));
  CHECK(limit(static_fp8, "llama", false).empty());
  CHECK(test::has(limit(R"({"quant_method": "awq"})", "qwen3_moe", true), "experts in awq"));
  for (const char* const config : {w8a8, asymmetric}) {
    CHECK(limit(config, "qwen3_moe", false).empty());
    CHECK(limit(config, "llama4", true).empty());
  }
  for (const char* const config : {int4, fp8})
    for (const char* const type : {"qwen3_vl_moe", "qwen3_vl_moe_text"}) {
      CHECK(test::has(limit(config, type, true), "loads experts as one tensor alone"));
      CHECK(limit(config, type, false).empty());
    }
}

TEST_CASE("experts in float have a reason beside integers", "[checkpoints]") {
  WrittenModel model;
  model.model_type = "mixtral";
  model.quantized = {"model.layers.0.self_attn.q_proj"};
  CHECK(detail::transformers_limit(Json::parse(int4), model).empty());
  model.has_float_experts = true;
  CHECK(test::has(detail::transformers_limit(Json::parse(int4), model), "experts in float"));
  CHECK(test::has(detail::transformers_limit(Json::parse(w8a8), model), "experts in float"));
  CHECK(detail::transformers_limit(Json::parse(fp8), model).empty());
  CHECK(limit(R"({"quant_method": "bitsandbytes"})", "mixtral", false).empty());
  CHECK(test::has(limit(R"({"quant_method": "bitsandbytes"})", "llama4", false), "one by one"));
}

TEST_CASE("configurations of other programs have no limit", "[checkpoints]") {
  CHECK(limit("null", "falcon", true).empty());
  CHECK(limit(R"({"bits": 4})", "falcon", true).empty());
}
