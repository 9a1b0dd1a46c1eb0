// SPDX-License-Identifier: MIT
#include <tq/checkpoints/quantized_checkpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/extents.hpp"

namespace {

using tq::io::CheckpointFormat;
using tq::io::DType;
using tq::io::TensorInfo;
using Shape = std::vector<std::size_t>;

TensorInfo info(const std::string& name, DType dtype, const Shape& shape) {
  return {name, dtype, shape, 0, *tq::io::storage_bytes(dtype, shape)};
}

tq::io::QuantizedCheckpoint find(const std::vector<TensorInfo>& tensors,
                                 const tq::io::CheckpointHints& hints = {}) {
  return tq::io::find_quantized(
      tensors, [](const std::string& name) -> tq::io::Tensor { throw std::runtime_error(name); },
      hints);
}

// The blocks of a float8 weight under scales of that shape; none where they do not fit.
Shape blocks(const Shape& weight, const Shape& scales) {
  const auto found =
      find({info("w", DType::f8_e4m3, weight), info("w_scale_inv", DType::f32, scales)});
  return found.weights.empty() ? Shape{} : found.weights[0].block;
}

// The group size of a GPTQ weight of K inputs and G groups.
std::size_t group_size(std::size_t k, std::size_t groups,
                       const tq::io::CheckpointHints& hints = {}) {
  const auto found =
      find({info("q.qweight", DType::i32, {k / 8, 8}), info("q.qzeros", DType::i32, {groups, 1}),
            info("q.scales", DType::f16, {groups, 8})},
           hints);
  return found.weights.empty() ? 0 : found.weights[0].group_size;
}

}  // namespace

TEST_CASE("a model of floats has no quantized weights", "[quantized_checkpoint]") {
  const auto found =
      find({info("a.weight", DType::f32, {4, 4}), info("a.bias", DType::f32, {4}),
            info("b.weight", DType::f8_e4m3, {4, 4}), info("steps", DType::i64, {}),
            info("norm.scale", DType::f32, {4}), info("a.g_idx_of_mine", DType::i32, {4})});
  CHECK(found.weights.empty());
  CHECK(found.left_alone.empty());
}

TEST_CASE("blocks of small floats follow from the shapes, or nothing does",
          "[quantized_checkpoint]") {
  CHECK(blocks({200, 300}, {2, 3}) == Shape{128, 128});
  CHECK(blocks({256, 300}, {2, 1}) == Shape{128, 300});
  CHECK(blocks({200, 300}, {}) == Shape{200, 300});
  CHECK(blocks({200, 300}, {1}) == Shape{200, 300});
  CHECK(blocks({200, 300}, {200}) == Shape{1, 300});
  CHECK(blocks({200, 300}, {200, 1}) == Shape{1, 300});
  CHECK(blocks({64, 256}, {64, 8}) == Shape{1, 32});
  CHECK(blocks({8, 256, 384}, {8, 2, 3}) == Shape{1, 128, 128});
  CHECK(blocks({8, 256, 384}, {8, 1, 1}) == Shape{1, 256, 384});
  for (const Shape& scales : {Shape{300}, {3, 2}, {4, 3}, {2, 3, 1}, {0, 3}, {100, 100}})
    CHECK(blocks({200, 300}, scales).empty());
}

TEST_CASE("the size of groups follows from the shapes, from the hints, or is asked for",
          "[quantized_checkpoint]") {
  CHECK(group_size(4096, 32) == 128);
  CHECK(group_size(4096, 1) == 4096);
  CHECK(group_size(4160, 33) == 128);  // the last of 64
  CHECK(group_size(96, 2) == 0);       // 48, or 64 and 32
  CHECK(group_size(96, 2, {.group_size = 64}) == 64);
  CHECK(group_size(96, 2, {.group_size = 48}) == 48);
  CHECK(group_size(96, 2, {.group_size = 32}) == 0);  // not of this weight
  CHECK(group_size(4096, 32, {.group_size = 64}) == 0);
  const auto found =
      find({info("q.qweight", DType::i32, {12, 8}), info("q.qzeros", DType::i32, {2, 1}),
            info("q.scales", DType::f16, {2, 8})});
  CHECK(found.left_alone.at("q.scales").is_unreadable);
  CHECK(found.left_alone.at("q.scales").reason.find("2 groups of 96 inputs") != std::string::npos);
}

TEST_CASE("GPTQ and AWQ are told apart, and every part belongs to its weight",
          "[quantized_checkpoint]") {
  const auto found =
      find({info("g.qweight", DType::i32, {16, 64}), info("g.qzeros", DType::i32, {4, 8}),
            info("g.scales", DType::f16, {4, 64}), info("g.g_idx", DType::i32, {128}),
            info("a.qweight", DType::i32, {128, 8}), info("a.qzeros", DType::i32, {4, 8}),
            info("a.scales", DType::f16, {4, 64}), info("h.qweight", DType::i32, {12, 64}),
            info("h.qzeros", DType::i32, {4, 6}), info("h.scales", DType::bf16, {4, 64}),
            info("a.bias", DType::f16, {64}), info("a.input_scale", DType::f32, {1, 1})});
  REQUIRE(found.weights.size() == 3);
  CHECK(found.weights[0].format == CheckpointFormat::gptq);
  CHECK(found.weights[0].scheme == "gptq uint4, groups of 32");
  CHECK(found.weights[0].parts.size() == 4);
  CHECK(found.weights[1].format == CheckpointFormat::awq);
  CHECK(found.weights[1].shape == Shape{64, 128});
  CHECK(found.weights[1].dtype == DType::f16);
  CHECK(found.weights[2].bits == 3);
  CHECK(found.weights[2].dtype == DType::bf16);
  CHECK(found.left_alone.size() == 1);
  CHECK(found.left_alone.at("a.input_scale").reason == "scales of activations");
  CHECK_FALSE(found.left_alone.at("a.input_scale").is_unreadable);
}

TEST_CASE("a weight that is there as floats as well is no quantized one",
          "[quantized_checkpoint]") {
  const auto found =
      find({info("a.weight", DType::f16, {64, 128}), info("a.qweight", DType::i32, {128, 8}),
            info("a.qzeros", DType::i32, {4, 8}), info("a.scales", DType::f16, {4, 64})});
  CHECK(found.weights.empty());
  CHECK(found.left_alone.size() == 3);
  CHECK_FALSE(found.left_alone.contains("a.weight"));
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
      CHECK(found.weights[0].format == CheckpointFormat::scaled_float8);
    }
    const auto int8 = find({info(base + "weight", DType::i8, {4, 4}),
                            info(base + "weight_scale", DType::f32, {4, 1})});
    REQUIRE(int8.weights.size() == 1);
    CHECK(int8.weights[0].format == CheckpointFormat::int8_scaled);
    const auto rows =
        find({info(base + "weight", DType::i8, {4, 4}), info(base + "SCB", DType::f32, {4})});
    REQUIRE(rows.weights.size() == 1);
    CHECK(rows.weights[0].format == CheckpointFormat::bitsandbytes_8bit);
    const auto nvfp4 = find({info(base + "weight", DType::u8, {4, 8}),
                             info(base + "weight_scale", DType::f8_e4m3, {4, 1}),
                             info(base + "weight_scale_2", DType::f32, {})});
    REQUIRE(nvfp4.weights.size() == 1);
    CHECK(nvfp4.weights[0].format == CheckpointFormat::nvfp4);
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
  // Of int8 and scales there are two formats; SCB counts.
  const auto found =
      find({info("a.weight", DType::i8, {4, 4}), info("a.weight_scale", DType::f32, {4, 1}),
            info("a.SCB", DType::f32, {4})});
  REQUIRE(found.weights.size() == 1);
  CHECK(found.weights[0].format == CheckpointFormat::bitsandbytes_8bit);
  CHECK(found.left_alone.contains("a.weight_scale"));
}

TEST_CASE("what the configuration says is not contradicted", "[quantized_checkpoint]") {
  const auto block = [](const Shape& weight, const Shape& scales, const Shape& said) {
    const auto found =
        find({info("w", DType::f8_e4m3, weight), info("w_scale_inv", DType::f32, scales)},
             {.block = said});
    return found.weights.empty() ? Shape{} : found.weights[0].block;
  };
  CHECK(block({100, 100}, {2, 2}, {}) == Shape{});
  CHECK(block({100, 100}, {2, 2}, {64, 64}) == Shape{64, 64});
  CHECK(block({100, 100}, {2, 2}, {32, 64}) == Shape{});
  CHECK(block({256, 256}, {2, 2}, {64, 64}) == Shape{});
  CHECK(block({3, 100, 100}, {3, 2, 4}, {64, 32}) == Shape{1, 64, 32});
  CHECK(block({100, 100}, {1}, {64, 64}) == Shape{100, 100});
}

TEST_CASE("scales are laid out as the strategy of the configuration says",
          "[quantized_checkpoint]") {
  using Strategies = std::set<std::string>;
  const auto problem = [](DType codes, const Shape& scales, const tq::io::CheckpointHints& hints) {
    const auto found =
        find({info("w", codes, {64, 192}), info("w_scale", DType::f32, scales)}, hints);
    return found.weights.empty() ? found.left_alone.at("w_scale").reason : std::string();
  };
  // What each strategy makes of [64, 192], with groups of 96 and blocks of [32, 64].
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

TEST_CASE("float8 has the groups that the configuration says", "[quantized_checkpoint]") {
  const auto block = [](std::size_t group_size) {
    const auto found =
        find({info("w", DType::f8_e4m3, {4, 192}), info("w_scale", DType::f32, {4, 2})},
             {.group_size = group_size});
    return found.weights.empty() ? Shape{} : found.weights[0].block;
  };
  CHECK(block(0) == Shape{1, 128});
  CHECK(block(96) == Shape{1, 96});  // not blocks of 128 and 64
  CHECK(block(64) == Shape{});
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

TEST_CASE("MXFP8 with scales of bytes is read for what it is", "[quantized_checkpoint]") {
  const auto found = [](const Shape& scales) {
    return find({info("w", DType::f8_e4m3, {4, 70}), info("w_scale", DType::u8, scales)});
  };
  REQUIRE(found({4, 3}).weights.size() == 1);
  CHECK(found({4, 3}).weights[0].block == Shape{1, 32});
  CHECK(found({4, 1}).weights.empty());
  CHECK(found({4, 1}).left_alone.at("w").is_unreadable);
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
