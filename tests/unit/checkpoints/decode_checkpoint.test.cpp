// SPDX-License-Identifier: MIT
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/containers/npy.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/directories.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

using tq::io::Tensor;

// A file in memory.
struct File {
  std::map<std::string, Tensor> tensors;

  void add(Tensor t) { tensors[t.name] = std::move(t); }
  template <class T>
  void add(const std::string& name, std::vector<std::size_t> shape, const std::vector<T>& values) {
    add(tq::io::from_values<T>(name, std::move(shape), std::span<const T>(values)));
  }
  [[nodiscard]] tq::io::ReadTensor reader() const {
    return [this](const std::string& name) { return tensors.at(name); };
  }
  // The one weight of the file.
  [[nodiscard]] tq::io::CheckpointWeight weight() const {
    std::vector<tq::io::TensorInfo> list;
    for (const auto& [name, t] : tensors)
      list.push_back({name, t.dtype, t.shape, 0, t.bytes.size()});
    const auto found = tq::io::find_quantized(list, reader());
    for (const auto& [name, left] : found.left_alone) UNSCOPED_INFO(name << ": " << left.reason);
    REQUIRE(found.weights.size() == 1);
    return found.weights[0];
  }
  [[nodiscard]] std::vector<float> values() const {
    return tq::io::decode_checkpoint(weight(), reader());
  }
};

Tensor golden(const std::string& file, const std::string& name) {
  Tensor t = tq::io::read_npy(std::string(test::golden_dir) + "/nf4/" + file + ".npy");
  t.name = name;
  return t;
}

// Of codes without a sign, which are no NaN: four bits of exponent, three of significand.
float oracle_e4m3(std::uint8_t code) {
  const int e = code >> 3, m = code & 7;
  return e == 0 ? std::ldexp(static_cast<float>(m), -9)
                : std::ldexp(static_cast<float>(8 + m), e - 10);
}

}  // namespace

TEST_CASE("a double-quantized tensor of bitsandbytes is read by the maps of its file",
          "[decode_checkpoint]") {
  File file;
  Tensor packed = golden("dq_packed", "w"), absmax = golden("dq_absmax_codes", "w.absmax");
  const std::size_t n = packed.bytes.size() * 2, blocks = absmax.bytes.size(), block = n / blocks;
  const std::vector<float> rebuilt = tq::io::to_float32(golden("dq_absmax_rebuilt", ""));
  const float offset = tq::io::to_float32(golden("dq_offset", "")).at(0);
  packed.shape = {n / 2, 1};
  absmax.shape = {blocks};
  inputs::Random r(3);
  std::vector<float> map(16), nested(256);
  for (float& m : map) m = static_cast<float>(r.unit() - 0.5);
  for (std::uint32_t i = 0; i < 256; ++i) nested[i] = tq::DoubleQuantized::map::decode(i);
  const tq::io::Json state{{"quant_type", "nf4"},     {"blocksize", block},
                           {"dtype", "bfloat16"},     {"shape", {n / block, block}},
                           {"nested_blocksize", 256}, {"nested_dtype", "float32"},
                           {"nested_offset", offset}};
  const std::string text = state.dump();
  Tensor absmax2 = golden("dq_absmax2", "w.nested_absmax");
  absmax2.shape = {absmax2.bytes.size() / 4};
  const std::vector<std::uint8_t> bytes = tq::io::values<std::uint8_t>(packed);
  file.add(std::move(packed));
  file.add(std::move(absmax));
  file.add(std::move(absmax2));
  file.add("w.quant_map", {16}, map);
  file.add("w.nested_quant_map", {256}, nested);
  file.add("w.quant_state.bitsandbytes__nf4", {text.size()},
           std::vector<std::uint8_t>(text.begin(), text.end()));

  CHECK(file.weight().dtype == tq::io::DType::bf16);
  CHECK(file.weight().scheme ==
        "bitsandbytes nf4, blocks of " + std::to_string(block) + ", scales quantized");
  const auto check = [&](const std::vector<float>& scales) {
    const std::vector<float> got = file.values();
    for (std::size_t i = 0; i < n; ++i) {
      const unsigned code = i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15u;
      REQUIRE(got[i] == static_cast<float>(double{map[code]} * double{scales[i / block]}));
    }
  };
  check(rebuilt);
  // Another map of the scales, of which a version of the library may have other last bits.
  const std::vector<std::uint8_t> codes = tq::io::values<std::uint8_t>(file.tensors.at("w.absmax"));
  const std::vector<float> factors = tq::io::values<float>(file.tensors.at("w.nested_absmax"));
  for (float& m : nested) m = static_cast<float>(r.unit());
  file.add("w.nested_quant_map", {256}, nested);
  std::vector<float> other(blocks);
  for (std::size_t b = 0; b < blocks; ++b)
    other[b] = static_cast<float>(
        double{static_cast<float>(double{nested[codes[b]]} * double{factors[b / 256]})} +
        double{offset});
  check(other);
}

TEST_CASE("scales that cannot be meant are refused where they are", "[decode_checkpoint]") {
  File file;
  file.add("l.weight", {2, 3}, std::vector<std::int8_t>{1, 2, 3, 4, 5, 6});
  file.add("l.SCB", {2}, std::vector<float>{1, -2});
  test::raises(tq::errc::bad_scale,
               {"tq::io::decode_checkpoint: expected SCB", "got -2 for block 1"},
               [&] { (void)file.values(); });

  File rows;
  rows.add("l.weight", {2, 3}, std::vector<std::int8_t>{1, -128, 3, 4, 5, 6});
  rows.add("l.weight_scale", {2, 1}, std::vector<float>{0.5f, 0});  // a dead row
  CHECK(rows.values() == std::vector<float>{0.5f, -64, 1.5f, 0, 0, 0});
  rows.add("l.weight_scale", {2, 1}, std::vector<float>{-0.5f, 1});
  CHECK(rows.values() == std::vector<float>{-0.5f, 64, -1.5f, 4, 5, 6});
  rows.add("l.weight_scale", {1}, std::vector<float>{2});
  CHECK(rows.values() == std::vector<float>{2, -256, 6, 8, 10, 12});
}

TEST_CASE("NVFP4 of compressed-tensors is divided by its scale of the tensor, once for a block",
          "[decode_checkpoint]") {
  inputs::Random r(12);
  std::size_t differing = 0, all = 0;
  for (const float divisor : {3.7f, 1e-3f, 2688.0f, 4.0f, 1e30f, 7e-38f}) {
    constexpr std::size_t rows = 5, columns = 40, in_row = 3;
    std::vector<std::uint8_t> codes(rows * columns / 2), scales(rows * in_row);
    for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(r.below(256));
    for (std::uint8_t& s : scales)
      s = static_cast<std::uint8_t>(r.below(divisor < 1e-30f ? 8 : 127));
    File file;
    file.add("l.weight_packed", {rows, columns / 2}, codes);
    Tensor stored = tq::io::from_values<std::uint8_t>("l.weight_scale", {rows, in_row}, scales);
    stored.dtype = tq::io::DType::f8_e4m3;
    file.add(std::move(stored));
    file.add<float>("l.weight_global_scale", {1}, {divisor});
    const std::vector<float> values = file.values();
    REQUIRE(values.size() == rows * columns);
    constexpr float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const unsigned code = codes[i / 2] >> (i % 2 * 4) & 15u;
      const float block = oracle_e4m3(scales[i / columns * in_row + i % columns / 16]);
      const float quotient = static_cast<float>(double(block) / double(divisor));
      const float magnitude = magnitudes[code & 7u];
      REQUIRE(values[i] == (code < 8 ? magnitude : -magnitude) * quotient);
      differing += values[i] != (code < 8 ? magnitude : -magnitude) * (block * (1 / divisor));
      ++all;
    }
  }
  CHECK(differing > all / 50);  // by the reciprocal it would be others
}

TEST_CASE("MXFP8 has a power of two for every 32 inputs, as F8_E8M0 or as bytes",
          "[decode_checkpoint]") {
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
