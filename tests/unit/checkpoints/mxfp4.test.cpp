// SPDX-License-Identifier: MIT
#include <tq/checkpoints/mxfp4.hpp>

#include "checkpoint_test.hpp"

namespace {

using namespace checkpoint_test;
using tq::io::TensorInfo;

// The reason why parts of those shapes are no weight; empty where they are.
std::string misfit(const std::vector<TensorInfo>& parts) {
  const auto found = find(parts);
  if (!found.weights.empty()) return "";
  REQUIRE(!found.left_alone.empty());
  return found.left_alone.begin()->second.reason;
}

// E2M1: the magnitudes of the codes 0 to 7, then the same below 0.
float e2m1(unsigned code) {
  constexpr float magnitudes[8]{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code < 8 ? magnitudes[code] : -magnitudes[code - 8];
}

}  // namespace

TEST_CASE("MXFP4 is read as compressed-tensors and gpt-oss store it", "[checkpoints][mxfp4]") {
  inputs::Random r(31);
  for (const bool is_gpt_oss : {false, true}) {
    const Extents shape = is_gpt_oss ? Extents{2, 64, 3} : Extents{6, 64};  // [experts, K, N]
    std::vector<std::uint8_t> codes(6 * 32), scales(6 * 2);
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.below(256));
    for (auto& s : scales) s = static_cast<std::uint8_t>(115 + r.below(12));
    File file;
    if (is_gpt_oss) {
      file.add("m.experts.down_proj_blocks", {2, 3, 2, 16}, codes);
      file.add("m.experts.down_proj_scales", {2, 3, 2}, scales);
    } else {
      file.add("m.weight_packed", {6, 32}, codes);
      file.add("m.weight_scale", {6, 2}, scales);
    }
    CHECK(file.weight().name == (is_gpt_oss ? "m.experts.down_proj" : "m.weight"));
    CHECK(file.weight().shape == shape);
    CHECK(file.weight().scheme == "mxfp4");
    const std::vector<float> got = file.values();
    REQUIRE(got.size() == 6 * 64);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const unsigned code = i % 2 == 0 ? codes[i / 2] & 15u : codes[i / 2] >> 4;
      const std::size_t row = i / 64, k = i % 64;
      const std::size_t at = is_gpt_oss ? (row / 3 * 64 + k) * 3 + row % 3 : i;
      REQUIRE(got[at] == std::ldexp(e2m1(code), scales[i / 32] - 127));
    }
    const tq::CheckpointTensor loaded = file.load();
    CHECK(loaded.tensor.shape == (is_gpt_oss ? tq::Shape{2, 3, 64} : tq::Shape{6, 64}));
    if (!is_gpt_oss) check_layer(loaded);
  }
}

TEST_CASE("parts that are no MXFP4 are left alone with the reason", "[checkpoints][mxfp4]") {
  const auto packed = [](const Extents& codes, const Extents& scales) {
    return misfit(
        {info("m.weight_packed", DType::u8, codes), info("m.weight_scale", DType::u8, scales)});
  };
  CHECK(packed({6, 32}, {6, 2}).empty());
  CHECK(packed({6, 32}, {6, 4}).find("expected U8 [6, 2], got U8 [6, 4]") != std::string::npos);
  CHECK(packed({6, 20}, {6, 2}).find("whole blocks of 32") != std::string::npos);
  const auto blocks = [](const Extents& codes, const Extents& scales) {
    return misfit(
        {info("m.up_proj_blocks", DType::u8, codes), info("m.up_proj_scales", DType::u8, scales)});
  };
  CHECK(blocks({2, 3, 2, 16}, {2, 3, 2}).empty());
  CHECK(blocks({2, 3, 2, 8}, {2, 3, 2}).find("U8 [..., blocks, 16]") != std::string::npos);
  CHECK(blocks({2, 3, 2, 16}, {2, 3, 1}).find("expected U8 [2, 3, 2]") != std::string::npos);
  // With a global scale it is NVFP4.
  const auto nvfp4 = find({info("m.weight_packed", DType::u8, {6, 32}),
                           info("m.weight_scale", DType::f8_e4m3, {6, 4}),
                           info("m.weight_global_scale", DType::f32, {1})});
  REQUIRE(nvfp4.weights.size() == 1);
  CHECK(nvfp4.weights[0].format == "nvfp4");
}
