// SPDX-License-Identifier: MIT
#include <tq/checkpoints/quantized_checkpoint.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "checkpoint_test.hpp"
#include "support/extents.hpp"

namespace {

using namespace checkpoint_test;
using namespace tq::checkpoints;
using Shape = Extents;
using tq::io::TensorInfo;

}  // namespace

TEST_CASE("a model of floats has no quantized weights", "[quantized_checkpoint]") {
  const auto found =
      find({info("a.weight", DType::f32, {4, 4}), info("a.bias", DType::f32, {4}),
            info("b.weight", DType::f8_e4m3, {4, 4}), info("steps", DType::i64, {}),
            info("norm.scale", DType::f32, {4}), info("a.g_idx_of_mine", DType::i32, {4})});
  CHECK(found.weights.empty());
  CHECK(found.left_alone.empty());
}

TEST_CASE("parts without their weight are no weights", "[quantized_checkpoint]") {
  for (const char* name :
       {"w_scale_inv", "a.weight_scale", "a.weight_scale_2", "a.qzeros", "a.weight.absmax", "a.SCB",
        "a.scale_weight", "a.weight_global_scale", "a.weight_zero_point"}) {
    INFO(name);
    CHECK(find({info(name, DType::f32, {4, 4})}).left_alone.contains(name));
  }
  const auto half = find({info("a.qweight", DType::i32, {128, 8})});
  CHECK(half.left_alone.at("a.qweight").is_unreadable);
}

TEST_CASE("a weight is found by its least parts, with a layer in front of its name or without",
          "[quantized_checkpoint]") {
  for (const std::string base : {"", "a.", "model.layers.0.q_proj."}) {
    INFO(base);
    for (const char* scales : {"weight_scale_inv", "weight_scale", "scale_weight", "scale"}) {
      INFO(scales);
      const auto found = find(
          {info(base + "weight", DType::f8_e4m3, {4, 4}), info(base + scales, DType::f32, {1})});
      REQUIRE(found.weights.size() == 1);
      CHECK(found.weights[0].format == ScaledFloat8::name);
    }
    const auto int8 = find({info(base + "weight", DType::i8, {4, 4}),
                            info(base + "weight_scale", DType::f32, {4, 1})});
    REQUIRE(int8.weights.size() == 1);
    CHECK(int8.weights[0].format == Int8Scaled::name);
    const auto rows =
        find({info(base + "weight", DType::i8, {4, 4}), info(base + "SCB", DType::f32, {4})});
    REQUIRE(rows.weights.size() == 1);
    CHECK(rows.weights[0].format == Bitsandbytes8Bit::name);
    const auto nvfp4 = find({info(base + "weight", DType::u8, {4, 8}),
                             info(base + "weight_scale", DType::f8_e4m3, {4, 1}),
                             info(base + "weight_scale_2", DType::f32, {})});
    REQUIRE(nvfp4.weights.size() == 1);
    CHECK(nvfp4.weights[0].format == Nvfp4::name);
    // Alone these are weights of which something is missing.
    for (const char* alone : {"qweight", "weight_packed"})
      CHECK(
          find({info(base + alone, DType::i32, {4, 4})}).left_alone.at(base + alone).is_unreadable);
    const auto blocks4 = find(
        {info(base + "weight", DType::u8, {8, 1}), info(base + "weight.absmax", DType::f32, {1})});
    CHECK(blocks4.left_alone.at(base + "weight").is_unreadable);
  }
}

TEST_CASE("a tensor that may be part of two weights is part of the first one",
          "[quantized_checkpoint]") {
  // Int8 and scales may be two formats; SCB counts.
  const auto found =
      find({info("a.weight", DType::i8, {4, 4}), info("a.weight_scale", DType::f32, {4, 1}),
            info("a.SCB", DType::f32, {4})});
  REQUIRE(found.weights.size() == 1);
  CHECK(found.weights[0].format == Bitsandbytes8Bit::name);
  CHECK(found.left_alone.contains("a.weight_scale"));
}

TEST_CASE("scales are laid out as the strategy of the configuration says",
          "[quantized_checkpoint]") {
  using Strategies = std::set<std::string>;
  const auto problem = [](DType codes, const Shape& scales, const tq::io::CheckpointHints& hints) {
    const auto found =
        find({info("w", codes, {64, 192}), info("w_scale", DType::f32, scales)}, hints);
    return found.weights.empty() ? found.left_alone.at("w_scale").reason : std::string();
  };
  // The scales that each strategy makes of [64, 192], with groups of 96 and blocks of [32, 64].
  const std::map<std::string, std::vector<Shape>> layouts{
      {"tensor", {{}, {1}, {1, 1}}}, {"channel", {{64}, {64, 1}}}, {"group", {{64, 2}}},
      {"tensor_group", {{64, 2}}},   {"block", {{2, 3}}},
  };
  for (const auto& [said, expected] : layouts)
    for (const auto& [other, shapes] : layouts)
      for (const Shape& shape : shapes)
        for (const DType codes : {DType::i8, DType::f8_e4m3}) {
          if (codes == DType::i8 && other == "block") continue;  // integers have no such blocks
          INFO(said << " " << other << " " << tq::io::shape_text(shape));
          tq::io::CheckpointHints hints{.group_size = 96, .strategies = Strategies{said}};
          if (said == "block") hints.block = {32, 64};
          const std::string text = problem(codes, shape, hints);
          if (std::ranges::find(expected, shape) == expected.end()) {
            CHECK(text.find("expected scales of strategy \"" + said + "\"") != text.npos);
            CHECK(text.find("got F32 " + tq::io::shape_text(shape)) != text.npos);
          } else {
            CHECK(text.empty());
          }
        }
  CHECK(
      problem(DType::i8, {64, 1}, {.group_size = 96, .strategies = {"group", "channel"}}).empty());
  CHECK(problem(DType::i8, {64, 3}, {.strategies = {"group", "channel"}}).empty());
  const std::string text = problem(DType::i8, {64, 1}, {.strategies = {"token"}});
  CHECK(text.find("strategy \"token\", which weights do not have") != text.npos);
}

TEST_CASE("formats with groups of one size have no other by the configuration",
          "[quantized_checkpoint]") {
  const auto is_read = [](DType codes, DType scales, const Shape& grid, std::size_t group_size) {
    std::vector<TensorInfo> tensors{info("w", codes, {4, 64}), info("w_scale", scales, grid)};
    if (codes == DType::u8) tensors.push_back(info("w_scale_2", DType::f32, {}));
    return find(tensors, {.group_size = group_size, .strategies = {"group", "tensor_group"}})
               .weights.size() == 1;
  };
  for (const std::size_t size : {std::size_t{16}, std::size_t{32}, std::size_t{64}}) {
    CHECK(is_read(DType::u8, DType::f8_e4m3, {4, 8}, size) == (size == 16));  // NVFP4
    CHECK(is_read(DType::f8_e4m3, DType::u8, {4, 2}, size) == (size == 32));  // MXFP8
  }
}

TEST_CASE("shapes of any extents are weights, or are left alone with a reason",
          "[quantized_checkpoint]") {
  constexpr std::size_t most = static_cast<std::size_t>(-1);
  CHECK(
      find({info("w", DType::i8, {0, most}), info("w_scale", DType::f32, {0, 3})}).weights.empty());
  const auto extents = [](const tq::Shape& s) {
    return Shape(s.extents().begin(), s.extents().end());
  };
  test::for_each_shape(2, [&](const tq::Shape& weight) {
    test::for_each_shape(2, [&](const tq::Shape& scales) {
      const Shape w = extents(weight), s = extents(scales);
      if (weight.size() > 1 || scales.size() > 1) return;  // no file has them
      INFO(to_string(weight) << " under scales " << to_string(scales));
      test::works_or_refuses([&] {
        (void)find({info("a", DType::i8, w), info("a_scale", DType::f32, s),
                    info("b", DType::f8_e4m3, w), info("b_scale_inv", DType::f32, s),
                    info("c", DType::u8, w), info("c_scale", DType::f8_e4m3, s),
                    info("c_scale_2", DType::f32, {1}), info("d.qweight", DType::i32, w),
                    info("d.qzeros", DType::i32, s), info("d.scales", DType::f16, s)});
      });
    });
  });
}
