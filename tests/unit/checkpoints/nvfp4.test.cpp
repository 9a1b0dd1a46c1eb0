// SPDX-License-Identifier: MIT
#include <tq/checkpoints/nvfp4.hpp>

#include "checkpoint_test.hpp"

namespace {

using namespace checkpoint_test;

constexpr std::size_t rows = 5, columns = 40, in_row = 3;
constexpr float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

struct Blocks {
  std::vector<std::uint8_t> codes, scales;
  Blocks(inputs::Random& r, std::size_t scale_codes)
      : codes(rows * columns / 2), scales(rows * in_row) {
    for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(r.below(256));
    for (std::uint8_t& s : scales) s = static_cast<std::uint8_t>(r.below(scale_codes));
  }
  [[nodiscard]] float value(std::size_t i) const {
    const unsigned code = codes[i / 2] >> (i % 2 * 4) & 15u;
    return code < 8 ? magnitudes[code] : -magnitudes[code & 7u];
  }
  [[nodiscard]] float scale(std::size_t i) const {
    return oracle_e4m3(scales[i / columns * in_row + i % columns / 16]);
  }
};

}  // namespace

TEST_CASE("NVFP4 of compressed-tensors is divided by its scale of the tensor, once for a block",
          "[checkpoints][nvfp4]") {
  inputs::Random r(12);
  std::size_t differing = 0, all = 0;
  for (const float divisor : {3.7f, 1e-3f, 2688.0f, 4.0f, 1e30f, 7e-38f}) {
    const Blocks blocks(r, divisor < 1e-30f ? 8 : 127);
    File file;
    file.add("l.weight_packed", {rows, columns / 2}, blocks.codes);
    file.add("l.weight_scale", {rows, in_row}, DType::f8_e4m3, blocks.scales);
    file.add<float>("l.weight_global_scale", {1}, {divisor});
    const std::vector<float> values = file.values();
    REQUIRE(values.size() == rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float block = blocks.scale(i), value = blocks.value(i);
      REQUIRE(values[i] == value * static_cast<float>(double(block) / double(divisor)));
      differing += values[i] != value * (block * (1 / divisor));
      ++all;
    }
    if (divisor < 1e20f && divisor > 1e-20f) check_layer(file.load());
  }
  CHECK(differing > all / 50);  // by the reciprocal it would be others
}

TEST_CASE("NVFP4 of ModelOpt is the scheme nvfp4, and keeps its codes and scales",
          "[checkpoints][nvfp4]") {
  inputs::Random r(13);
  const Blocks blocks(r, 127);
  File file;
  file.add("l.weight", {rows, columns / 2}, blocks.codes);
  file.add("l.weight_scale", {rows, in_row}, DType::f8_e4m3, blocks.scales);
  file.add<float>("l.weight_scale_2", {}, {0.3f});
  const tq::CheckpointTensor loaded = file.load();
  CHECK(loaded.tensor.spec == tq::spec_of<tq::nvfp4>());
  CHECK(loaded.tensor.codes.size() == blocks.codes.size());
  const std::vector<float> values = decode(loaded);
  for (std::size_t i = 0; i < values.size(); ++i)
    REQUIRE(values[i] == blocks.value(i) * (blocks.scale(i) * 0.3f));
  check_layer(loaded);
}
