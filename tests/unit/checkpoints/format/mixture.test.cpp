// SPDX-License-Identifier: MIT
// Layers of several schemes: their parts are those of each scheme, and the configuration says
// which.
#include <tq/checkpoints/format/mixture.hpp>

#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/mlx.hpp>

#include "support/error_check.hpp"
#include "written_test.hpp"

using namespace written_test;
using tq::format::compressed_tensors;
using tq::format::mixture;
using tq::format::mlx;
using tq::io::Json;

namespace {

const std::string block = "model.layers.0.";

tq::io::WrittenModel model_of(const std::vector<std::string>& modules) {
  return {modules, {"lm_head"}, "llama", DType::bf16};
}

}  // namespace

TEST_CASE("each layer of a mixture is written in its scheme", "[checkpoints][format]") {
  const compressed_tensors int4{"int4", 32}, fp8{.scheme = "fp8"};
  const mixture<compressed_tensors> mixed{{{block + "mlp.up_proj", int4},
                                           {block + "mlp.gate_proj", int4},
                                           {block + "mlp.o_proj", fp8}}};
  mixed.require_valid();
  Layer layer(16, 64, DType::bf16);
  for (const auto& [module, scheme] : mixed.layers) {
    layer.weight.module = module;
    CHECK(mixed.problem(layer.weight, 1).empty());
    CHECK(mixed.rows_at_once(layer.weight) == scheme.rows_at_once(layer.weight));
    const auto parts = mixed.quantize(layer.weight, layer.view());
    const auto expected = scheme.quantize(layer.weight, layer.view());
    const auto declared = mixed.declarations(layer.weight);
    REQUIRE(parts.size() == expected.size());
    REQUIRE(declared.size() == expected.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK(parts[i].name == expected[i].name);
      CHECK(parts[i].bytes == expected[i].bytes);
      CHECK(declared[i].name == expected[i].name);
    }
  }
  layer.weight.module = block + "self_attn.q_proj";
  CHECK(mixed.problem(layer.weight, 1) == "no scheme is chosen");
  test::raises(tq::errc::bad_argument, {"expected a layer with a scheme", "q_proj"},
               [&] { (void)mixed.declarations(layer.weight); });

  const Json config = mixed.quantization_config(
      model_of({block + "mlp.o_proj", block + "mlp.gate_proj", block + "mlp.up_proj"}));
  CHECK(config["format"] == "mixed-precision");
  CHECK(config["ignore"] == Json{"lm_head"});
  CHECK(config["config_groups"].size() == 2);
  const Json &first = config["config_groups"]["group_0"],
             &second = config["config_groups"]["group_1"];
  CHECK(first["targets"] == Json{block + "mlp.o_proj"});
  CHECK(first["format"] == "float-quantized");
  CHECK(first["input_activations"]["strategy"] == "token");
  CHECK(second["targets"] == Json{block + "mlp.gate_proj", block + "mlp.up_proj"});
  CHECK(second["format"] == "pack-quantized");
  CHECK(second["weights"]["group_size"] == 32);
  CHECK(mixed.notes() == fp8.notes());
  CHECK(!mixed.needs_set_abs_max());
}

TEST_CASE("a mixture of one scheme is that scheme with named layers", "[checkpoints][format]") {
  const compressed_tensors int4{"int4", 32};
  const mixture<compressed_tensors> mixed{{{block + "mlp.up_proj", int4}}};
  const auto model = model_of({block + "mlp.up_proj"});
  Json expected = int4.quantization_config(model);
  expected["config_groups"]["group_0"]["targets"] = Json{block + "mlp.up_proj"};
  CHECK(mixed.quantization_config(model) == expected);
}

TEST_CASE("a mixture of MLX names the layers that differ, and experts as one stack",
          "[checkpoints][format]") {
  const mlx four{"affine", 4, 64}, six{"affine", 6, 64}, other{"affine", 6, 32},
      nvfp4{.mode = "nvfp4"};
  const std::string experts = block + "mlp.experts.";
  mixture<mlx> mixed{{{block + "self_attn.o_proj", four},
                      {block + "mlp.shared_expert.down_proj", four},
                      {block + "block_sparse_moe.experts.0.w2", four},
                      {experts + "0.up_proj", six},
                      {experts + "1.up_proj", six}}};
  auto model = model_of({block + "self_attn.o_proj", block + "mlp.shared_expert.down_proj",
                         block + "block_sparse_moe.experts.0.w2", experts + "0.up_proj",
                         experts + "1.up_proj"});
  test::raises(tq::errc::unsupported,
               {"mlx: expected a type of model whose stacks of experts", "\"llama\""},
               [&] { (void)mixed.quantization_config(model); });
  model.model_type = "qwen2_moe";
  const Json config = mixed.quantization_config(model);
  CHECK(config == Json{{"group_size", 64},
                       {"bits", 4},
                       {"mode", "affine"},
                       {block + "mlp.switch_mlp.up_proj",
                        {{"group_size", 64}, {"bits", 6}, {"mode", "affine"}}}});
  CHECK(mixed.more_config(config).at(0).second == config);
  for (const mlx& beside : {other, nvfp4}) {
    mixed.layers[block + "self_attn.o_proj"] = beside;
    test::raises(tq::errc::unsupported, {"mlx: expected groups of one size beside affine codes"},
                 [&] { (void)mixed.quantization_config(model); });
  }
}

TEST_CASE("a mixture that engines do not load is refused", "[checkpoints][format]") {
  const compressed_tensors int4{"int4", 32}, int8{"int8", 32};
  test::raises(tq::errc::unsupported, {"compressed-tensors: expected schemes of layers, got none"},
               [] { mixture<compressed_tensors>{}.require_valid(); });
  test::raises(tq::errc::unsupported, {"expected groups of 32, 64 or 128"}, [&] {
    mixture<compressed_tensors>{{{"a.up_proj", compressed_tensors{"int4", 48}}}}.require_valid();
  });
  const auto fuse = [&](const std::string& a, const std::string& b) {
    (void)mixture<compressed_tensors>{{{a, int4}, {b, int8}}}.quantization_config(model_of({a, b}));
  };
  const std::string attention = block + "self_attn.", experts = block + "mlp.experts.";
  for (const auto& [a, b] : {std::pair{attention + "q_proj", attention + "v_proj"},
                             {block + "mlp.gate_proj", block + "mlp.up_proj"},
                             {experts + "0.up_proj", experts + "1.down_proj"}})
    test::raises(tq::errc::unsupported,
                 {"one scheme for layers that engines fuse", a.c_str(), b.c_str()},
                 [&, a = a, b = b] { fuse(a, b); });
  fuse(attention + "q_proj", attention + "o_proj");
  fuse(attention + "q_proj", "model.layers.1.self_attn.k_proj");
  fuse(experts + "0.up_proj", "model.layers.1.mlp.experts.0.up_proj");
}
