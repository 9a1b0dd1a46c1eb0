// SPDX-License-Identifier: MIT
// Every format but compressed-tensors: the parts of a weight against an independent decode.
#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/fp8.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/checkpoints/format/modelopt.hpp>
#include <tq/checkpoints/format/mxfp4.hpp>

#include <array>
#include <limits>

#include "format/written_test.hpp"
#include "support/error_check.hpp"

namespace {

using namespace written_test;
namespace format = tq::format;
static_assert(tq::io::WritableFormat<format::awq> && tq::io::WritableFormat<format::bitsandbytes> &&
              tq::io::WritableFormat<format::fp8> && tq::io::WritableFormat<format::gptq> &&
              tq::io::WritableFormat<format::mlx> && tq::io::WritableFormat<format::modelopt> &&
              tq::io::WritableFormat<format::mxfp4>);

const std::string module = "model.layers.0.mlp.up_proj";

// Word [row, column] of a matrix of words.
const std::byte* word(const Tensor& t, std::size_t row, std::size_t column) {
  return t.bytes.data() + (row * t.shape.at(1) + column) * 4;
}

}  // namespace

TEST_CASE("GPTQ is the nearest codes of F16 scales in both versions", "[checkpoints][format]") {
  for (const int bits : {2, 3, 4, 8})
    for (const std::size_t group : {std::size_t{0}, std::size_t{32}, std::size_t{128}})
      for (const bool is_symmetric : {true, false})
        for (const int version : {1, 2}) {
          INFO(bits << " bits, groups of " << group << " " << is_symmetric << " v" << version);
          const Layer layer(32, 256, DType::bf16);
          const format::gptq gptq{bits, group, is_symmetric, version};
          gptq.require_valid();
          CHECK(gptq.problem(layer.weight, 1).empty());
          const File file = written(gptq, layer, {.is_gptq_v2 = version == 2});
          const Tensor &qweight = file.tensors.at(module + ".qweight"),
                       &qzeros = file.tensors.at(module + ".qzeros");
          const std::vector<float> scales = tq::io::to_float32(file.tensors.at(module + ".scales"));
          const std::size_t size = group == 0 ? 256 : group, width = static_cast<std::size_t>(bits);
          // A field bit by bit: bit i of column n of qweight is in word [i / 32, n].
          const auto code = [&](std::size_t n, std::size_t k) {
            unsigned out = 0;
            for (std::size_t b = 0; b < width; ++b)
              out |= field(word(qweight, (k * width + b) / 32, n), (k * width + b) % 32, 1) << b;
            return out;
          };
          const auto zero = [&](std::size_t n, std::size_t g) {
            const unsigned stored = field(word(qzeros, g, 0), n, static_cast<unsigned>(bits));
            return version == 1 ? stored + 1 : stored;
          };
          check_equal(file.values(), integer_oracle(layer, bits, size, is_symmetric, DType::f16,
                                                    version == 1 && !is_symmetric ? 1 : 0, code,
                                                    zero, [&](std::size_t n, std::size_t g) {
                                                      return scales.at(g * 32 + n);
                                                    }));
          const auto g_idx = tq::io::values<std::int32_t>(file.tensors.at(module + ".g_idx"));
          for (std::size_t k = 0; k < 256; ++k)
            REQUIRE(g_idx.at(k) == static_cast<std::int32_t>(k / size));
          check_saved(gptq, layer.weight, file);
        }
}

TEST_CASE("AWQ is the nearest codes of F16 scales in its order", "[checkpoints][format]") {
  constexpr std::array<std::size_t, 8> nibble{0, 4, 1, 5, 2, 6, 3, 7};
  for (const std::size_t group : {std::size_t{32}, std::size_t{64}, std::size_t{128}})
    for (const bool is_symmetric : {true, false}) {
      INFO("groups of " << group << " " << is_symmetric);
      const Layer layer(32, 256, DType::f16);
      const format::awq awq{group, is_symmetric};
      awq.require_valid();
      CHECK(awq.problem(layer.weight, 1).empty());
      const File file = written(awq, layer);
      const Tensor &qweight = file.tensors.at(module + ".qweight"),
                   &qzeros = file.tensors.at(module + ".qzeros");
      const std::vector<float> scales = tq::io::to_float32(file.tensors.at(module + ".scales"));
      check_equal(file.values(),
                  integer_oracle(
                      layer, 4, group, is_symmetric, DType::f16, 0,
                      [&](std::size_t n, std::size_t k) {
                        return field(word(qweight, k, n / 8), nibble[n % 8], 4);
                      },
                      [&](std::size_t n, std::size_t g) {
                        return field(word(qzeros, g, n / 8), nibble[n % 8], 4);
                      },
                      [&](std::size_t n, std::size_t g) { return scales.at(g * 32 + n); }));
      check_saved(awq, layer.weight, file);
    }
}

TEST_CASE("fine-grained FP8 has F32 scales of blocks that multiply", "[checkpoints][format]") {
  const Layer layer(144, 256, DType::bf16);
  const format::fp8 fp8;
  CHECK(fp8.problem(layer.weight, 1).empty());
  const File file = written(fp8, layer);
  check_equal(file.values(), scaled_oracle(layer, file.tensors.at(module + ".weight"),
                                           file.tensors.at(module + ".weight_scale_inv"), 128, 128,
                                           448, DType::f32));
  check_saved(fp8, layer.weight, file);
}

TEST_CASE("NVFP4 of ModelOpt has one scale that multiplies", "[checkpoints][format]") {
  for (const float set : {0.0f, 20.0f}) {
    Layer layer(48, 128, DType::bf16);
    layer.weight.set_abs_max = set;
    const format::modelopt modelopt;
    CHECK(modelopt.needs_set_abs_max());
    CHECK(modelopt.problem(layer.weight, 1).empty());
    const File file = written(modelopt, layer);
    float most = set;
    if (set == 0)
      for (const float v : layer.values) most = std::max(most, std::abs(v));
    const std::vector<float> scale =
        tq::io::to_float32(file.tensors.at(module + ".weight_scale_2"));
    CHECK(scale == std::vector<float>{most / 2688});
    check_equal(file.values(),
                nvfp4_oracle(layer, file.tensors.at(module + ".weight"),
                             file.tensors.at(module + ".weight_scale"),
                             [&](double e) { return static_cast<float>(e) * scale[0]; }));
    check_saved(modelopt, layer.weight, file);
  }
}

TEST_CASE("4-bit weights of bitsandbytes are the nearest codes of blocks of 64",
          "[checkpoints][format]") {
  for (const std::string type : {"nf4", "fp4"})
    for (const bool is_double : {false, true})
      for (const std::size_t inputs : {std::size_t{128}, std::size_t{99}}) {
        INFO(type << " " << is_double << " " << inputs);
        const Layer layer(9, inputs, DType::bf16);
        const format::bitsandbytes bitsandbytes{type, is_double};
        bitsandbytes.require_valid();
        CHECK(bitsandbytes.problem(layer.weight, 1).empty());
        const File file = written(bitsandbytes, layer);
        const std::string weight = module + ".weight";
        const auto& tensors = file.tensors;
        const Tensor& packed = tensors.at(weight);
        const std::vector<float> map = tq::io::to_float32(tensors.at(weight + ".quant_map"));
        std::vector<float> absmax;
        if (is_double) {
          const auto codes = tq::io::values<std::uint8_t>(tensors.at(weight + ".absmax"));
          const auto nested = tq::io::to_float32(tensors.at(weight + ".nested_absmax")),
                     nested_map = tq::io::to_float32(tensors.at(weight + ".nested_quant_map"));
          const auto& state = tensors.at(weight + ".quant_state.bitsandbytes__" + type).bytes;
          const auto json = tq::io::Json::parse(
              std::string(reinterpret_cast<const char*>(state.data()), state.size()));
          CHECK(json.at("nested_blocksize") == 256);
          const float offset = json.at("nested_offset").get<float>();
          for (std::size_t b = 0; b < codes.size(); ++b)
            absmax.push_back(nested_map.at(codes[b]) * nested.at(b / 256) + offset);
        } else {
          absmax = tq::io::to_float32(tensors.at(weight + ".absmax"));
        }
        const std::size_t count = layer.values.size();
        REQUIRE(absmax.size() == (count + 63) / 64);
        std::vector<float> expected;
        for (std::size_t i = 0; i < count; ++i) {
          const float scale = absmax[i / 64], x = layer.values[i];
          const unsigned code = field(packed.bytes.data() + i / 2, 1 - i % 2, 4);
          expected.push_back(map.at(code) * scale);
          // A rebuilt absmax below 0, which only blocks far below the others have, is 0.
          const double used = std::max(scale, 0.0f);
          double least = std::numeric_limits<double>::infinity();
          for (const float m : map) least = std::min(least, std::abs(double{m} * used - double{x}));
          if (used == 0) REQUIRE(map.at(code) == 0);
          REQUIRE(std::abs(double{map.at(code)} * used - double{x}) <=
                  least * 1.00001 + 1e-7 * used);
        }
        if (!is_double)
          for (std::size_t b = 0; b < absmax.size(); ++b) {
            float most = 0;
            for (std::size_t i = 64 * b; i < std::min(64 * b + 64, count); ++i)
              most = std::max(most, std::abs(layer.values[i]));
            CHECK(absmax[b] == most);
          }
        if (count % 2 != 0)
          CHECK(field(packed.bytes.data() + count / 2, 0, 4) == (type == "nf4" ? 7u : 0u));
        check_equal(file.values(), expected);
        if (!is_double) check_saved(bitsandbytes, layer.weight, file);
      }
}

TEST_CASE("the state of a weight of bitsandbytes is the text of Python", "[checkpoints][format]") {
  const Layer layer(9, 128, DType::bf16);
  const File file = written(format::bitsandbytes{}, layer);
  const auto& bytes = file.tensors.at(module + ".weight.quant_state.bitsandbytes__nf4").bytes;
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
        R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [9, 128]})");
}

TEST_CASE("int8 of bitsandbytes has the magnitudes of rows", "[checkpoints][format]") {
  const Layer layer(9, 100, DType::f16);
  const format::bitsandbytes bitsandbytes{"int8"};
  const File file = written(bitsandbytes, layer);
  const std::vector<float> scb = tq::io::to_float32(file.tensors.at(module + ".SCB"));
  const auto codes = tq::io::values<std::int8_t>(file.tensors.at(module + ".weight"));
  CHECK(file.tensors.at(module + ".weight_format").bytes == std::vector<std::byte>(1));
  std::vector<float> expected;
  for (std::size_t n = 0; n < 9; ++n) {
    float most = 0;
    for (std::size_t k = 0; k < 100; ++k)
      most = std::max(most, std::abs(layer.values[n * 100 + k]));
    CHECK(scb.at(n) == most);
    for (std::size_t k = 0; k < 100; ++k) {
      const float scale = most == 0 ? 1.0f : most / 127;
      const float x = layer.values[n * 100 + k];
      REQUIRE(codes[n * 100 + k] == std::nearbyint(x / scale));
      expected.push_back(static_cast<float>(codes[n * 100 + k]) * most * 7.874015718698502e-3f);
    }
  }
  check_equal(file.values(), expected);
  check_saved(bitsandbytes, layer.weight, file);
}

TEST_CASE("affine codes of MLX have a stored scale and the lowest value as bias",
          "[checkpoints][format]") {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const int bits : {2, 3, 4, 5, 6, 8})
      for (const std::size_t group : {std::size_t{32}, std::size_t{64}, std::size_t{128}}) {
        INFO(to_string(dtype) << " " << bits << " bits, groups of " << group);
        const Layer layer(8, 128, dtype);
        const format::mlx mlx{"affine", bits, group};
        mlx.require_valid();
        CHECK(mlx.problem(layer.weight, 1).empty());
        const File file = written(mlx, layer, {.group_size = group});
        const std::vector<float> scales = tq::io::to_float32(file.tensors.at(module + ".scales")),
                                 biases = tq::io::to_float32(file.tensors.at(module + ".biases"));
        const Tensor& words = file.tensors.at(module + ".weight");
        const double levels = std::ldexp(1.0, bits) - 1;
        std::vector<float> expected;
        for (std::size_t i = 0; i < layer.values.size(); ++i) {
          const float* const x = layer.values.data() + i / group * group;
          const float low = *std::min_element(x, x + group), high = *std::max_element(x, x + group);
          const double s = double{scales.at(i / group)}, b = double{biases.at(i / group)};
          if (i % group == 0) {
            const auto exact = static_cast<float>(double{high - low} / levels);
            CHECK(s == (exact == 0 ? 1.0 : stored_scale(double{exact}, dtype)));
            CHECK(b == rounded(double{low}, dtype == DType::bf16 ? 8 : 11,
                               dtype == DType::bf16 ? -133 : -24));
          }
          const double q = field(words.bytes.data(), i, static_cast<unsigned>(bits));
          const double error = std::abs(q * s + b - double{layer.values[i]});
          if (q > 0)
            REQUIRE(error <= std::abs((q - 1) * s + b - double{layer.values[i]}) + 1e-5 * s);
          if (q < levels)
            REQUIRE(error <= std::abs((q + 1) * s + b - double{layer.values[i]}) + 1e-5 * s);
          expected.push_back(static_cast<float>(q * s + b));
        }
        check_equal(file.values(), expected);
        check_saved(mlx, layer.weight, file);
      }
}

TEST_CASE("small floats of MLX have scales of a byte", "[checkpoints][format]") {
  const Layer layer(8, 128, DType::bf16);
  for (const std::string mode : {"mxfp4", "mxfp8", "nvfp4"}) {
    INFO(mode);
    const format::mlx mlx{mode};
    mlx.require_valid();
    CHECK(mlx.problem(layer.weight, 1).empty());
    const File file = written(mlx, layer);
    const Tensor &codes = file.tensors.at(module + ".weight"),
                 &scales = file.tensors.at(module + ".scales");
    check_equal(file.values(), mode == "nvfp4"
                                   ? nvfp4_oracle(layer, codes, scales,
                                                  [](double e) { return static_cast<float>(e); })
                                   : mx_oracle(layer, codes, scales, mode == "mxfp4"));
    check_saved(mlx, layer.weight, file);
  }
}

TEST_CASE("negative scales of MLX are read as they are meant", "[checkpoints][mlx]") {
  File file;
  file.hints.group_size = 32;
  std::vector<std::uint32_t> words(2 * 4);
  inputs::Random r(5);
  for (std::uint32_t& w : words) w = static_cast<std::uint32_t>(r.below(1u << 31));
  const std::vector<float> scales{-0.125f, 0.75f}, biases{1.5f, -3.0f};
  file.add("l.weight", {2, 4}, words);
  file.add("l.scales", {2, 1}, scales);
  file.add("l.biases", {2, 1}, biases);
  std::vector<float> expected;
  for (std::size_t i = 0; i < 64; ++i)
    expected.push_back(static_cast<float>(words[i / 8] >> i % 8 * 4 & 15u) * scales[i / 32] +
                       biases[i / 32]);
  check_equal(file.values(), expected);
  check_saved(format::mlx{"affine", 4, 32}, {"l", 2, 32, DType::f32}, file);
  file.hints.group_size = 0;
  const auto found =
      tq::io::find_quantized(std::vector{checkpoint_test::info("l.weight", DType::u32, {2, 4}),
                                         checkpoint_test::info("l.scales", DType::f32, {2, 1}),
                                         checkpoint_test::info("l.biases", DType::f32, {2, 1})},
                             file.reader());
  CHECK(found.weights.empty());
  CHECK(found.left_alone.at("l.weight").is_unreadable);
}

TEST_CASE("experts of gpt-oss are blocks of 16 bytes, also of a transposed tensor",
          "[checkpoints][format]") {
  constexpr std::size_t experts = 3, n = 16, k = 64;
  Layer flat(experts * n, k, DType::bf16);
  tq::io::LinearWeight weight{"model.layers.0.mlp.experts.gate_up_proj", n, k, DType::bf16,
                              experts};
  const format::mxfp4 mxfp4;
  CHECK(mxfp4.problem(weight, 1).empty());
  std::vector<float> transposed(flat.values.size());
  for (std::size_t e = 0; e < experts; ++e)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < k; ++j)
        transposed[(e * k + j) * n + i] = flat.values[(e * n + i) * k + j];
  const tq::ConstTensorView view(
      transposed.data(), {experts, n, k},
      {static_cast<std::ptrdiff_t>(n * k), 1, static_cast<std::ptrdiff_t>(n)});
  const auto declared = mxfp4.declarations(weight);
  File file;
  for (const Tensor& t : mxfp4.quantize(weight, view)) {
    CHECK(t.shape == declared.at(file.tensors.size()).shape);
    file.add(t);
  }
  const std::string stem = weight.module;
  CHECK(file.tensors.at(stem + "_blocks").shape == Extents{experts, n, k / 32, 16});
  CHECK(file.weight().shape == Extents{experts, k, n});
  check_equal(tq::decode(file.load()), mx_oracle(flat, file.tensors.at(stem + "_blocks"),
                                                 file.tensors.at(stem + "_scales"), true));
  check_saved(mxfp4, weight, file);
}
