// SPDX-License-Identifier: MIT
#include <tq/checkpoints/bitsandbytes_4bit.hpp>
#include <tq/containers/npy.hpp>

#include <algorithm>

#include "checkpoint_test.hpp"
#include "support/directories.hpp"
#include "support/error_check.hpp"

namespace {

using namespace checkpoint_test;
using tq::io::Tensor;

Tensor golden(const std::string& file, const std::string& name) {
  Tensor t = tq::io::read_npy(std::string(test::golden_dir) + "/nf4/" + file + ".npy");
  t.name = name;
  return t;
}

// A plain weight of that shape in blocks of 64, by the map of `Type` or by one of its own.
struct Blocks {
  File file;
  std::vector<std::uint8_t> codes;
  std::vector<float> map, absmax;

  Blocks(inputs::Random& r, const Extents& shape, bool is_nf4, bool has_own_map)
      : codes(static_cast<std::size_t>(*tq::io::element_count(shape))),
        absmax((codes.size() + 63) / 64) {
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.below(16));
    for (float& a : absmax) a = r.chance(10) ? 0.0f : static_cast<float>(r.unit());
    for (std::uint32_t i = 0; i < 16; ++i)
      map.push_back(has_own_map ? static_cast<float>(r.unit() - 0.5)
                    : is_nf4    ? tq::nf4::format::decode(i)
                                : tq::bnb_fp4::format::decode(i));
    std::vector<std::uint8_t> packed((codes.size() + 1) / 2, 0x77);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      std::uint8_t& b = packed[i / 2];  // the first code in the high half
      b = static_cast<std::uint8_t>(i % 2 == 0 ? codes[i] << 4 | (b & 15) : (b & 0xf0) | codes[i]);
    }
    const std::string kind = is_nf4 ? "nf4" : "fp4";
    const tq::io::Json state{
        {"quant_type", kind}, {"blocksize", 64}, {"dtype", "float32"}, {"shape", shape}};
    const std::string text = state.dump();
    file.add("w", {packed.size(), 1}, packed);
    file.add("w.absmax", {absmax.size()}, absmax);
    file.add("w.quant_map", {16}, map);
    file.add("w.quant_state.bitsandbytes__" + kind, {text.size()},
             std::vector<std::uint8_t>(text.begin(), text.end()));
  }
};

}  // namespace

TEST_CASE("a double-quantized tensor of bitsandbytes is read by the maps of its file",
          "[checkpoints][bitsandbytes]") {
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

TEST_CASE("4-bit weights are code books of tq where their maps are, and keep other maps",
          "[checkpoints][bitsandbytes]") {
  inputs::Random r(81);
  for (const bool is_nf4 : {false, true})
    for (const bool has_own_map : {false, true}) {
      const Blocks w(r, {6, 128}, is_nf4, has_own_map);
      const tq::CheckpointTensor loaded = w.file.load();
      CHECK(to_string(loaded.tensor.spec) ==
            std::string(is_nf4 ? "nf4" : "bnb_fp4") + " per_group(64, axis -1) symmetric");
      CHECK(loaded.codebook.empty() != has_own_map);
      check_layer(loaded);
    }
}

TEST_CASE("blocks of 4-bit weights go on from row to row, in shapes of any rank",
          "[checkpoints][bitsandbytes]") {
  inputs::Random r(82);
  for (const Extents& shape :
       std::vector<Extents>{{5, 100}, {33, 33}, {3, 7}, {2, 3, 64}, {130}, {1}, {}, {40, 3}})
    for (const bool has_own_map : {false, true}) {
      INFO(tq::io::shape_text(shape));
      const Blocks w(r, shape, true, has_own_map);
      const tq::CheckpointTensor loaded = w.file.load();
      const std::vector<float> values = decode(loaded);
      REQUIRE(values.size() == w.codes.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        REQUIRE(values[i] ==
                static_cast<float>(double{w.map[w.codes[i]]} * double{w.absmax[i / 64]}));
      if (shape.size() == 2) check_layer(loaded);
    }
}

TEST_CASE(
    "absmax that is rebuilt below 0 is the sign of its values; layers take it where codes can",
    "[checkpoints][bitsandbytes]") {
  inputs::Random r(83);
  for (const bool is_nf4 : {false, true}) {
    Blocks w(r, {2, 64}, is_nf4, false);
    std::vector<float> nested(256, 1.0f);
    nested[0] = -1;
    const tq::io::Json state{{"quant_type", is_nf4 ? "nf4" : "fp4"},
                             {"blocksize", 64},
                             {"dtype", "float32"},
                             {"shape", {2, 64}},
                             {"nested_blocksize", 256},
                             {"nested_offset", 0.25}};
    const std::string text = state.dump();
    w.file.add("w.absmax", {2}, std::vector<std::uint8_t>{0, 1});
    w.file.add("w.nested_absmax", {1}, std::vector<float>{0.5f});
    w.file.add("w.nested_quant_map", {256}, nested);
    w.file.add(is_nf4 ? "w.quant_state.bitsandbytes__nf4" : "w.quant_state.bitsandbytes__fp4",
               {text.size()}, std::vector<std::uint8_t>(text.begin(), text.end()));
    const tq::CheckpointTensor loaded = w.file.load();
    const std::vector<float> values = decode(loaded);
    for (std::size_t i = 0; i < values.size(); ++i) {
      REQUIRE(values[i] == w.map[w.codes[i]] * (i < 64 ? -0.25f : 0.75f));
      REQUIRE(std::signbit(values[i]) == (std::signbit(w.map[w.codes[i]]) != (i < 64)));
    }
    if (!is_nf4) {
      check_layer(loaded);
      continue;
    }
    test::raises(tq::errc::unsupported, {"negated values have codes", "got scale -0.25"},
                 [&] { (void)tq::grouped_weights_of(loaded); });
    w.file.add("w", {64, 1}, std::vector<std::uint8_t>(64, 0x77));  // zeros can be negated
    check_layer(w.file.load());
  }
}
