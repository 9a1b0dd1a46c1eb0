// SPDX-License-Identifier: MIT
#include <tq/checkpoints/format/modelopt.hpp>

#include <tuple>

#include "support/error_check.hpp"
#include "written_test.hpp"

namespace {

using namespace written_test;
using tq::format::modelopt;
using tq::io::Json;

const std::string stem = "model.layers.0.mlp.up_proj";

// The single number of a part without axes.
double number(const File& file, const std::string& part) {
  const Tensor& t = file.tensors.at(stem + part);
  CHECK((t.dtype == DType::f32 && t.shape.empty()));
  return double{tq::io::to_float32(t)[0]};
}

}  // namespace

TEST_CASE("static float8 of ModelOpt has scales that multiply, in float32",
          "[checkpoints][format]") {
  const modelopt format{"fp8-static"};
  format.require_valid();
  Layer layer(48, 256, DType::bf16);
  layer.weight.inputs_abs_max = 5.3f;
  layer.weight.set_abs_max = layer.at(47, 0) = 30;
  CHECK((format.needs_set_abs_max() && format.needs_inputs_abs_max(layer.weight)));
  CHECK(format.problem(layer.weight, 1).empty());
  const File file = written(format, layer);
  CHECK(file.tensors.size() == 3);
  CHECK(number(file, ".input_scale") == rounded(double{5.3f} / 448, 24, -149));
  CHECK(number(file, ".weight_scale") == rounded(30.0 / 448, 24, -149));
  check_equal(file.values(),
              scaled_oracle(layer, file.tensors.at(stem + ".weight"),
                            file.tensors.at(stem + ".weight_scale"), 48, 256, 448, DType::f32));
  check_saved(format, layer.weight, file);
}

TEST_CASE("NVFP4 of ModelOpt with activations has the parts of NVFP4 and a factor for inputs",
          "[checkpoints][format]") {
  Layer layer(48, 128, DType::bf16);
  const modelopt format{"nvfp4-w4a4"}, plain;
  CHECK(plain == modelopt{"nvfp4"});
  test::raises(tq::errc::bad_argument, {stem.c_str(), ".input_scale"},
               [&] { (void)format.quantize(layer.weight, layer.view()); });
  layer.weight.inputs_abs_max = 5.3f;
  const File file = written(format, layer), without = written(plain, layer);
  CHECK(file.tensors.size() == without.tensors.size() + 1);
  for (const auto& [part, tensor] : without.tensors)
    CHECK(file.tensors.at(part).bytes == tensor.bytes);
  CHECK(number(file, ".input_scale") == rounded(double{5.3f} / 2688, 24, -149));
  check_equal(file.values(), without.values());
  check_saved(format, layer.weight, file);
}

TEST_CASE("configurations of ModelOpt name the algorithm of weights and activations",
          "[checkpoints][format]") {
  const tq::io::WrittenModel model{{"a.q_proj"}, {"lm_head"}, "llama", DType::bf16};
  const Json four{{"dynamic", false}, {"num_bits", 4}, {"type", "float"}, {"group_size", 16}},
      eight{{"dynamic", false}, {"num_bits", 8}, {"type", "float"}};
  for (const auto& [scheme, codes, algorithm] :
       {std::tuple("nvfp4-w4a4", four, "NVFP4"), std::tuple("fp8-static", eight, "FP8")}) {
    INFO(scheme);
    const modelopt format{scheme};
    const Json config = format.quantization_config(model);
    const Json& group = config["config_groups"]["group_0"];
    CHECK((group["weights"] == codes && group["input_activations"] == codes));
    CHECK(config["quant_algo"] == algorithm);
    const auto more = format.more_config(config);
    REQUIRE(more.size() == 1);
    const Json& file = more[0].second["quantization"];
    CHECK(file["quant_algo"] == algorithm);
    CHECK(file.contains("group_size") == (codes == four));
    CHECK(file["exclude_modules"] == Json::array({"lm_head"}));
  }
  test::raises(tq::errc::unknown_name, {"nvfp4, nvfp4-w4a4, fp8-static, got \"fp8\""},
               [] { modelopt{"fp8"}.require_valid(); });
}
