// SPDX-License-Identifier: MIT
// Requests that no engine runs, each with its reason; configurations; codes that a format cannot
// hold.
#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/fp8.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/checkpoints/format/modelopt.hpp>
#include <tq/checkpoints/format/mxfp4.hpp>

#include <functional>
#include <limits>

#include "support/error_check.hpp"
#include "written_test.hpp"

namespace {

using namespace written_test;
using namespace tq::format;
using tq::errc;
using tq::io::Json;
using tq::io::WrittenModel;

// The reason of a format against a layer under tensor parallelism.
template <class Format>
std::string problem(const Format& format, const std::string& module, std::size_t outputs,
                    std::size_t inputs, std::size_t processors = 1, std::size_t experts = 0) {
  return format.problem({"model.layers.0." + module, outputs, inputs, DType::bf16, experts},
                        processors);
}

Json json(const char* text) { return tq::io::parse_json(text, "expected"); }

}  // namespace

TEST_CASE("options that no engine runs are refused with the limit", "[checkpoints][format]") {
  struct Case {
    std::function<void()> ask;
    errc code;
    const char* reason;
  };
  const auto valid = [](const auto& format) { return [=] { format.require_valid(); }; };
  constexpr const char* marlin = "groups of 32, 64 or 128 inputs";
  const std::vector<Case> cases{
      {valid(compressed_tensors{"int4", 16}), errc::unsupported, marlin},
      {valid(compressed_tensors{"int4", 256}), errc::unsupported, marlin},
      {valid(compressed_tensors{"int8", 100}), errc::unsupported,
       "Marlin kernels of vLLM have, got 100"},
      {valid(compressed_tensors{"int7"}), errc::unknown_name,
       "int4, int8, int6, int5, int3, int2, w8a8, w4a8, w4afp8"},
      {valid(compressed_tensors{"int2", 128, false}), errc::unsupported, "int2 to be symmetric"},
      {valid(compressed_tensors{"int3", 128, false}), errc::unsupported, "int3 to be symmetric"},
      {valid(compressed_tensors{"int5", 16}), errc::unsupported, marlin},
      {valid(compressed_tensors{""}), errc::unknown_name, "got \"\""},
      {valid(compressed_tensors{"w8a8", 128, false}), errc::unsupported, "w8a8 to be symmetric"},
      {valid(compressed_tensors{"w4a8", 128, false}), errc::unsupported, "w4a8 to be symmetric"},
      {valid(compressed_tensors{"w4a8", 16}), errc::unsupported, marlin},
      {valid(compressed_tensors{"w4afp8", 128, false}), errc::unsupported, "to be symmetric"},
      {valid(compressed_tensors{"w4afp8", 64}), errc::unsupported,
       "groups of 128 inputs for w4afp8, which the kernels of vLLM have, got 64"},
      {valid(compressed_tensors{"fp8", 128, false}), errc::unsupported, "fp8 to be symmetric"},
      {valid(compressed_tensors{"nvfp4", 128, false}), errc::unsupported, "nvfp4 to be symmetric"},
      {valid(compressed_tensors{"mxfp8", 128, false}), errc::unsupported, "mxfp8 to be symmetric"},
      {valid(gptq{5}), errc::unsupported, "2, 3, 4 or 8 bits, which GPTQModel packs, got 5"},
      {valid(gptq{16}), errc::unsupported, "got 16"},
      {valid(gptq{4, 16}), errc::unsupported, marlin},
      {valid(gptq{4, 1024}), errc::unsupported, marlin},
      {valid(gptq{4, 128, true, 3}), errc::unsupported, "version 1 or 2"},
      {valid(awq{16}), errc::unsupported, "vLLM (Marlin) and mlx-lm have, got 16"},
      {valid(awq{0}), errc::unsupported, "got 0"},
      {valid(bitsandbytes{"int4"}), errc::unknown_name, "nf4, fp4 or int8, got \"int4\""},
      {valid(bitsandbytes{"int8", true}), errc::unsupported, "nf4 or fp4 for double quantization"},
      {valid(mlx{"affine", 7}), errc::unsupported, "2, 3, 4, 5, 6 or 8 bits"},
      {valid(mlx{"affine", 1}), errc::unsupported, "got 1"},
      {valid(mlx{"affine", 4, 16}), errc::unsupported, "32, 64 or 128 inputs"},
      {valid(mlx{"int4"}), errc::unknown_name, "affine, mxfp4, mxfp8 or nvfp4"},
      {[] { (void)mxfp4{}.quantization_config({{}, {}, "llama", DType::bf16}); }, errc::unsupported,
       "a model of type gpt_oss"},
      {[] { (void)awq{}.quantization_config({{"a.gate_proj"}, {"a.gate"}, "", DType::f16}); },
       errc::unsupported, "a.gate, which stays float, and a.gate_proj"},
      {[] { (void)fp8{}.quantization_config({{"a.gate_proj"}, {"a.gate"}, "", DType::f16}); },
       errc::unsupported, "by their beginnings"},
      {[] { (void)bitsandbytes{}.quantization_config({{"a.bc"}, {"a.b"}, "", DType::f16}); },
       errc::unsupported, "by their beginnings"},
  };
  for (const Case& c : cases) test::raises(c.code, {c.reason}, c.ask);
}

TEST_CASE("layers that an engine cannot run stay floats, with the reason",
          "[checkpoints][format]") {
  struct Case {
    std::string got, reason;
  };
  const compressed_tensors int4, channel{"int4", 0}, asymmetric{"int4", 128, false}, w8a8{"w8a8"},
      dynamic{"fp8"}, block{"fp8-block"}, nvfp4{"nvfp4"}, ct_mxfp4{"mxfp4"}, mxfp8{"mxfp8-dynamic"};
  const std::vector<Case> cases{
      {problem(int4, "up_proj", 256, 192), "inputs of a processor: expected a multiple of 128"},
      {problem(int4, "up_proj", 24, 256), "outputs of a processor: expected a multiple of 16"},
      {problem(int4, "mlp.down_proj", 8192, 29568, 4),
       "multiple of 128 (its groups, in whole words), got 7392"},
      {problem(int4, "up_proj", 100, 256, 3), "100 outputs are not divisible among 3 processors"},
      {problem(int4, "o_proj", 256, 128, 3), "128 inputs are not divisible among 3 processors"},
      {problem(int4, "experts", 256, 256, 1, 8), "expected a matrix for each expert"},
      {problem(channel, "up_proj", 256, 40), "expected a multiple of 32"},
      {problem(asymmetric, "up_proj", 48, 256),
       "outputs of a processor: expected a multiple of 32"},
      {problem(compressed_tensors{"w4a8"}, "up_proj", 24, 256),
       "outputs of a processor: expected a multiple of 16"},
      {problem(compressed_tensors{"w4afp8"}, "up_proj", 192, 256),
       "outputs of a processor: expected a multiple of 128"},
      {problem(compressed_tensors{"w4afp8"}, "up_proj", 256, 192),
       "inputs of a processor: expected a multiple of 128"},
      {compressed_tensors{"w4afp8"}.problem({"up_proj", 256, 256, DType::f16}, 1),
       "expected a model in bfloat16 for w4afp8, got F16"},
      {problem(w8a8, "up_proj", 256, 24), "inputs of a processor: expected a multiple of 16"},
      {problem(w8a8, "up_proj", 24, 256), "outputs of a processor: expected a multiple of 16"},
      {problem(dynamic, "up_proj", 40, 256), "outputs of a processor: expected a multiple of 16"},
      {problem(block, "up_proj", 256, 192), "expected a multiple of 128 (its blocks)"},
      {problem(block, "gate_proj", 192, 256), "which begin anew in a fused set), got 192"},
      {problem(block, "up_proj", 192, 256, 2), "got 96"},
      {problem(nvfp4, "up_proj", 256, 24), "expected a multiple of 16"},
      {problem(ct_mxfp4, "up_proj", 256, 48), "expected a multiple of 32 (its blocks), got 48"},
      {problem(mxfp8, "down_proj", 256, 96, 2), "expected a multiple of 32 (its blocks), got 48"},
      {problem(gptq{}, "up_proj", 48, 256), "outputs of a processor: expected a multiple of 32"},
      {problem(gptq{4, 64}, "up_proj", 256, 96),
       "inputs of a processor: expected a multiple of 64"},
      {problem(gptq{3, 0}, "up_proj", 256, 40), "expected a multiple of 32"},
      {problem(awq{64}, "up_proj", 256, 96), "expected a multiple of 64 (its groups), got 96"},
      {problem(awq{}, "up_proj", 40, 256), "expected a multiple of 32"},
      {problem(awq{}, "w2", 256, 256, 4), "multiple of 128 (its groups), got 64"},
      {problem(bitsandbytes{}, "experts.0.up_proj", 256, 256), "bitsandbytes#1849"},
      {problem(bitsandbytes{}, "up_proj", 256, 256, 2), "not divided among processors"},
      {problem(fp8{}, "down_proj", 256, 4608, 8), "got 576"},
      {problem(fp8{}, "q_proj", 192, 256), "begin anew in a fused set), got 192"},
      {problem(modelopt{}, "up_proj", 256, 24), "expected a multiple of 16 (its blocks), got 24"},
      {problem(modelopt{}, "up_proj", 40, 256),
       "outputs of a processor: expected a multiple of 16"},
      {problem(mxfp4{}, "up_proj", 256, 256), "experts only"},
      {problem(mxfp4{}, "experts.up_proj", 256, 48, 1, 4), "expected a multiple of 32"},
      {problem(mlx{}, "up_proj", 256, 96), "expected a multiple of 64 (its groups), got 96"},
      {problem(mlx{"nvfp4"}, "up_proj", 256, 48), "expected a multiple of 32"},
      {problem(mlx{}, "a.kv_b_proj", 256, 128), "quantize the halves anew"},
      {problem(mlx{}, "up_proj", 0, 0), "expected a multiple of 64"},
  };
  for (const Case& c : cases) {
    INFO("got: " << c.got << "\nexpected: " << c.reason);
    CHECK(c.got.find(c.reason) != std::string::npos);
  }
  CHECK(problem(block, "v_proj", 192, 256).empty());
  CHECK(problem(fp8{}, "kv_a_proj_with_mqa", 576, 256).empty());
  CHECK(problem(int4, "q_proj", 8192, 128, 8).empty());  // which divides outputs
}

TEST_CASE("configurations have the keys that engines read", "[checkpoints][format]") {
  const WrittenModel model{{"a.q_proj"}, {"a.gate", "lm_head"}, "gpt_oss", DType::bf16};
  const auto notes = [](const auto& format) { return format.notes().size(); };
  Json expected = json(R"({"bits": 4, "group_size": 128, "sym": true, "desc_act": false,
    "damp_percent": 0.1, "true_sequential": true, "lm_head": false, "checkpoint_format": "gptq",
    "pack_dtype": "int32", "dynamic": {"-:^a\\.gate$": {}}})");
  expected["meta"]["quantizer"] = {"tq:" + tq::io::detail::version_text()};
  CHECK(gptq{}.more_config(gptq{}.quantization_config(model)) ==
        std::vector<std::pair<std::string, Json>>{{"quantize_config.json", expected}});
  expected["quant_method"] = "gptq";
  CHECK(gptq{}.quantization_config(model) == expected);
  const Json channel = gptq{8, 0, false, 2}.quantization_config({{}, {"lm_head"}, "", DType::f16});
  CHECK(channel["group_size"] == -1);
  CHECK(channel["sym"] == false);
  CHECK(channel["checkpoint_format"] == "gptq_v2");
  CHECK(!channel.contains("dynamic"));
  CHECK(gptq{}.quantization_config({{"lm_head"}, {}, "", DType::f16})["lm_head"] == true);

  CHECK(awq{}.quantization_config(model) == json(R"({"quant_method": "awq", "bits": 4,
    "group_size": 128, "zero_point": true, "version": "gemm",
    "modules_to_not_convert": ["a.gate", "lm_head"]})"));
  CHECK(fp8{}.quantization_config(model) == json(R"({"activation_scheme": "dynamic", "fmt": "e4m3",
    "quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["a.gate", "lm_head"]})"));
  CHECK(mxfp4{}.quantization_config(model) == json(R"({"quant_method": "mxfp4",
    "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
    "model.embed_tokens", "lm_head"]})"));
  CHECK(bitsandbytes{"nf4", true}.quantization_config(model) == json(R"({"_load_in_4bit": true,
    "_load_in_8bit": false, "bnb_4bit_compute_dtype": "bfloat16",
    "bnb_4bit_quant_storage": "uint8", "bnb_4bit_quant_type": "nf4",
    "bnb_4bit_use_double_quant": true, "llm_int8_enable_fp32_cpu_offload": false,
    "llm_int8_has_fp16_weight": false, "llm_int8_skip_modules": ["a.gate", "lm_head"],
    "llm_int8_threshold": 6.0, "load_in_4bit": true, "load_in_8bit": false,
    "quant_method": "bitsandbytes"})"));
  const Json int8 = bitsandbytes{"int8"}.quantization_config(model);
  CHECK((int8["load_in_8bit"] == true && int8["load_in_4bit"] == false));
  CHECK(mlx{"affine", 6, 32}.quantization_config(model) ==
        json(R"({"group_size": 32, "bits": 6, "mode": "affine"})"));
  test::raises(errc::unsupported,
               {"whose stacks of experts mlx-lm loads", "qwen3_next", "experts.1.up_proj"}, [] {
                 (void)mlx{}.quantization_config(
                     {{"a.q_proj", "a.experts.1.up_proj"}, {}, "qwen3_next", DType::bf16});
               });
  CHECK(mlx{}.quantization_config({{"a.experts.1.w1"}, {}, "mixtral", DType::bf16})["bits"] == 4);
  CHECK(mlx{"nvfp4"}.more_config(mlx{"nvfp4"}.quantization_config(model)) ==
        std::vector<std::pair<std::string, Json>>{
            {"quantization", json(R"({"group_size": 16, "bits": 4, "mode": "nvfp4"})")}});
  CHECK(modelopt{}.quantization_config(model) == json(R"({"config_groups": {"group_0": {"weights":
    {"dynamic": false, "num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}},
    "ignore": ["a.gate", "lm_head"], "quant_algo": "W4A16_NVFP4",
    "producer": {"name": "modelopt", "version": "0.37.0"}, "quant_method": "modelopt"})"));
  CHECK(modelopt{}.more_config(modelopt{}.quantization_config(model)) ==
        std::vector<std::pair<std::string, Json>>{
            {"hf_quant_config.json",
             json(R"({"producer": {"name": "modelopt", "version": "0.37.0"}, "quantization":
               {"quant_algo": "W4A16_NVFP4", "kv_cache_quant_algo": null, "group_size": 16,
                "exclude_modules": ["a.gate", "lm_head"]}})")}});
  for (const char* scheme : {"w8a8", "fp8", "fp8-block", "mxfp4-dynamic"}) {
    const Json group =
        compressed_tensors{scheme}.quantization_config(model)["config_groups"]["group_0"];
    const Json &a = group["input_activations"], &w = group["weights"];
    INFO(scheme);
    CHECK(a["dynamic"] == true);
    CHECK(a["observer"].is_null());
    CHECK(a["type"] == w["type"]);
    CHECK(a["num_bits"] == w["num_bits"]);
    CHECK(a.size() == 12);
    CHECK(w.size() == 12);
  }
  const Json blocks =
      compressed_tensors{"fp8-block"}.quantization_config(model)["config_groups"]["group_0"];
  CHECK(blocks["weights"]["block_structure"] == Json::array({128, 128}));
  CHECK(blocks["input_activations"]["group_size"] == 128);
  CHECK(blocks["input_activations"]["strategy"] == "group");
  CHECK((notes(compressed_tensors{}) == 0 && notes(compressed_tensors{"int4", 128, false}) == 1));
  CHECK((notes(compressed_tensors{"nvfp4"}) == 1 &&
         notes(compressed_tensors{"int8", 0, false}) == 2));
  CHECK((notes(gptq{}) == 0 && notes(gptq{3, 128, false}) == 2));
}

TEST_CASE("codes that a format cannot hold are not saved", "[checkpoints][format]") {
  const Layer layer(32, 128, DType::bf16);
  const tq::io::LinearWeight& weight = layer.weight;
  const auto refuse = [](const auto& format, const tq::io::LinearWeight& to,
                         const tq::CheckpointTensor& codes, const char* reason) {
    test::raises(errc::unsupported, {reason}, [&] { (void)format.save(to, codes); });
  };
  const auto loaded = [&](const auto& format, const tq::io::CheckpointHints& hints = {}) {
    return written(format, layer, hints).load();
  };
  const tq::CheckpointTensor int4 = loaded(compressed_tensors{"int4", 32});
  refuse(compressed_tensors{"int4", 64}, weight, int4, "groups of 64 inputs");
  refuse(compressed_tensors{"int8", 32}, weight, int4, "8 bits");
  refuse(compressed_tensors{"fp8"}, weight, int4, "float8_e4m3fn");
  refuse(compressed_tensors{"w8a8"}, weight, int4, "int8");
  refuse(compressed_tensors{"int4", 32}, Layer(32, 64, DType::bf16).weight, int4, "[32, 64]");
  refuse(mlx{"mxfp4"}, weight, int4, "float4_e2m1fn");
  refuse(bitsandbytes{}, weight, int4, "nf4");
  refuse(modelopt{}, weight, loaded(compressed_tensors{"mxfp4"}), "[1, 16]");
  refuse(compressed_tensors{"mxfp4"}, weight, loaded(compressed_tensors{"nvfp4"}), "[1, 32]");
  refuse(compressed_tensors{"nvfp4"}, weight, loaded(mlx{"nvfp4"}), "under one scale");
  refuse(bitsandbytes{"nf4", true}, weight, loaded(bitsandbytes{}), "double-quantized");
  // Scales of F16 that BF16 does not hold, and zero points that a symmetric scheme does not have.
  const tq::CheckpointTensor half = loaded(gptq{4, 32});
  refuse(compressed_tensors{"int4", 32}, weight, half, "scales that BF16 holds");
  refuse(compressed_tensors{"int4", 32}, weight, loaded(awq{32}), "zero points other than 8");
  test::raises(errc::bad_zero_point, {"checkpoint_format gptq"}, [&] {
    (void)gptq{4, 32, false, 1}.save(weight, loaded(gptq{4, 32, false, 2}, {.is_gptq_v2 = true}));
  });
  tq::CheckpointTensor ordered = half;
  for (std::size_t i = 128; i-- > 0;) ordered.input_order.push_back(i);
  refuse(gptq{4, 32}, weight, ordered, "desc_act");
  tq::CheckpointTensor factors = half;
  factors.factors = {2.0f};
  refuse(gptq{4, 32}, weight, factors, "factors");
}

TEST_CASE("codes of one format are saved in another without a change of values",
          "[checkpoints][format]") {
  const Layer layer(32, 128, DType::f16);
  const auto saved = [&](const auto& format, const tq::CheckpointTensor& codes,
                         const tq::io::CheckpointHints& hints = {}) {
    File out;
    out.hints = hints;
    for (const Tensor& t : format.save(layer.weight, codes)) out.add(t);
    return out.values();
  };
  const File of_gptq = written(gptq{4, 32}, layer);
  check_equal(saved(compressed_tensors{"int4", 32}, of_gptq.load()), of_gptq.values());
  check_equal(saved(awq{32}, of_gptq.load()), of_gptq.values());
  const File of_awq = written(awq{64}, layer);
  check_equal(saved(compressed_tensors{"int4", 64, false}, of_awq.load()), of_awq.values());
  check_equal(saved(gptq{4, 64, false, 2}, of_awq.load(), {.is_gptq_v2 = true}), of_awq.values());
  const File symmetric = written(compressed_tensors{"int8", 32}, layer);
  check_equal(saved(gptq{8, 32}, symmetric.load()), symmetric.values());
  check_equal(saved(mlx{"mxfp4"}, written(compressed_tensors{"mxfp4"}, layer).load()),
              written(compressed_tensors{"mxfp4"}, layer).values());
}

TEST_CASE("weights that have no codes are refused", "[checkpoints][format]") {
  Layer layer(32, 128, DType::f16);
  layer.at(3, 5) = std::numeric_limits<float>::quiet_NaN();
  test::raises(errc::not_finite, {"1 NaN"},
               [&] { (void)gptq{}.quantize(layer.weight, layer.view()); });
  layer.at(3, 5) = 1e6f;
  test::raises(errc::bad_scale, {"65504"},
               [&] { (void)awq{}.quantize(layer.weight, layer.view()); });
}
