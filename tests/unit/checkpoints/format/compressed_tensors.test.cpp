// SPDX-License-Identifier: MIT
#include <tq/checkpoints/format/compressed_tensors.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/error_check.hpp"
#include "written_test.hpp"

namespace {

using namespace written_test;
using tq::format::compressed_tensors;
static_assert(tq::io::WritableFormat<compressed_tensors>);

const std::string stem = "model.layers.0.mlp.up_proj.weight";

// Packed integers: the values, whose codes, zero points and scales are those of the parts.
std::vector<float> packed_oracle(const Layer& layer, const File& file, int bits, std::size_t group,
                                 bool is_symmetric) {
  const std::size_t k = layer.weight.inputs, groups = k / group;
  const auto width = static_cast<unsigned>(bits);
  const Tensor &packed = file.tensors.at(stem + "_packed"),
               &scales = file.tensors.at(stem + "_scale");
  CHECK(file.tensors.contains(stem + "_zero_point") != is_symmetric);
  const std::vector<float> stored = tq::io::to_float32(scales);
  return integer_oracle(
      layer, bits, group, is_symmetric, scales.dtype, 0,
      [&](std::size_t n, std::size_t i) { return field(packed.bytes.data(), n * k + i, width); },
      [&](std::size_t n, std::size_t g) {
        if (is_symmetric) return 1u << (bits - 1);
        // Zero points are packed along the outputs: word w of group g holds those of 32 / bits.
        const std::size_t in_word = 32 / width;
        const auto& zeros = file.tensors.at(stem + "_zero_point").bytes;
        return field(zeros.data() + (n / in_word * groups + g) * 4, n % in_word, width);
      },
      [&](std::size_t n, std::size_t g) { return stored.at(n * groups + g); });
}

}  // namespace

TEST_CASE("packed integers of compressed-tensors are the nearest codes of stored scales",
          "[checkpoints][format]") {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const int bits : {2, 3, 4, 5, 6, 8})
      for (const std::size_t group : {std::size_t{0}, std::size_t{32}, std::size_t{128}})
        for (const bool is_symmetric : {true, false}) {
          if (!is_symmetric && bits != 4 && bits != 8) continue;
          INFO(to_string(dtype) << " " << bits << " bits, groups of " << group << " "
                                << is_symmetric);
          const Layer layer(64, 256, dtype);
          const compressed_tensors format{"int" + std::to_string(bits), group, is_symmetric};
          format.require_valid();
          CHECK(format.problem(layer.weight, 1).empty());
          const File file = written(format, layer);
          CHECK(tq::io::values<std::int64_t>(file.tensors.at(stem + "_shape")) ==
                std::vector<std::int64_t>{64, 256});
          check_equal(file.values(),
                      packed_oracle(layer, file, bits, group == 0 ? 256 : group, is_symmetric));
          check_saved(format, layer.weight, file);
        }
}

TEST_CASE("int4 with activations in 8 bits has the tensors of int4", "[checkpoints][format]") {
  const Layer layer(128, 256, DType::bf16);
  for (const std::string scheme : {"w4a8", "w4afp8"})
    for (const std::size_t group : {std::size_t{0}, std::size_t{32}, std::size_t{128}}) {
      if (scheme == "w4afp8" && group != 128) continue;
      INFO(scheme << ", groups of " << group);
      const compressed_tensors format{scheme, group};
      format.require_valid();
      CHECK(format.problem(layer.weight, 1).empty());
      CHECK(format.notes().size() == 1);
      const File file = written(format, layer);
      check_equal(file.values(), packed_oracle(layer, file, 4, group == 0 ? 256 : group, true));
      const File int4 = written(compressed_tensors{"int4", group}, layer);
      CHECK(int4.tensors.size() == file.tensors.size());
      for (const auto& [name, tensor] : int4.tensors)
        CHECK(file.tensors.at(name).bytes == tensor.bytes);
      check_saved(format, layer.weight, file);
    }
}

TEST_CASE("int8 and float8 of compressed-tensors have a stored scale for each output or block",
          "[checkpoints][format]") {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const std::string scheme : {"w8a8", "fp8", "fp8-weight-only", "fp8-block"}) {
      INFO(to_string(dtype) << " " << scheme);
      const bool is_block = scheme == "fp8-block", is_int = scheme == "w8a8";
      const Layer layer(is_block ? 144 : 48, 256, dtype);
      const compressed_tensors format{scheme};
      format.require_valid();
      CHECK(format.problem(layer.weight, 1).empty());
      const File file = written(format, layer);
      check_equal(file.values(),
                  scaled_oracle(layer, file.tensors.at(stem), file.tensors.at(stem + "_scale"),
                                is_block ? 128 : 1, is_block ? 128 : 256, is_int ? 127.5 : 448,
                                is_block ? DType::f32 : dtype));
      check_saved(format, layer.weight, file);
    }
}

TEST_CASE("microscaled weights of compressed-tensors have scales of E8M0",
          "[checkpoints][format]") {
  for (const std::string scheme : {"mxfp4", "mxfp4-dynamic", "mxfp8", "mxfp8-dynamic"}) {
    INFO(scheme);
    const Layer layer(48, 128, DType::bf16);
    const compressed_tensors format{scheme};
    format.require_valid();
    CHECK(format.problem(layer.weight, 1).empty());
    const File file = written(format, layer);
    const bool is_fp4 = scheme.starts_with("mxfp4");
    check_equal(file.values(), mx_oracle(layer, file.tensors.at(stem + (is_fp4 ? "_packed" : "")),
                                         file.tensors.at(stem + "_scale"), is_fp4));
    check_saved(format, layer.weight, file);
  }
}

TEST_CASE("NVFP4 of compressed-tensors has one global scale for a fused set",
          "[checkpoints][format]") {
  for (const float set : {0.0f, 20.0f}) {
    Layer layer(48, 128, DType::bf16);
    layer.weight.set_abs_max = set;
    const compressed_tensors format{"nvfp4"};
    format.require_valid();
    CHECK(format.needs_set_abs_max());
    CHECK(format.problem(layer.weight, 1).empty());
    const File file = written(format, layer);
    float most = set;
    if (set == 0)
      for (const float v : layer.values) most = std::max(most, std::abs(v));
    const std::vector<float> global = tq::io::to_float32(file.tensors.at(stem + "_global_scale"));
    CHECK(global == std::vector<float>{2688 / most});
    check_equal(file.values(), nvfp4_oracle(layer, file.tensors.at(stem + "_packed"),
                                            file.tensors.at(stem + "_scale"), [&](double e) {
                                              return static_cast<float>(e) / global[0];
                                            }));
    check_saved(format, layer.weight, file);
  }
  Layer layer(48, 128, DType::bf16);
  layer.weight.set_abs_max = 0.01f;
  test::raises(tq::errc::bad_argument, {"its fused set, 0.01"},
               [&] { (void)compressed_tensors{"nvfp4"}.quantize(layer.weight, layer.view()); });
}

TEST_CASE("static float8 of compressed-tensors has one scale for a fused set and one for inputs",
          "[checkpoints][format]") {
  const compressed_tensors format{"fp8-static"};
  format.require_valid();
  CHECK((format.needs_set_abs_max() && format.notes().size() == 1));
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const float set : {0.0f, 30.0f}) {
      INFO(to_string(dtype) << " " << set);
      Layer layer(48, 256, dtype);
      layer.weight.inputs_abs_max = 3.7f;
      CHECK(format.needs_inputs_abs_max(layer.weight));
      CHECK(format.problem(layer.weight, 1).empty());
      if (set != 0) layer.at(47, 255) = set;  // the oracle sees the largest magnitude of the set
      layer.weight.set_abs_max = set;
      const File file = written(format, layer);
      CHECK(file.tensors.size() == 3);
      const Tensor &scale = file.tensors.at(stem + "_scale"),
                   &inputs = file.tensors.at(layer.weight.module + ".input_scale");
      CHECK((scale.dtype == dtype && scale.shape == std::vector<std::size_t>{1}));
      CHECK((inputs.dtype == DType::f32 && inputs.shape == std::vector<std::size_t>{1}));
      CHECK(tq::io::to_float32(inputs)[0] == static_cast<float>(double{3.7f} / 448));
      check_equal(file.values(),
                  scaled_oracle(layer, file.tensors.at(stem), scale, 48, 256, 448, dtype));
      check_saved(format, layer.weight, file);
      // A band of rows has the codes of the whole.
      Layer band = layer;
      band.weight.outputs = 16;
      band.weight.band_of = 48;
      for (const float v : layer.values)
        band.weight.set_abs_max = std::max(band.weight.set_abs_max, std::abs(v));
      const std::vector<Tensor> parts =
          format.quantize(band.weight, {layer.values.data(), {16, 256}});
      CHECK(parts.at(1).bytes == scale.bytes);
      CHECK(std::equal(parts[0].bytes.begin(), parts[0].bytes.end(),
                       file.tensors.at(stem).bytes.begin()));
      // Codes under another scale are no codes of the set.
      LinearWeight other = layer.weight;
      other.set_abs_max = 40;
      test::raises(tq::errc::unsupported, {"the scale of its fused set"},
                   [&] { (void)format.save(other, file.load()); });
      other.set_abs_max = 1;
      test::raises(tq::errc::bad_argument, {"magnitudes up to that of its fused set, 1"},
                   [&] { (void)format.quantize(other, layer.view()); });
    }
}

TEST_CASE("NVFP4 with activations has the parts of NVFP4 and a divisor for inputs",
          "[checkpoints][format]") {
  Layer layer(48, 128, DType::bf16);
  const compressed_tensors format{"nvfp4-w4a4"}, plain{"nvfp4"};
  format.require_valid();
  CHECK((format.needs_set_abs_max() && format.needs_inputs_abs_max(layer.weight)));
  CHECK_FALSE(plain.needs_inputs_abs_max(layer.weight));
  for (const float none : {0.0f, -1.0f, NAN}) {
    layer.weight.inputs_abs_max = none;
    test::raises(tq::errc::bad_argument,
                 {layer.weight.module.c_str(), "largest magnitude of its inputs above 0"},
                 [&] { (void)format.quantize(layer.weight, layer.view()); });
  }
  for (const float most : {3.7f, 1e-41f, 3e38f}) {
    layer.weight.inputs_abs_max = most;
    const File file = written(format, layer), without = written(plain, layer);
    CHECK(file.tensors.size() == without.tensors.size() + 1);
    for (const auto& [part, tensor] : without.tensors)
      CHECK(file.tensors.at(part).bytes == tensor.bytes);
    const Tensor& stored = file.tensors.at(layer.weight.module + ".input_global_scale");
    CHECK((stored.dtype == DType::f32 && stored.shape == std::vector<std::size_t>{1}));
    CHECK(double{tq::io::to_float32(stored)[0]} ==
          std::min(rounded(2688 / double{most}, 24, -149), 0x1p118));
    check_equal(file.values(), without.values());
    check_saved(format, layer.weight, file);
  }
}

TEST_CASE("the configuration of compressed-tensors has all keys, and none that it forbids",
          "[checkpoints][format]") {
  const tq::io::WrittenModel model{{"a.q_proj"}, {"a.gate", "lm_head"}, "llama", DType::bf16};
  CHECK(compressed_tensors{"int4", 64, false}.quantization_config(model) ==
        tq::io::parse_json(R"({
    "config_groups": {"group_0": {"format": "pack-quantized", "input_activations": null,
      "output_activations": null, "targets": ["Linear"], "weights": {"actorder": null,
        "block_structure": null, "dynamic": false, "group_size": 64, "num_bits": 4,
        "observer": "memoryless_minmax", "observer_kwargs": {}, "scale_dtype": null,
        "strategy": "group", "symmetric": false, "type": "int", "zp_dtype": "torch.int8"}}},
    "format": "pack-quantized", "global_compression_ratio": null, "ignore": ["a.gate", "lm_head"],
    "kv_cache_scheme": null, "quant_method": "compressed-tensors",
    "quantization_status": "compressed", "sparsity_config": {}, "transform_config": {},
    "version": "0.17.0"})",
                           "expected"));
  const tq::io::Json channel = compressed_tensors{"int8", 0}.quantization_config(model);
  const tq::io::Json& weights = channel["config_groups"]["group_0"]["weights"];
  CHECK(weights["strategy"] == "channel");
  CHECK(weights["group_size"].is_null());
  CHECK(weights["num_bits"] == 8);

  // Activations of another type than the weights: a scale for each token, found as engines run.
  for (const auto& [scheme, type] : {std::pair("w4a8", "int"), std::pair("w4afp8", "float")}) {
    const tq::io::Json group =
        compressed_tensors{scheme}.quantization_config(model)["config_groups"]["group_0"];
    CHECK(group["format"] == "pack-quantized");
    CHECK(group["weights"]["num_bits"] == 4);
    CHECK(group["weights"]["group_size"] == 128);
    tq::io::Json expected = tq::io::parse_json(
        R"({"actorder": null, "block_structure": null, "dynamic": true, "group_size": null,
            "num_bits": 8, "observer": null, "observer_kwargs": {}, "scale_dtype": null,
            "strategy": "token", "symmetric": true, "zp_dtype": null})",
        "expected");
    expected["type"] = type;
    CHECK(group["input_activations"] == expected);
  }
  // Stored scales of activations.
  const auto activations = [&](const char* scheme) {
    return compressed_tensors{scheme}.quantization_config(
        model)["config_groups"]["group_0"]["input_activations"];
  };
  CHECK(activations("fp8-static")["dynamic"] == false);
  CHECK(activations("fp8-static")["strategy"] == "tensor");
  CHECK(activations("fp8-static")["group_size"].is_null());
  CHECK(activations("fp8-static")["scale_dtype"].is_null());
  CHECK(activations("nvfp4-w4a4")["dynamic"] == "local");
  CHECK(activations("nvfp4-w4a4")["strategy"] == "tensor_group");
  CHECK(activations("nvfp4-w4a4")["group_size"] == 16);
  CHECK(activations("nvfp4-w4a4")["scale_dtype"] == "torch.float8_e4m3fn");
  // Activations of the type of the weights, in blocks.
  const tq::io::Json mx = compressed_tensors{"mxfp8-dynamic"}.quantization_config(
      model)["config_groups"]["group_0"]["input_activations"];
  CHECK(mx["group_size"] == 32);
  CHECK(mx["scale_dtype"] == "torch.uint8");
  CHECK(mx["type"] == "float");
  const tq::io::Json block = compressed_tensors{"fp8-block"}.quantization_config(
      model)["config_groups"]["group_0"]["input_activations"];
  CHECK(block["group_size"] == 128);
  CHECK(block["num_bits"] == 8);
}
