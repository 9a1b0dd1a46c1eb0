// SPDX-License-Identifier: MIT
#include <tq/checkpoints/format/compressed_tensors.hpp>

#include <algorithm>

#include "support/error_check.hpp"
#include "written_test.hpp"

namespace {

using namespace written_test;
using tq::format::compressed_tensors;
static_assert(tq::io::WritableFormat<compressed_tensors>);

const std::string stem = "model.layers.0.mlp.up_proj.weight";

// Integers in groups, by the definition of the format in double: the values, whose scales and codes
// are those of the parts.
std::vector<float> packed_oracle(const Layer& layer, const File& file, int bits, std::size_t group,
                                 bool is_symmetric) {
  const std::size_t n = layer.weight.outputs, k = layer.weight.inputs, groups = k / group;
  const Tensor &packed = file.tensors.at(stem + "_packed"),
               &scales = file.tensors.at(stem + "_scale");
  const std::vector<float> stored = tq::io::to_float32(scales);
  const double half = std::ldexp(1.0, bits - 1), levels = 2 * half - 1;
  std::vector<float> out(n * k);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t g = 0; g < groups; ++g) {
      const float* const x = layer.values.data() + i * k + g * group;
      const double low = std::min(0.0f, *std::min_element(x, x + group)),
                   high = std::max(0.0f, *std::max_element(x, x + group));
      const double range =
          is_symmetric ? 2 * std::max(-low, high) : double{static_cast<float>(high - low)};
      const double exact = static_cast<float>(range / levels);
      const double scale = exact < 0x1p-127 ? 1.0 : stored_scale(exact, scales.dtype);
      CHECK(double{stored[i * groups + g]} == scale);
      double zero = half;
      if (!is_symmetric) {
        zero =
            std::clamp(std::nearbyint(double{static_cast<float>(-low) / static_cast<float>(scale)}),
                       0.0, levels);
        // Zero points are packed along the outputs: word w of group g holds those of 32 / bits.
        const Tensor& zeros = file.tensors.at(stem + "_zero_point");
        const auto per_word = static_cast<std::size_t>(32 / bits);
        const std::byte* const word = zeros.bytes.data() + (i / per_word * groups + g) * 4;
        CHECK(field(word, i % per_word, static_cast<unsigned>(bits)) == zero);
      }
      for (std::size_t j = 0; j < group; ++j) {
        const auto quotient = static_cast<double>(x[j] / static_cast<float>(scale));
        const double code = std::clamp(std::nearbyint(quotient) + zero, 0.0, levels);
        const std::size_t at = i * k + g * group + j;
        if (field(packed.bytes.data(), at, static_cast<unsigned>(bits)) != code)
          FAIL_CHECK("another code at " << at);
        out[at] = static_cast<float>((code - zero) * scale);
      }
    }
  return out;
}

}  // namespace

TEST_CASE("packed integers of compressed-tensors are the nearest codes of stored scales",
          "[checkpoints][format]") {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const int bits : {4, 8})
      for (const std::size_t group : {std::size_t{0}, std::size_t{32}, std::size_t{128}})
        for (const bool is_symmetric : {true, false}) {
          INFO(to_string(dtype) << " " << bits << " bits, groups of " << group << " "
                                << is_symmetric);
          const Layer layer(64, 256, dtype);
          const compressed_tensors format{bits == 4 ? "int4" : "int8", group, is_symmetric};
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
}
