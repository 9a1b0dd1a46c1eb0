// SPDX-License-Identifier: MIT
#include <tq/checkpoints/scaled_float8.hpp>

#include "checkpoint_test.hpp"
#include "support/error_check.hpp"

namespace {

using namespace checkpoint_test;
using Shape = Extents;
using tq::io::Tensor;

// The blocks of a float8 weight under scales of that shape; none where they do not fit.
Shape blocks(const Shape& weight, const Shape& scales) {
  const auto found =
      find({info("w", DType::f8_e4m3, weight), info("w_scale_inv", DType::f32, scales)});
  return found.weights.empty() ? Shape{} : found.weights[0].block;
}

}  // namespace

TEST_CASE("blocks of small floats follow from the shapes, or nothing does",
          "[checkpoints][scaled_float8]") {
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

TEST_CASE("what the configuration says is not contradicted", "[checkpoints][scaled_float8]") {
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

TEST_CASE("float8 has the groups that the configuration says", "[checkpoints][scaled_float8]") {
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

TEST_CASE("MXFP8 with scales of bytes is read for what it is", "[checkpoints][scaled_float8]") {
  const auto found = [](const Shape& scales) {
    return find({info("w", DType::f8_e4m3, {4, 70}), info("w_scale", DType::u8, scales)});
  };
  REQUIRE(found({4, 3}).weights.size() == 1);
  CHECK(found({4, 3}).weights[0].block == Shape{1, 32});
  CHECK(found({4, 1}).weights.empty());
  CHECK(found({4, 1}).left_alone.at("w").is_unreadable);
}

TEST_CASE("MXFP8 has a power of two for every 32 inputs, as F8_E8M0 or as bytes",
          "[checkpoints][scaled_float8]") {
  inputs::Random r(13);
  constexpr std::size_t rows = 3, columns = 70, in_row = 3;
  std::vector<std::uint8_t> codes(rows * columns), scales(rows * in_row);
  for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(r.below(127));
  for (std::uint8_t& s : scales) s = static_cast<std::uint8_t>(100 + r.below(40));
  File file;
  Tensor weight = tq::io::from_values<std::uint8_t>("w", {rows, columns}, codes);
  weight.dtype = tq::io::DType::f8_e4m3;
  file.add(std::move(weight));
  file.add("w_scale", {rows, in_row}, scales);
  const std::vector<float> values = file.values();
  REQUIRE(values.size() == codes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int exponent = scales[i / columns * in_row + i % columns / 32] - 127;
    REQUIRE(values[i] == std::ldexp(oracle_e4m3(codes[i]), exponent));
  }
}

TEST_CASE("float8 of any rank has the scale of its block in every dimension",
          "[checkpoints][scaled_float8]") {
  inputs::Random r(14);
  struct Case {
    Shape shape, grid, block;
  };
  for (const auto& [shape, grid, block] :
       std::vector<Case>{{{20, 30}, {1}, {20, 30}},
                         {{20, 30}, {20}, {1, 30}},
                         {{200, 140}, {2, 2}, {128, 128}},
                         {{256, 30}, {2, 1}, {128, 30}},
                         {{16, 64}, {2, 64}, {8, 1}},
                         {{16, 64}, {16, 64}, {1, 1}},
                         {{4, 130, 140}, {1, 2, 2}, {4, 128, 128}},
                         {{3, 4, 8, 32}, {3, 2, 1, 4}, {1, 2, 8, 8}},
                         {{64}, {2}, {32}},
                         {{}, {}, {}}}) {
    INFO(tq::io::shape_text(shape) << " under " << tq::io::shape_text(grid));
    std::size_t n = 1, count = 1;
    for (const std::size_t e : shape) n *= e;
    for (const std::size_t e : grid) count *= e;
    std::vector<std::uint8_t> codes(n);
    std::vector<float> scales(count);
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.below(127));
    for (float& s : scales) s = r.chance(10) ? 0.0f : static_cast<float>(r.unit());
    File file;
    file.add("w", shape, DType::f8_e4m3, codes);
    file.add("w_scale_inv", grid, scales);
    const std::vector<float> values = file.values();
    REQUIRE(values.size() == n);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = 0, stride = 1, rest = i;
      for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) {
        at += rest % shape[a] / block[a] * stride;
        stride *= (shape[a] + block[a] - 1) / block[a];
      }
      REQUIRE(values[i] == static_cast<float>(double{oracle_e4m3(codes[i])} * double{scales[at]}));
    }
  }
}

TEST_CASE("MXFP8 is the scheme mxfp8, scales that are NaN or negative are errors",
          "[checkpoints][scaled_float8]") {
  File file;
  file.add("w", {1, 64}, DType::f8_e4m3, std::vector<std::uint8_t>(64, 0x38));
  file.add("w_scale", {1, 2}, std::vector<std::uint8_t>{127, 128});
  CHECK(file.load().tensor.spec == tq::spec_of<tq::mxfp8_e4m3>());
  file.add("w_scale", {1, 2}, std::vector<std::uint8_t>{127, 255});
  test::raises(tq::errc::bad_scale, {"tq::io::load_checkpoint", "got nan for block 1"},
               [&] { (void)file.load(); });
  file.add("w_scale", {1, 2}, std::vector<float>{-1, 1});
  test::raises(tq::errc::bad_scale, {"got -1 for block 0"}, [&] { (void)file.load(); });
}
