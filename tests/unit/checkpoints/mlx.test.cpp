// SPDX-License-Identifier: MIT
#include <tq/checkpoints/mlx.hpp>

#include <fstream>

#include "checkpoint_test.hpp"
#include "support/directories.hpp"
#include "support/error_check.hpp"

namespace {

using namespace checkpoint_test;

// The search result of a weight [8, words] with scales of that type and shape.
tq::io::QuantizedCheckpoint found(std::size_t words, DType scales, const Extents& grid,
                                  std::size_t group_size) {
  std::vector<tq::io::TensorInfo> parts{info("l.weight", DType::u32, {8, words}),
                                        info("l.scales", scales, grid)};
  if (scales != DType::u8) parts.push_back(info("l.biases", scales, grid));
  return find(parts, {.group_size = group_size});
}

}  // namespace

TEST_CASE("the widths of MLX follow from the group size, and modes from the scales",
          "[checkpoints][mlx]") {
  const auto scheme = [](const tq::io::QuantizedCheckpoint& of) {
    REQUIRE(of.weights.size() == 1);
    return of.weights[0].scheme + " " + tq::io::shape_text(of.weights[0].shape);
  };
  CHECK(scheme(found(16, DType::bf16, {8, 2}, 64)) == "mlx uint4, groups of 64 [8, 128]");
  CHECK(scheme(found(16, DType::f16, {8, 2}, 32)) == "mlx uint8, groups of 32 [8, 64]");
  CHECK(scheme(found(12, DType::f16, {8, 1}, 128)) == "mlx uint3, groups of 128 [8, 128]");
  CHECK(scheme(found(16, DType::u8, {8, 4}, 32)) == "mlx mxfp4 [8, 128]");
  CHECK(scheme(found(16, DType::u8, {8, 8}, 16)) == "mlx nvfp4 [8, 128]");
  CHECK(scheme(found(32, DType::u8, {8, 4}, 32)) == "mlx mxfp8 [8, 128]");
}

TEST_CASE("parts that are no weight of MLX are left alone with the reason", "[checkpoints][mlx]") {
  const auto reason = [](const tq::io::QuantizedCheckpoint& of) {
    REQUIRE(of.weights.empty());
    return of.left_alone.at("l.weight").reason;
  };
  CHECK(reason(found(16, DType::bf16, {8, 2}, 0)).find("one group_size in config.json") !=
        std::string::npos);
  CHECK(reason(found(28, DType::bf16, {8, 2}, 64)).find("codes of 2, 3, 4, 5, 6 or 8 bits") !=
        std::string::npos);
  CHECK(reason(found(16, DType::bf16, {4, 2}, 64)).find("scales of [8, groups]") !=
        std::string::npos);
  CHECK(reason(found(16, DType::u8, {8, 3}, 32)).find("a scale of 16 codes of 4 bits") !=
        std::string::npos);
  const auto alone =
      find({info("l.weight", DType::u32, {8, 16}), info("l.scales", DType::f16, {8, 2})},
           {.group_size = 64});
  CHECK(alone.left_alone.at("l.weight").is_unreadable);
}

TEST_CASE("the experts of a stack of MLX are weights of their own", "[checkpoints][mlx]") {
  const auto stack = [](const Extents& scales, const Extents& biases) {
    return find({info("b.switch_mlp.up_proj.weight", DType::u32, {3, 8, 16}),
                 info("b.switch_mlp.up_proj.scales", DType::bf16, scales),
                 info("b.switch_mlp.up_proj.biases", DType::bf16, biases)},
                {.group_size = 64});
  };
  const auto found = stack({3, 8, 2}, {3, 8, 2});
  REQUIRE(found.weights.size() == 3);
  for (std::size_t e = 0; e < 3; ++e) {
    const tq::io::CheckpointWeight& w = found.weights[e];
    CHECK(w.name == "b.experts." + std::to_string(e) + ".up_proj.weight");
    CHECK(w.scheme == "mlx uint4, groups of 64");
    CHECK(w.shape == Extents{8, 128});
    CHECK((w.experts == 3 && w.expert == e));
  }
  const auto reason = [](const tq::io::QuantizedCheckpoint& of) {
    REQUIRE(of.weights.empty());
    return of.left_alone.at("b.switch_mlp.up_proj.weight").reason;
  };
  CHECK(reason(stack({2, 8, 2}, {2, 8, 2})).find("scales of 3 experts") != std::string::npos);
  CHECK(reason(stack({8, 2}, {8, 2})).find("scales of 3 experts") != std::string::npos);
  CHECK(reason(stack({3, 8, 2}, {8, 2})).find("BF16 [3, 8, 2]") != std::string::npos);
}

TEST_CASE("group sizes of layers of their own leave the group size of MLX open",
          "[checkpoints][mlx]") {
  const std::filesystem::path folder = std::filesystem::path(test::output_dir) / "mlx_hints";
  std::filesystem::create_directories(folder);
  const auto group_size = [&](const char* text) {
    std::ofstream(folder / "config.json") << text;
    return tq::io::read_checkpoint_hints(folder).group_size;
  };
  CHECK(group_size(R"({"quantization_config": {"group_size": 64, "bits": 4}})") == 64);
  CHECK(group_size(R"({"quantization_config": {"group_size": 64, "bits": 4,
                       "l": {"group_size": 64, "bits": 6}, "m": false}})") == 64);
  CHECK(group_size(R"({"quantization_config": {"group_size": 64, "bits": 4,
                       "l": {"group_size": 32, "bits": 8}}})") == 0);
}

TEST_CASE("scales of MLX that cannot be meant are refused", "[checkpoints][mlx]") {
  File file;
  file.hints.group_size = 32;
  file.add("l.weight", {2, 4}, std::vector<std::uint32_t>(8));
  file.add("l.scales", {2, 1}, std::vector<float>{1.0f, 0.0f});
  file.add("l.biases", {2, 1}, std::vector<float>{0.5f, 0.5f});
  test::raises(tq::errc::bad_scale, {"other than 0", "group 1"}, [&] { (void)file.load(); });
}
