// SPDX-License-Identifier: MIT
// The tool reads weights that other programs quantized: as one weight each, never its parts.
#include "tool_test.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

using namespace tool_test;

namespace {

template <class T>
Tensor of(const std::string& name, std::vector<std::size_t> shape, const std::vector<T>& values) {
  return tq::io::from_values<T>(name, std::move(shape), std::span<const T>(values));
}

// Bytes as a type of one byte.
Tensor raw(const std::string& name, std::vector<std::size_t> shape, DType dtype,
           const std::vector<std::uint8_t>& bytes) {
  Tensor t{name, dtype, std::move(shape), {}};
  for (const std::uint8_t b : bytes) t.bytes.push_back(std::byte{b});
  return t;
}

std::vector<std::uint8_t> random_bytes(std::size_t n, unsigned seed, unsigned below = 256) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> out(n);
  for (std::uint8_t& b : out) b = static_cast<std::uint8_t>(random() % below);
  return out;
}

std::vector<float> random_scales(std::size_t n, unsigned seed) {
  std::vector<float> s = noise(n, seed);
  for (float& x : s) x = 0.01f + std::abs(x);
  return s;
}

// E4M3FN from its fields: sign, four bits of exponent, three of significand.
double e4m3(unsigned code) {
  const int e = static_cast<int>(code >> 3 & 15u), m = static_cast<int>(code & 7u);
  const double magnitude = e == 0 ? m * 0x1p-9 : std::ldexp(8 + m, e - 10);
  return code >= 128 ? -magnitude : magnitude;
}

// A checkpoint with one quantized weight, and the value it stands for at [row, column].
struct Checkpoint {
  std::string name;    // of the weight
  std::string format;  // as inspect says
  std::vector<std::size_t> shape;
  std::vector<Tensor> parts;
  std::function<double(std::size_t, std::size_t)> value;
};

// Small floats of R rows and C columns under scales [.., ..] of blocks of that size.
Checkpoint float8(const std::string& name, const std::string& scale_name, std::size_t rows,
                  std::size_t columns, std::vector<std::size_t> grid, std::size_t block_rows,
                  std::size_t block_columns) {
  std::vector<std::uint8_t> codes = random_bytes(rows * columns, 3);
  for (std::uint8_t& c : codes)
    if ((c & 127) == 127) c = 0;  // no NaN
  const std::size_t across = (columns + block_columns - 1) / block_columns;
  const auto n = static_cast<std::size_t>(*tq::io::element_count(grid));
  const std::vector<float> scales = random_scales(n, 5);
  return {name,
          "scaled_float8",
          {rows, columns},
          {raw(name, {rows, columns}, DType::f8_e4m3, codes),
           tq::io::from_float32(scale_name, grid, scales)},
          [=](std::size_t r, std::size_t c) {
            return e4m3(codes[r * columns + c]) *
                   double{scales[r / block_rows * across + c / block_columns]};
          }};
}

void put_bits(std::vector<std::int32_t>& words, std::size_t first, std::size_t stride,
              std::size_t begin, std::size_t n, unsigned value) {
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t& w = words[first + (begin + i) / 32 * stride];
    w = static_cast<std::int32_t>(static_cast<std::uint32_t>(w) | (value >> i & 1u)
                                                                      << ((begin + i) % 32));
  }
}

// 64 inputs, 16 outputs, groups of 32; zero points are stored less 1. The third scale is 0.
Checkpoint gptq() {
  const std::size_t k = 64, n = 16;
  const std::vector<std::uint8_t> codes = random_bytes(k * n, 7, 16),
                                  zeros = random_bytes(2 * n, 8, 15);
  std::vector<float> scales = random_scales(2 * n, 9);
  scales[2] = 0;
  std::vector<std::int32_t> qweight(k / 8 * n), qzeros(2 * n / 8), g_idx(k);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < n; ++j) put_bits(qweight, j, n, i * 4, 4, codes[i * n + j]);
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t j = 0; j < n; ++j)
      put_bits(qzeros, g * (n / 8), 1, j * 4, 4, zeros[g * n + j]);
  for (std::size_t i = 0; i < k; ++i) g_idx[i] = static_cast<std::int32_t>(i % 2);
  return {
      "m.q_proj.weight",
      "gptq",
      {n, k},
      {of("m.q_proj.qweight", {k / 8, n}, qweight), of("m.q_proj.qzeros", {2, n / 8}, qzeros),
       tq::io::from_float32("m.q_proj.scales", {2, n}, scales), of("m.q_proj.g_idx", {k}, g_idx)},
      [=](std::size_t r, std::size_t c) {
        const std::size_t p = c % 2 * n + r;
        return double{scales[p]} * (codes[c * n + r] - (zeros[p] + 1.0));
      }};
}

Checkpoint awq() {
  const std::size_t k = 64, n = 16;
  const unsigned nibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  const std::vector<std::uint8_t> codes = random_bytes(k * n, 17, 16),
                                  zeros = random_bytes(2 * n, 18, 16);
  const std::vector<float> scales = random_scales(2 * n, 19);
  std::vector<std::int32_t> qweight(k * n / 8), qzeros(2 * n / 8);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < n; ++j)
      put_bits(qweight, i * (n / 8), 1, j / 8 * 32 + nibble[j % 8] * 4, 4, codes[i * n + j]);
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t j = 0; j < n; ++j)
      put_bits(qzeros, g * (n / 8), 1, j / 8 * 32 + nibble[j % 8] * 4, 4, zeros[g * n + j]);
  return {"a.weight",
          "awq",
          {n, k},
          {of("a.qweight", {k, n / 8}, qweight), of("a.qzeros", {2, n / 8}, qzeros),
           tq::io::from_float32("a.scales", {2, n}, scales)},
          [=](std::size_t r, std::size_t c) {
            const std::size_t p = c / 32 * n + r;
            return double{scales[p]} * (double{codes[c * n + r] * 1.0} - zeros[p]);
          }};
}

Checkpoint compressed() {
  const std::size_t k = 40, n = 6;  // 5 words a row
  const std::vector<std::uint8_t> codes = random_bytes(k * n, 27, 16);
  const std::vector<float> scales = random_scales(n, 29);
  std::vector<std::int32_t> words(n * 5);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < k; ++i) put_bits(words, r * 5, 1, i * 4, 4, codes[r * k + i]);
  return {
      "c.weight",
      "compressed_tensors",
      {n, k},
      {of("c.weight_packed", {n, 5}, words), tq::io::from_float32("c.weight_scale", {n, 1}, scales),
       of("c.weight_shape", {2}, std::vector<std::int64_t>{6, 40})},
      [=](std::size_t r, std::size_t c) {
        return double{scales[r]} * (static_cast<int>(codes[r * k + c]) - 8);
      }};
}

Checkpoint int8_rows(bool has_zero_points) {
  const std::size_t k = 24, n = 5;
  const std::vector<std::uint8_t> codes = random_bytes(k * n, 37), zeros = random_bytes(n, 38);
  const std::vector<float> scales = random_scales(n, 39);
  std::vector<Tensor> parts{raw("i.weight", {n, k}, DType::i8, codes),
                            tq::io::from_float32("i.weight_scale", {n, 1}, scales)};
  if (has_zero_points) parts.push_back(raw("i.weight_zero_point", {n, 1}, DType::i8, zeros));
  return {"i.weight", "int8_scaled", {n, k}, parts, [=](std::size_t r, std::size_t c) {
            const int z = has_zero_points ? static_cast<std::int8_t>(zeros[r]) : 0;
            return double{scales[r]} * (static_cast<std::int8_t>(codes[r * k + c]) - z);
          }};
}

double e2m1(unsigned code) {
  const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code >= 8 ? -values[code - 8] : values[code];
}

Checkpoint nvfp4(bool is_divisor) {
  const std::size_t k = 64, n = 3;
  const std::vector<std::uint8_t> packed = random_bytes(k * n / 2, 47),
                                  scales = random_bytes(n * 4, 48, 127);
  const std::string base = is_divisor ? "p.weight_packed" : "p.weight";
  return {"p.weight",
          "nvfp4",
          {n, k},
          {raw(base, {n, k / 2}, DType::u8, packed),
           raw("p.weight_scale", {n, 4}, DType::f8_e4m3, scales),
           of(is_divisor ? "p.weight_global_scale" : "p.weight_scale_2", {1},
              std::vector<float>{is_divisor ? 8.0f : 0.125f})},
          [=](std::size_t r, std::size_t c) {
            const unsigned byte = packed[(r * k + c) / 2];
            return e2m1(c % 2 == 0 ? byte & 15u : byte >> 4) * e4m3(scales[r * 4 + c / 16]) / 8;
          }};
}

// 4 bits by a map of its own, scales quantized by another: values come from the maps of the file.
Checkpoint bitsandbytes(bool is_nested) {
  const std::size_t k = 96, n = 4, blocks = k * n / 64;
  const std::vector<std::uint8_t> packed = random_bytes(k * n / 2, 57),
                                  codes = random_bytes(blocks, 58);
  std::vector<float> map = noise(16, 59), nested_map = noise(256, 60),
                     absmax = random_scales(blocks, 61);
  Json state{{"quant_type", "nf4"}, {"blocksize", 64}, {"dtype", "float32"}, {"shape", {n, k}}};
  std::vector<Tensor> parts{raw("b.weight", {k * n / 2, 1}, DType::u8, packed),
                            of("b.weight.quant_map", {16}, map)};
  if (is_nested) {
    state["nested_blocksize"] = 256;
    state["nested_dtype"] = "float32";
    state["nested_offset"] = 1.5;
    parts.push_back(raw("b.weight.absmax", {blocks}, DType::u8, codes));
    parts.push_back(of("b.weight.nested_quant_map", {256}, nested_map));
    parts.push_back(of("b.weight.nested_absmax", {1}, std::vector<float>{0.75f}));
    for (std::size_t i = 0; i < blocks; ++i) {
      const auto product = static_cast<float>(double{nested_map[codes[i]]} * 0.75);
      absmax[i] = static_cast<float>(double{product} + 1.5);
    }
  } else {
    parts.push_back(of("b.weight.absmax", {blocks}, absmax));
  }
  const std::string text = state.dump();
  parts.push_back(raw("b.weight.quant_state.bitsandbytes__nf4", {text.size()}, DType::u8,
                      {text.begin(), text.end()}));
  return {"b.weight", "bitsandbytes_4bit", {n, k}, parts, [=](std::size_t r, std::size_t c) {
            const std::size_t i = r * k + c;
            const unsigned byte = packed[i / 2];
            return double{map[i % 2 == 0 ? byte >> 4 : byte & 15u]} * double{absmax[i / 64]};
          }};
}

Checkpoint llm_int8() {
  const std::size_t k = 24, n = 5;
  const std::vector<std::uint8_t> codes = random_bytes(k * n, 67);
  const std::vector<float> scb = random_scales(n, 69);
  return {"l.weight",
          "bitsandbytes_8bit",
          {n, k},
          {raw("l.weight", {n, k}, DType::i8, codes), of("l.SCB", {n}, scb),
           raw("l.weight_format", {}, DType::u8, {0})},
          [=](std::size_t r, std::size_t c) {
            const auto product =
                static_cast<float>(static_cast<std::int8_t>(codes[r * k + c]) * double{scb[r]});
            return double{product} * double{7.874015718698502e-3f};
          }};
}

std::vector<Checkpoint> checkpoints() {
  std::vector<Checkpoint> all{
      float8("w", "w_scale_inv", 200, 300, {2, 3}, 128, 128),  // DeepSeek
      float8("d.weight", "d.weight_scale_inv", 256, 128, {2, 1}, 128, 128),
      float8("f.weight", "f.scale_weight", 4, 6, {}, 4, 6),      // ComfyUI
      float8("e.weight", "e.weight_scale", 4, 6, {1}, 4, 6),     // ModelOpt
      float8("g.weight", "g.weight_scale", 4, 6, {4, 1}, 1, 6),  // compressed-tensors
      float8("h.weight", "h.weight_scale", 4, 6, {4}, 1, 6),
      float8("j.weight", "j.scale", 256, 256, {2, 2}, 128, 128)};
  all.push_back(gptq());
  all.push_back(awq());
  all.push_back(compressed());
  all.push_back(int8_rows(false));
  all.push_back(int8_rows(true));
  all.push_back(nvfp4(false));
  all.push_back(nvfp4(true));
  all.push_back(bitsandbytes(false));
  all.push_back(bitsandbytes(true));
  all.push_back(llm_int8());
  return all;
}

// With a norm, and the scale of the activations of the layer.
std::string write(const Folder& folder, const Checkpoint& c) {
  std::vector<Tensor> tensors = c.parts;
  tensors.push_back(tensor("norm.weight", {8}));
  const std::size_t dot = c.name.rfind('.');
  if (dot != std::string::npos)
    tensors.push_back(of(c.name.substr(0, dot) + ".input_scale", {1, 1}, std::vector<float>{0.5f}));
  const std::string path = folder("m.safetensors");
  tq::io::write_safetensors(path, tensors);
  return path;
}

Json entry(const Json& list, const std::string& name) {
  for (const Json& t : list)
    if (t["name"] == name) return t;
  return {};
}

}  // namespace

TEST_CASE("weights of other programs are inspected and dequantized for what they are") {
  for (const Checkpoint& c : checkpoints()) {
    INFO(c.name << " " << c.format);
    const Folder folder("checkpoint");
    const std::string in = write(folder, c), out = folder("d.safetensors");
    const Json listed = Json::parse(succeed({"inspect", "--json", in}));
    const Json found = entry(listed["tensors"], c.name);
    REQUIRE(found.contains("checkpoint"));
    CHECK(found["checkpoint"]["format"] == c.format);
    CHECK(found["checkpoint"]["parts"].size() == c.parts.size());
    CHECK(found["shape"] == Json(c.shape));
    CHECK(listed["total"]["quantized"] == 1);
    CHECK(has(succeed({"inspect", in}), found["checkpoint"]["scheme"].get<std::string>()));

    succeed({"dequantize", in, out});
    const auto reader = tq::io::SafetensorsReader::open(out);
    const Tensor w = reader.read(c.name);
    CHECK(w.shape == c.shape);
    std::vector<float> expected;
    for (std::size_t r = 0; r < c.shape[0]; ++r)
      for (std::size_t k = 0; k < c.shape[1]; ++k)
        expected.push_back(static_cast<float>(c.value(r, k)));
    CHECK(w.dtype == (c.format == "bitsandbytes_8bit" ? DType::f16 : DType::f32));
    CHECK(tq::io::to_float32(w) ==
          tq::io::to_float32(tq::io::from_float32("", c.shape, expected, w.dtype)));
    CHECK(reader.contains("norm.weight"));
    CHECK(reader.tensors().size() == 2);  // without a scale of activations
  }
}

TEST_CASE("weights of other programs are copied byte for byte, or quantized anew when asked") {
  for (const Checkpoint& c : checkpoints()) {
    INFO(c.name << " " << c.format);
    const Folder folder("checkpoint");
    const std::string in = write(folder, c), q = folder("q.safetensors");
    const Json report = Json::parse(succeed({"quantize", in, q, "--type", "int4", "--json"}));
    CHECK(report["total"]["quantized"] == 0);
    CHECK(has(entry(report["tensors"], c.name)["reason"], "quantized: "));
    const auto a = tq::io::SafetensorsReader::open(in), b = tq::io::SafetensorsReader::open(q);
    REQUIRE(a.tensors().size() == b.tensors().size());
    for (const auto& info : a.tensors()) {
      CHECK(b.info(info.name).dtype == info.dtype);
      CHECK(b.info(info.name).shape == info.shape);
      CHECK(b.read(info.name).bytes == a.read(info.name).bytes);
    }
    CHECK(run({"sweep", in, "--types", "int8"}).status == 1);  // nothing in it is a weight

    const Json anew = Json::parse(succeed({"quantize", in, q, "--type", "int16", "--requantize",
                                           "--json", "--granularity", "per_token"}));
    CHECK(anew["total"]["quantized"] == 1);
    succeed({"dequantize", in, folder("d.safetensors")});
    const Json measured = Json::parse(succeed({"compare", "--json", folder("d.safetensors"), q}));
    if (c.format != "bitsandbytes_8bit")  // whose values are rounded to F16 on the way back
      CHECK(entry(measured["tensors"], c.name)["error"] == entry(anew["tensors"], c.name)["error"]);
    CHECK(entry(anew["tensors"], c.name)["error"]["sqnr_db"].get<double>() > 60);
    CHECK(Json::parse(succeed(
              {"compare", "--json", in, folder("d.safetensors")}))["total"]["identical"] == 2);
    const Json swept =
        Json::parse(succeed({"sweep", in, "--types", "int8", "--requantize", "--json"}));
    CHECK(swept["total"]["tensors"] == 1);
    succeed({"calibrate", in, "-o", folder("p.json")});
    CHECK(Json::parse(content(folder("p.json"))).size() == 2);  // the weight and the norm
  }
}

TEST_CASE("parts that do not fit are left alone, with what was expected") {
  const Folder folder("misfit");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  const auto check = [&](std::vector<Tensor> tensors, const std::string& expected) {
    INFO(expected);
    tq::io::write_safetensors(in, tensors);
    const Json report =
        Json::parse(succeed({"quantize", in, q, "--all", "--requantize", "--json"}));
    CHECK(report["total"]["quantized"] == 0);
    bool is_said = false;
    for (const Json& t : report["tensors"])
      is_said = is_said || t["reason"].get<std::string>().find(expected) != std::string::npos;
    CHECK(is_said);
    for (const Tensor& t : read_all(q))
      for (const Tensor& before : tensors)
        if (t.name == before.name) CHECK(t.bytes == before.bytes);
    CHECK(has(fail(1, {"dequantize", in, folder("d.safetensors")}), expected));
    succeed({"inspect", in});
  };
  const auto misfit = [&](Checkpoint c, std::size_t part, Tensor other,
                          const std::string& expected) {
    c.parts[part] = std::move(other);
    check(c.parts, expected);
  };
  const Checkpoint w = float8("w", "w_scale_inv", 200, 300, {2, 3}, 128, 128);
  misfit(w, 1, tensor("w_scale_inv", {2, 2}), "\"w_scale_inv\": expected scales of [200, 300]");
  misfit(w, 1, tensor("w_scale_inv", {3, 2}), "or one for each block of 128");
  misfit(w, 1, raw("w_scale_inv", {2, 3}, DType::u8, random_bytes(6, 1)),
         "F32, F16, BF16 or F8_E8M0");
  std::vector<Tensor> two = w.parts;
  two.push_back(tensor("w_scale", {1}));
  check(two, "expected scales of one name");
  misfit(gptq(), 1, tensor("m.q_proj.qzeros", {2, 2}), "\"m.q_proj.qzeros\": expected I32");
  misfit(gptq(), 2, tensor("m.q_proj.scales", {2, 24}), "expected 24 columns (GPTQ)");
  misfit(awq(), 1, of("other", {2}, std::vector<std::int64_t>{1, 2}),
         "expected a tensor of its zero points, got none");
  misfit(compressed(), 2, of("c.weight_shape", {2}, std::vector<std::int64_t>{5, 40}),
         "weight of 6 rows");
  misfit(compressed(), 2, of("c.weight_shape", {2}, std::vector<std::int64_t>{6, 400}),
         "codes of 1 to 8 bits");
  misfit(nvfp4(false), 1, tensor("p.weight_scale", {3, 4}), "expected F8_E4M3 [3, 4], got F32");
  misfit(llm_int8(), 1, tensor("l.SCB", {4}), "\"l.SCB\": expected F32 [5]");
  misfit(llm_int8(), 2, raw("l.weight_format", {}, DType::u8, {1}), "expected rows (0)");
  misfit(bitsandbytes(true), 2, raw("b.weight.absmax", {5}, DType::u8, random_bytes(5, 1)),
         "\"b.weight.absmax\": expected U8 [6]");

  // Scales of a weight in another file, and values that no scale has.
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("x.weight_scale_inv", {4, 4})});
  CHECK(
      has(succeed({"quantize", in, q}), "named as a part of a quantized weight that is not here"));
  std::vector<Tensor> bad = w.parts;
  std::vector<float> scales = tq::io::values<float>(bad[1]);
  scales[4] = std::nanf("");
  bad[1] = tq::io::from_float32("w_scale_inv", {2, 3}, scales);
  tq::io::write_safetensors(in, bad);
  CHECK(has(fail(1, {"dequantize", in, q}),
            "tensor \"w\": tq::io::load_checkpoint: expected finite"));
}

TEST_CASE("symmetric GPTQ weights of version 2 are asked about, or read as config.json says") {
  const Folder folder("gptq_v2");
  Checkpoint c = gptq();
  for (std::byte& b : c.parts[1].bytes) b = std::byte{0x88};
  const std::string in = write(folder, c), out = folder("d.safetensors");
  CHECK(has(fail(1, {"dequantize", in, out}), "gptq_v2"));
  std::ofstream(folder("config.json"))
      << R"({"quantization_config": {"checkpoint_format": "gptq_v2"}})";
  succeed({"dequantize", in, out});
  const Tensor w = tq::io::SafetensorsReader::open(out).read(c.name);
  std::ofstream(folder("quantize_config.json")) << R"({"checkpoint_format": "gptq"})";
  fail(1, {"dequantize", in, out});
  for (std::byte& b : c.parts[1].bytes) b = std::byte{0x77};
  (void)write(folder, c);
  succeed({"dequantize", in, out});
  CHECK(tq::io::SafetensorsReader::open(out).read(c.name).bytes == w.bytes);
}

TEST_CASE("codes in words with gaps are not those of the width without") {
  const Folder folder("gaps");
  // 7 bits, four to a word: as many words as 8 bits without gaps.
  const std::string in = folder("m.safetensors"), out = folder("d.safetensors");
  tq::io::write_safetensors(
      in, std::vector<Tensor>{of("l.weight_packed", {2, 32}, std::vector<std::int32_t>(64, 5)),
                              tensor("l.weight_scale", {2, 1}),
                              of("l.weight_shape", {2}, std::vector<std::int64_t>{2, 128}),
                              tensor("norm.weight", {128})});
  const auto say = [&](const char* bits) {
    std::ofstream(folder("config.json"))
        << R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups":)"
        << R"( {"group_0": {"weights": {"type": "int", "num_bits": )" << bits << "}}}}}";
  };
  succeed({"dequantize", in, out});
  say("8");
  succeed({"dequantize", in, out});
  say("7");
  fs::remove(out);
  const std::string text = fail(1, {"dequantize", in, out});
  CHECK(has(text, "expected codes of 7 bits without gaps, as config.json says num_bits, got I32"));
  CHECK(has(text, "--skip-unreadable"));
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("a strategy of config.json that the scales contradict is no guess") {
  const Folder folder("strategy");
  const std::string in = folder("m.safetensors"), out = folder("d.safetensors");
  tq::io::write_safetensors(
      in, std::vector<Tensor>{of("l.weight", {2, 64}, std::vector<std::int8_t>(128, 5)),
                              tensor("l.weight_scale", {2, 2})});
  const auto say = [&](const char* strategy) {
    std::ofstream(folder("config.json"))
        << R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups":)"
        << R"( {"group_0": {"weights": {"type": "int", "num_bits": 8, "group_size": 32,)"
        << R"( "strategy": ")" << strategy << R"("}}}}})";
  };
  say("group");
  succeed({"dequantize", in, out});
  say("channel");
  fs::remove(out);
  CHECK(has(fail(1, {"dequantize", in, out}),
            "expected scales of strategy \"channel\" [2, 1], as the configuration says, got F32 "
            "[2, 2]"));
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("weights that cannot be read are copied and named when asked") {
  const Folder folder("skipped");
  Checkpoint bad = compressed();
  bad.parts[2] = of("c.weight_shape", {2}, std::vector<std::int64_t>{5, 40});
  std::vector<Tensor> all = gptq().parts;
  all.insert(all.end(), bad.parts.begin(), bad.parts.end());
  const std::string in = folder("m.safetensors"), out = folder("d.safetensors");
  tq::io::write_safetensors(in, all);
  fail(1, {"dequantize", in, out});
  CHECK(has(succeed({"dequantize", in, out, "--skip-unreadable"}),
            "copied, as the weight it is part of cannot be read: c.weight_packed"));
  const auto reader = tq::io::SafetensorsReader::open(out);
  CHECK(reader.contains(gptq().name));
  for (const Tensor& part : bad.parts) CHECK(reader.read(part.name).bytes == part.bytes);
  const Json report = Json::parse(succeed({"dequantize", in, out, "--skip-unreadable", "--json"}));
  CHECK(report["total"]["dequantized"] == 1);
  CHECK(has(entry(report["tensors"], "c.weight_packed")["reason"], "weight of 6 rows"));
  succeed({"inspect", in});
}

// NaN in the scales of a weight of each format, beside a weight that is whole.
TEST_CASE("weights that fail while they are decoded are copied and named when asked") {
  const Folder folder("skipped_late");
  const std::string in = folder("m.safetensors"), out = folder("d.safetensors");
  const std::map<std::string, std::string> scales{{"w", "w_scale_inv"},
                                                  {"i.weight", "i.weight_scale"},
                                                  {"c.weight", "c.weight_scale"},
                                                  {"p.weight", "p.weight_scale_2"},
                                                  {"m.q_proj.weight", "m.q_proj.scales"},
                                                  {"b.weight", "b.weight.absmax"},
                                                  {"l.weight", "l.SCB"}};
  std::set<std::string> tried;
  for (const Checkpoint& c : checkpoints()) {
    const auto name = scales.find(c.name);
    if (name == scales.end() || tried.contains(c.name)) continue;
    INFO(c.name);
    std::vector<Tensor> all = c.parts;
    for (Tensor& part : all)
      if (part.name == name->second) {
        tried.insert(c.name);
        std::vector<float> values = tq::io::to_float32(part);
        values.back() = std::nanf("");
        part = tq::io::from_float32(part.name, part.shape, values, part.dtype);
      }
    const Checkpoint good = float8("good", "good_scale_inv", 4, 6, {}, 4, 6);
    all.insert(all.end(), good.parts.begin(), good.parts.end());
    tq::io::write_safetensors(in, all);
    CHECK(has(fail(1, {"dequantize", in, out}), "--skip-unreadable copies its parts"));
    CHECK_FALSE(fs::exists(out));
    CHECK(has(succeed({"dequantize", in, out, "--skip-unreadable"}),
              "cannot be read: " + name->second));
    const auto reader = tq::io::SafetensorsReader::open(out);
    CHECK(reader.info("good").dtype == DType::f32);
    for (const Tensor& part : all)
      if (!part.name.starts_with("good")) CHECK(reader.read(part.name).bytes == part.bytes);
    const Json report =
        Json::parse(succeed({"dequantize", in, out, "--skip-unreadable", "--json"}));
    CHECK(report["total"]["dequantized"] == 1);
    CHECK(has(entry(report["tensors"], name->second)["reason"], "expected "));
    fs::remove(out);
  }
  CHECK(tried.size() == scales.size());
}

TEST_CASE("tensors of tq with damaged scales are copied in their parts when asked") {
  const Folder folder("skipped_own");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    out = folder("d.safetensors");
  for (const std::size_t small : {std::size_t{0}, std::size_t{5000}}) {  // so many share one tensor
    INFO(small);
    std::vector<Tensor> all{tensor("w", {8, 32}), tensor("x", {8, 32})};
    for (std::size_t i = 0; i < small; ++i) all.push_back(tensor("s" + std::to_string(i), {2, 2}));
    tq::io::write_safetensors(in, all);
    succeed({"quantize", in, q, "--type", "int8", "--granularity", "per_tensor"});
    const bool is_pooled = small != 0;
    const std::string victim = is_pooled ? "s0" : "w";
    const auto before = tq::io::SafetensorsReader::open(q);
    const auto& place = before.info(is_pooled ? "tq.pool" : "w.scales");
    // s0 is the first in the pool: four codes, then its scale.
    const std::uint64_t at = place.offset + (is_pooled ? 4 : 0);
    std::string text = content(q);
    text.replace(static_cast<std::size_t>(at), 4, std::string("\0\0\xc0\x7f", 4));
    std::ofstream(q, std::ios::binary) << text;
    CHECK(has(fail(1, {"dequantize", q, out}), "--skip-unreadable copies its parts"));
    CHECK_FALSE(fs::exists(out));
    CHECK(has(succeed({"dequantize", q, out, "--skip-unreadable"}), victim + ".scales"));
    const auto reader = tq::io::SafetensorsReader::open(out);
    CHECK(reader.tensors().size() == all.size() + 1);
    CHECK(std::isnan(tq::io::values<float>(reader.read(victim + ".scales")).at(0)));
    CHECK(reader.info(victim + ".codes").dtype == DType::i8);
    CHECK(reader.info("x").dtype == DType::f32);
    fs::remove(out);
  }
}

TEST_CASE("float8 without scales is float for every subcommand") {
  for (const DType dtype :
       {DType::f8_e4m3, DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz}) {
    INFO(to_string(dtype));
    const Folder folder("float8");
    const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                      d = folder("d.safetensors");
    const Tensor w = tq::io::from_float32("w", {8, 32}, noise(256), dtype);
    tq::io::write_safetensors(in, std::vector<Tensor>{w});
    const Json report =
        Json::parse(succeed({"quantize", in, q, "--type", "int8", "--all", "--json"}));
    CHECK(report["total"]["quantized"] == 1);
    CHECK(entry(report["tensors"], "w")["error"]["sqnr_db"].get<double>() > 40);
    succeed({"dequantize", q, d});
    CHECK(read_all(d)[0].dtype == dtype);
    CHECK(
        Json::parse(succeed({"compare", "--json", in, q}))["total"]["worst_sqnr_db"].get<double>() >
        30);
    CHECK(Json::parse(succeed({"sweep", "--json", in, "--types", "int8"}))["total"]["tensors"] ==
          1);
    CHECK(Json::parse(succeed({"inspect", "--json", "--stats", in}))["tensors"][0]["max"]
              .get<double>() > 0.9);
    succeed({"calibrate", in, "-o", folder("p.json")});
    succeed({"quantize", in, q, "--type", "int16", "--all"});
    succeed({"dequantize", q, d});
    CHECK(read_all(d)[0].bytes == w.bytes);
  }
}
