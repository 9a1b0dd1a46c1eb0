// SPDX-License-Identifier: MIT
#include <tq/checkpoints/awq.hpp>
#include <tq/checkpoints/gptq.hpp>
#include <tq/layouts/awq.hpp>

#include "checkpoint_test.hpp"

using namespace checkpoint_test;

TEST_CASE("GPTQ and AWQ are told apart, and every part belongs to its weight",
          "[checkpoints][awq]") {
  const auto found =
      find({info("g.qweight", DType::i32, {16, 64}), info("g.qzeros", DType::i32, {4, 8}),
            info("g.scales", DType::f16, {4, 64}), info("g.g_idx", DType::i32, {128}),
            info("a.qweight", DType::i32, {128, 8}), info("a.qzeros", DType::i32, {4, 8}),
            info("a.scales", DType::f16, {4, 64}), info("h.qweight", DType::i32, {12, 64}),
            info("h.qzeros", DType::i32, {4, 6}), info("h.scales", DType::bf16, {4, 64}),
            info("a.bias", DType::f16, {64}), info("a.input_scale", DType::f32, {1, 1})});
  REQUIRE(found.weights.size() == 3);
  CHECK(found.weights[0].format == tq::checkpoints::Gptq::name);
  CHECK(found.weights[0].scheme == "gptq uint4, groups of 32");
  CHECK(found.weights[0].parts.size() == 4);
  CHECK(found.weights[1].format == tq::checkpoints::Awq::name);
  CHECK(found.weights[1].scheme == "awq uint4, groups of 32");
  CHECK(found.weights[1].shape == Extents{64, 128});
  CHECK(found.weights[1].dtype == DType::f16);
  CHECK(found.weights[2].bits == 3);
  CHECK(found.weights[2].dtype == DType::bf16);
  CHECK(found.left_alone.size() == 1);
  CHECK(found.left_alone.at("a.input_scale").reason == "scales of activations");
  CHECK_FALSE(found.left_alone.at("a.input_scale").is_unreadable);
}

TEST_CASE("a weight that is there as floats as well is no quantized one", "[checkpoints][awq]") {
  const auto found =
      find({info("a.weight", DType::f16, {64, 128}), info("a.qweight", DType::i32, {128, 8}),
            info("a.qzeros", DType::i32, {4, 8}), info("a.scales", DType::f16, {4, 64})});
  CHECK(found.weights.empty());
  CHECK(found.left_alone.size() == 3);
  CHECK_FALSE(found.left_alone.contains("a.weight"));
}

TEST_CASE("AWQ weights go to values and to layers", "[checkpoints][awq]") {
  inputs::Random r(41);
  for (const tq::GroupedShape shape :
       {tq::GroupedShape{64, 24, 32}, tq::GroupedShape{72, 8, 64}, tq::GroupedShape{17, 16, 17}}) {
    const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
    std::vector<std::uint8_t> codes(k * n);
    std::vector<std::int32_t> zeros(groups * n), qweight(k * n / 8), qzeros(groups * n / 8);
    std::vector<float> scales(groups * n);
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.below(16));
    for (auto& z : zeros) z = r.between(0, 15);
    for (float& s : scales) s = r.chance(5) ? 0.0f : static_cast<float>(r.unit());
    tq::layouts::awq::store(shape, codes, zeros, qweight, qzeros);
    File file;
    file.hints.group_size = shape.group_size;
    file.add("q.qweight", {k, n / 8}, qweight);
    file.add("q.qzeros", {groups, n / 8}, qzeros);
    file.add("q.scales", {groups, n}, scales);
    const tq::CheckpointTensor loaded = file.load();
    CHECK(loaded.tensor.spec.type == "uint4");
    const std::vector<float> values = decode(loaded);
    REQUIRE(values.size() == k * n);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t output = i / k, input = i % k, p = input / shape.group_size * n + output;
      REQUIRE(values[i] ==
              static_cast<float>(double{scales[p]} * (codes[input * n + output] - zeros[p])));
    }
    check_layer(loaded);
  }
}
