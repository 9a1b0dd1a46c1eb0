// SPDX-License-Identifier: MIT
// Whole models as GGUF files.
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json_text.hpp>
#include <tq/layouts/gguf/best.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_mix_json.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_model.ipp>
#include <tq/store/write_gguf.hpp>
#include <tq/store/write_gguf.ipp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/files/io_test.hpp"

using namespace tq;
using namespace io_test;
namespace gguf = layouts::gguf;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;

const fs::path vectors = golden / "conformance/gguf";

std::vector<float> noise(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  return x;
}

// A GGUF file of float32 tensors.
struct Floats {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;
};
void write_floats(const fs::path& path, const std::vector<Floats>& tensors,
                  std::vector<io::GgufEntry> entries = {
                      {"general.architecture", std::string("llama")}}) {
  std::vector<io::GgufTensorDecl> declared;
  for (const Floats& t : tensors) declared.push_back({t.name, gguf::Type::f32, t.shape});
  io::GgufWriter writer(path, entries, declared);
  for (const Floats& t : tensors) writer.append(t.name, std::as_bytes(std::span(t.values)));
  writer.finish();
}

GgufReport write(const fs::path& out, const fs::path& in, const GgufOptions& options = {}) {
  return write_gguf<Small>(out, in, options);
}

std::vector<std::byte> bytes_of(const fs::path& path, const std::string& name) {
  return io::GgufReader::open(path).read_bytes(name);
}

// "0-3,6" as numbers.
std::vector<std::size_t> numbers(const std::string& text) {
  std::vector<std::size_t> out;
  std::istringstream in(text);
  for (std::string run; std::getline(in, run, ',');) {
    const std::size_t dash = run.find('-');
    const std::size_t first = std::stoul(run),
                      last = dash == run.npos ? first : std::stoul(run.substr(dash + 1));
    for (std::size_t i = first; i <= last; ++i) out.push_back(i);
  }
  return out;
}

// A model of the Llama kind with two layers, by the names of Hugging Face.
constexpr std::size_t width = 64, inner = 96, words = 40, heads = 4, keys = 2;
const char* const config = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 40,
  "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 5e5, "hidden_act": "silu"})";

// The same with another number under a key.
std::string config_with(const std::string& key, const std::string& number) {
  std::string text = config;
  const std::size_t begin = text.find(key) + key.size() + 3;
  return text.replace(begin, text.find(',', begin) - begin, number);
}

std::vector<Floats> llama() {
  std::vector<Floats> out;
  const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
    std::size_t n = 1;
    for (const std::size_t extent : shape) n *= extent;
    out.push_back({name, std::move(shape), noise(n, static_cast<unsigned>(out.size()))});
  };
  add("model.embed_tokens.weight", {words, width});
  for (const char* const layer : {"model.layers.0.", "model.layers.1."}) {
    const std::string l = layer;
    add(l + "self_attn.q_proj.weight", {width, width});
    add(l + "self_attn.q_proj.bias", {width});
    add(l + "self_attn.k_proj.weight", {width * keys / heads, width});
    add(l + "self_attn.v_proj.weight", {width * keys / heads, width});
    add(l + "self_attn.o_proj.weight", {width, width});
    add(l + "self_attn.rotary_emb.inv_freq", {8});
    add(l + "mlp.gate_proj.weight", {inner, width});
    add(l + "mlp.down_proj.weight", {width, inner});
    add(l + "mlp.up_proj.weight", {inner, width});
    add(l + "input_layernorm.weight", {width});
    add(l + "post_attention_layernorm.weight", {width});
  }
  add("model.norm.weight", {width});
  add("lm_head.weight", {words, width});
  return out;
}

fs::path write_model(const fs::path& folder, const std::vector<Floats>& tensors,
                     const std::string& text = config, io::DType dtype = io::DType::f32) {
  fs::create_directories(folder);
  spill(folder / "config.json", text);
  std::vector<io::Tensor> all;
  for (const Floats& t : tensors) all.push_back(io::from_float32(t.name, t.shape, t.values, dtype));
  io::write_safetensors(folder / "model.safetensors", all);
  return folder;
}

const Floats& find(const std::vector<Floats>& tensors, const std::string& name) {
  return *std::ranges::find(tensors, name, &Floats::name);
}

}  // namespace

TEST_CASE("mixes give the types that llama.cpp gives") {
  const io::Json models = io::parse_json(io::read_text(golden / "gguf/mixes.json"));
  std::size_t compared = 0;
  for (const auto& [name, model] : models.items()) {
    std::vector<io::GgufEntry> entries{
        {"general.architecture", model["architecture"].get<std::string>()}};
    for (const auto& [key, value] : model["keys"].items())
      entries.push_back({key, value.get<std::uint32_t>()});
    const auto blocks =
        model["keys"][model["architecture"].get<std::string>() + ".block_count"].get<std::size_t>();
    std::vector<store::detail::GgufShape> shapes;
    for (const auto& [tensor, shape] : model["tensors"].items())
      shapes.push_back({tensor, shape.get<std::vector<std::size_t>>()});
    for (std::size_t i = blocks; i-- > 0;)  // their order does not matter
      for (const auto& [tensor, shape] : model["blocks"].items())
        shapes.push_back(
            {"blk." + std::to_string(i) + "." + tensor, shape.get<std::vector<std::size_t>>()});
    for (const auto& [run, types] : model["types"].items()) {
      INFO(name << " " << run);
      std::map<std::string, std::string> expected;
      for (const auto& [type, groups] : types.items())
        for (const auto& [tensor, layers] : groups.items()) {
          const auto text = layers.template get<std::string>();
          if (text.empty()) expected[tensor] = type;
          for (const std::size_t i : numbers(text))
            expected["blk." + std::to_string(i) + "." + tensor] = type;
        }
      const bool has_importance = run.ends_with("+imatrix");
      const GgufMix mix = gguf_mix(run.substr(0, run.find('+')));
      const store::detail::GgufDecider decider(mix, entries, shapes, has_importance);
      for (const store::detail::GgufShape& shape : shapes) {
        INFO(shape.name);
        const auto found = expected.find(shape.name);
        REQUIRE(decider.is_weight(shape) == (found != expected.end()));
        if (found == expected.end()) continue;
        const gguf::Type got = decider.fitting(decider.chosen(shape), shape);
        REQUIRE(std::string(gguf::info_of(got).name) == found->second);
        ++compared;
      }
    }
  }
  CHECK(compared > 20000);
}

TEST_CASE("every type of a GGUF file has the bytes of ggml") {
  const TempDir dir;
  const io::Tensor x = io::read_npy(vectors / "x.npy");
  write_floats(dir / "x.gguf", {{"blk.0.attn_q.weight", x.shape, io::to_float32(x)}});
  for (const char* const type :
       {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl",
        "iq4_xs", "tq1_0", "tq2_0", "mxfp4", "nvfp4", "q1_0", "q2_0"}) {
    INFO(type);
    GgufOptions options{.type = type, .method = GgufMethod::ggml, .overwrite = true};
    const GgufReport report = write(dir / "y.gguf", dir / "x.gguf", options);
    REQUIRE(report.tensors.size() == 1);
    CHECK(gguf::info_of(report.tensors[0].type).name == type);
    const std::vector<std::byte> got = bytes_of(dir / "y.gguf", "blk.0.attn_q.weight");
    CHECK(report.bytes_after() == got.size());
    std::vector<float> values(static_cast<std::size_t>(*io::element_count(x.shape)));
    std::vector<float> expected(values.size());
    const io::Tensor blocks = io::read_npy(vectors / (std::string(type) + "_blocks.npy"));
    const auto decode = [&](const std::vector<std::byte>& bytes, std::vector<float>& out) {
      gguf::dequantize(report.tensors[0].type,
                       {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, out);
    };
    decode(got, values);
    decode(blocks.bytes, expected);  // zeros of either sign are the same
    CHECK(values == expected);
    const auto file = io::GgufReader::open(dir / "y.gguf");
    CHECK(std::get<std::uint32_t>(*file.find_value("general.quantization_version")) == 2);
    CHECK(std::get<std::uint32_t>(*file.find_value("general.file_type")) ==
          gguf_mix(type).file_type);
  }
}

TEST_CASE("the best blocks are the default, and threads do not change a file") {
  const TempDir dir;
  std::vector<Floats> tensors;
  for (int i = 0; i < 5; ++i)
    tensors.push_back({"blk." + std::to_string(i) + ".ffn_up.weight",
                       {600, 512},
                       noise(600 * 512, static_cast<unsigned>(i))});
  tensors.push_back({"blk.0.attn_norm.weight", {512}, noise(512)});
  write_floats(dir / "x.gguf", tensors);
  std::uint64_t last = 0;
  GgufOptions options{.type = "q4_k"};
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done >= last);
    CHECK(done <= all);
    last = done;
  };
  const GgufReport report = write(dir / "one.gguf", dir / "x.gguf", options);
  CHECK(last == report.bytes_after());
  options.jobs = 3;
  last = 0;
  write(dir / "three.gguf", dir / "x.gguf", options);
  CHECK(slurp(dir / "one.gguf") == slurp(dir / "three.gguf"));
  std::vector<std::uint8_t> blocks(600 * 512 / 256 * 144);
  gguf::quantize<gguf::Q4_K>(tensors[2].values, blocks, gguf::best{});
  const std::vector<std::byte> got = bytes_of(dir / "one.gguf", tensors[2].name);
  REQUIRE(got.size() == blocks.size());
  CHECK(std::memcmp(got.data(), blocks.data(), blocks.size()) == 0);
  CHECK(bytes_of(dir / "one.gguf", "blk.0.attn_norm.weight").size() == 512 * 4);
}

TEST_CASE("keys and tensors of a GGUF file keep their order, and what is no weight its bytes") {
  const TempDir dir;
  const fs::path in = vectors / "files/all_kv.gguf";
  GgufOptions options{.type = "q8_0"};
  write(dir / "y.gguf", in, options);
  const auto before = io::GgufReader::open(in), after = io::GgufReader::open(dir / "y.gguf");
  REQUIRE(after.entries().size() >= before.entries().size());
  for (std::size_t i = 0; i < before.entries().size(); ++i) {
    const io::GgufEntry &a = before.entries()[i], &b = after.entries()[i];
    CHECK(a.name == b.name);
    if (a.name != "general.file_type" && a.name != "general.quantization_version")
      CHECK(a.value == b.value);
  }
  REQUIRE(after.tensors().size() == before.tensors().size());
  for (std::size_t i = 0; i < before.tensors().size(); ++i) {
    CHECK(after.tensors()[i].name == before.tensors()[i].name);
    CHECK(after.read_bytes(after.tensors()[i].name) == before.read_bytes(after.tensors()[i].name));
  }
}

TEST_CASE("a split GGUF file becomes one file with the bytes of the whole") {
  const TempDir dir;
  const std::vector<Floats> all{{"token_embd.weight", {4, 256}, noise(1024, 1)},
                                {"blk.0.ffn_up.weight", {4, 256}, noise(1024, 2)},
                                {"blk.0.ffn_norm.weight", {256}, noise(256, 3)},
                                {"output.weight", {4, 256}, noise(1024, 4)}};
  write_floats(dir / "x.gguf", all);
  const auto split_keys = [](std::uint16_t number) {
    std::vector<io::GgufEntry> out{{"split.no", number},
                                   {"split.count", std::uint16_t{2}},
                                   {"split.tensors.count", std::int32_t{4}}};
    if (number == 0) out.insert(out.begin(), {"general.architecture", std::string("llama")});
    return out;
  };
  write_floats(dir / "x-00001-of-00002.gguf", {all[0]}, split_keys(0));
  write_floats(dir / "x-00002-of-00002.gguf", {all[1], all[2], all[3]}, split_keys(1));
  const GgufOptions options{.type = "q4_k_m", .jobs = 2};
  write(dir / "whole.gguf", dir / "x.gguf", options);
  write(dir / "parts.gguf", dir / "x-00001-of-00002.gguf", options);
  CHECK(slurp(dir / "whole.gguf") == slurp(dir / "parts.gguf"));
  test::raises(errc::bad_argument, {"expected another file than `in`"}, [&] {
    write(dir / "x-00002-of-00002.gguf", dir / "x-00001-of-00002.gguf", {.overwrite = true});
  });
}

TEST_CASE("blocks are quantized anew on request only") {
  const TempDir dir;
  const fs::path in = vectors / "files/all_quant.gguf";
  test::raises(errc::bad_argument, {"expected a weight that is not quantized yet", "requantize"},
               [&] { write(dir / "y.gguf", in, {.type = "q4_k"}); });
  CHECK(dir.file_count() == 0);
  GgufOptions options{.type = "q4_k", .requantize = true};
  const GgufReport report = write(dir / "y.gguf", in, options);
  CHECK(bytes_of(dir / "y.gguf", "blk.q4_K.weight") == bytes_of(in, "blk.q4_K.weight"));
  for (const GgufWritten& t : report.tensors) CHECK(t.type == gguf::Type::q4_K);
}

TEST_CASE("a model of Hugging Face becomes a GGUF file") {
  const TempDir dir;
  const std::vector<Floats> tensors = llama();
  const fs::path folder = write_model(dir / "tiny", tensors);
  const GgufReport report = write(dir / "y.gguf", folder, {.type = "f32"});
  CHECK(report.dropped.size() == 2);
  CHECK(report.notes.size() == 1);
  const auto file = io::GgufReader::open(dir / "y.gguf");
  CHECK(file.tensors().size() == tensors.size() - 2);
  const auto values = [&](const std::string& name) { return io::to_float32(file.read(name)); };
  CHECK(values("blk.1.ffn_down.weight") ==
        find(tensors, "model.layers.1.mlp.down_proj.weight").values);
  CHECK(values("output.weight") == find(tensors, "lm_head.weight").values);
  CHECK(values("blk.0.attn_v.weight") ==
        find(tensors, "model.layers.0.self_attn.v_proj.weight").values);
  // Element (head, half, j) of a row index goes to (head, j, half).
  const auto paired = [](const Floats& t, std::size_t count) {
    const std::size_t rows = t.shape[0], n = t.values.size() / rows, head = rows / count;
    std::vector<float> out(t.values.size());
    for (std::size_t h = 0; h < count; ++h)
      for (std::size_t half = 0; half < 2; ++half)
        for (std::size_t j = 0; j < head / 2; ++j)
          for (std::size_t c = 0; c < n; ++c)
            out[(h * head + 2 * j + half) * n + c] =
                t.values[(h * head + half * (head / 2) + j) * n + c];
    return out;
  };
  CHECK(values("blk.1.attn_q.weight") ==
        paired(find(tensors, "model.layers.1.self_attn.q_proj.weight"), heads));
  CHECK(values("blk.1.attn_q.bias") ==
        paired(find(tensors, "model.layers.1.self_attn.q_proj.bias"), heads));
  CHECK(values("blk.0.attn_k.weight") ==
        paired(find(tensors, "model.layers.0.self_attn.k_proj.weight"), keys));
  const auto count = [&](const char* key) {
    return std::get<std::uint32_t>(*file.find_value(key));
  };
  CHECK(std::get<std::string>(*file.find_value("general.architecture")) == "llama");
  CHECK(std::get<std::string>(*file.find_value("general.name")) == "tiny");
  CHECK(count("llama.block_count") == 2);
  CHECK(count("llama.attention.head_count_kv") == 2);
  CHECK(count("llama.rope.dimension_count") == 16);
  CHECK(count("llama.vocab_size") == 40);
  CHECK(std::get<float>(*file.find_value("llama.rope.freq_base")) == 5e5f);
  CHECK(file.find_value("llama.expert_count") == nullptr);
}

TEST_CASE("weights of a model keep halves, and rows that are no whole blocks fall back") {
  const TempDir dir;
  const fs::path folder = write_model(dir / "tiny", llama(), config, io::DType::bf16);
  const GgufReport report = write(
      dir / "y.gguf", folder, {.type = "q4_k_m", .names = {.include = {}, .exclude = {"ffn_up"}}});
  for (const GgufWritten& t : report.tensors) {
    INFO(t.name);
    const bool is_norm = t.name.find("norm") != t.name.npos || t.name.ends_with("bias");
    const bool is_more = t.name.find("attn_v") != t.name.npos ||
                         t.name.find("ffn_down") != t.name.npos || t.name == "output.weight";
    const gguf::Type expected =
        is_norm                                ? gguf::Type::f32
        : t.name.find("ffn_up") != t.name.npos ? gguf::Type::bf16
        : is_more && t.name != "blk.0.attn_v.weight" && t.name != "blk.0.ffn_down.weight"
            ? gguf::Type::q8_0
            : gguf::Type::q5_0;
    CHECK(t.type == expected);
    CHECK(t.note.empty() == (is_norm));
  }
}

TEST_CASE("scalings of rotary embeddings become keys or a tensor") {
  const TempDir dir;
  const auto scaled = [](const std::string& scaling) {
    std::string text = config;
    return text.replace(text.rfind('}'), 1, ", \"rope_scaling\": " + scaling + "}");
  };
  const fs::path folder = write_model(
      dir / "m", llama(), scaled(R"({"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                 "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})"));
  write(dir / "y.gguf", folder, {.type = "f16"});
  const std::vector<float> got =
      io::to_float32(io::GgufReader::open(dir / "y.gguf").read("rope_freqs.weight"));
  // As convert_hf_to_gguf.py computes them in double, for heads of 16 and base 500000.
  const std::vector<double> expected{1.0, 1.0, 1.0, 1.0, 3.2922621029408843, 32.0, 32.0, 32.0};
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(std::abs(got[i] - expected[i]) < 1e-6 * expected[i]);
  write_model(dir / "m", llama(), scaled(R"({"type": "linear", "factor": 2.5})"));
  write(dir / "z.gguf", folder, {.type = "f16"});
  const auto file = io::GgufReader::open(dir / "z.gguf");
  CHECK(std::get<std::string>(*file.find_value("llama.rope.scaling.type")) == "linear");
  CHECK(std::get<float>(*file.find_value("llama.rope.scaling.factor")) == 2.5f);
  CHECK(file.find("rope_freqs.weight") == nullptr);
  write_model(dir / "m", llama(), scaled(R"({"rope_type": "yarn"})"));
  test::raises(errc::unsupported, {"yarn", "llama3"},
               [&] { write(dir / "n.gguf", folder, {.type = "f16"}); });
}

TEST_CASE("experts are stacked") {
  const TempDir dir;
  std::vector<Floats> tensors;
  for (int e = 2; e-- > 0;)
    for (const char* const w : {"w1", "w2", "w3"})
      tensors.push_back(
          {"model.layers.0.block_sparse_moe.experts." + std::to_string(e) + "." + w + ".weight",
           {32, 32},
           noise(1024, static_cast<unsigned>(tensors.size()))});
  const std::string one_layer = config_with("num_hidden_layers", "1");
  const fs::path folder = write_model(dir / "moe", tensors, one_layer);
  write(dir / "y.gguf", folder, {.type = "f32"});
  const io::Tensor got = io::GgufReader::open(dir / "y.gguf").read("blk.0.ffn_down_exps.weight");
  CHECK(got.shape == std::vector<std::size_t>{2, 32, 32});
  std::vector<float> expected =
      find(tensors, "model.layers.0.block_sparse_moe.experts.0.w2.weight").values;
  const std::vector<float>& second =
      find(tensors, "model.layers.0.block_sparse_moe.experts.1.w2.weight").values;
  expected.insert(expected.end(), second.begin(), second.end());
  CHECK(io::to_float32(got) == expected);
  tensors.erase(tensors.begin() + 3);  // w1 of expert 0
  write_model(dir / "moe", tensors, one_layer);
  test::raises(errc::shape_mismatch, {"expected expert 0", "got 1"},
               [&] { write(dir / "z.gguf", folder, {.type = "f32"}); });
}

TEST_CASE("importance of both forms of file weighs errors") {
  const TempDir dir;
  const io::Tensor x = io::read_npy(vectors / "x.npy");
  const std::vector<float> values = io::to_float32(x),
                           importance = io::to_float32(io::read_npy(vectors / "imatrix.npy"));
  REQUIRE(importance.size() == x.shape[1]);
  const std::string name = "blk.0.attn_q.weight";
  write_floats(dir / "x.gguf", {{name, x.shape, values}});
  const auto number = [](std::int32_t v) {
    return std::string(reinterpret_cast<const char*>(&v), sizeof v);
  };
  std::string old = number(1) + number(static_cast<std::int32_t>(name.size())) + name + number(4) +
                    number(static_cast<std::int32_t>(importance.size()));
  for (const float w : importance) {
    const float sum = 4 * w;
    old.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  spill(dir / "early.dat", old);
  spill(dir / "old.dat", old + number(7) + number(4) + "text");
  std::vector<float> sums = importance;
  for (float& s : sums) s *= 8;
  write_floats(dir / "new.gguf",
               {{name + ".in_sum2", {1, sums.size()}, sums}, {name + ".counts", {1, 1}, {8}}},
               {{"imatrix.chunk_count", std::uint32_t{7}}});
  std::vector<std::uint8_t> expected(values.size() / 256 * 144);
  gguf::quantize<gguf::Q4_K>(values, expected, gguf::best{}, importance);
  for (const char* const file : {"early.dat", "old.dat", "new.gguf"}) {
    INFO(file);
    const ImportanceFile read = read_importance(dir / file);
    REQUIRE(read.weights.contains(name));
    CHECK(read.weights.at(name) == importance);
    CHECK(read.chunks == (std::string(file) == "early.dat" ? 0 : 7));
    GgufOptions options{.type = "q4_k", .overwrite = true};
    options.imatrix = dir / file;
    const GgufReport report = write(dir / "y.gguf", dir / "x.gguf", options);
    for (const std::string& note : report.notes) CHECK(note.find("importance") == note.npos);
    const std::vector<std::byte> got = bytes_of(dir / "y.gguf", name);
    REQUIRE(got.size() == expected.size());
    CHECK(std::memcmp(got.data(), expected.data(), got.size()) == 0);
    const auto entries = io::GgufReader::open(dir / "y.gguf");
    CHECK(std::get<std::uint32_t>(*entries.find_value("quantize.imatrix.entries_count")) == 1);
  }
  spill(dir / "cut.dat", old.substr(0, 100));
  test::raises(errc::malformed, {"cut.dat", "expected sums of 2048 bytes", "at byte"},
               [&] { static_cast<void>(read_importance(dir / "cut.dat")); });
  write_floats(dir / "wide.gguf", {{name, {2, 256}, noise(512)}});
  GgufOptions options{.type = "q4_k"};
  options.imatrix = dir / "old.dat";
  test::raises(errc::shape_mismatch, {"expected an importance for each of 256 inputs, got 512"},
               [&] { write(dir / "z.gguf", dir / "wide.gguf", options); });
  CHECK_FALSE(fs::exists(dir / "z.gguf"));
}

TEST_CASE("experts behind the last of an importance matrix have the importance 1") {
  const TempDir dir;
  const std::string name = "blk.0.ffn_down_exps.weight";
  const std::vector<float> values = noise(3 * 2 * 256), seen = noise(256, 9);
  write_floats(dir / "x.gguf", {{name, {3, 2, 256}, values}});
  std::vector<float> importance(3 * 256, 1.0f), sums(256);
  for (std::size_t i = 0; i < 256; ++i) {
    importance[i] = seen[i] * seen[i];
    sums[i] = 8 * importance[i];
  }
  write_floats(dir / "i.gguf",
               {{name + ".in_sum2", {1, 256}, sums}, {name + ".counts", {1, 1}, {8}}});
  GgufOptions options{.type = "q4_k"};
  options.imatrix = dir / "i.gguf";
  write(dir / "y.gguf", dir / "x.gguf", options);
  std::vector<std::uint8_t> expected;
  for (std::size_t e = 0; e < 3; ++e) {
    std::vector<std::uint8_t> blocks(2 * 144);
    gguf::quantize<gguf::Q4_K>(std::span(values).subspan(e * 512, 512), blocks, gguf::best{},
                               std::span(importance).subspan(e * 256, 256));
    expected.insert(expected.end(), blocks.begin(), blocks.end());
  }
  const std::vector<std::byte> got = bytes_of(dir / "y.gguf", name);
  REQUIRE(got.size() == expected.size());
  CHECK(std::memcmp(got.data(), expected.data(), got.size()) == 0);
}

TEST_CASE("a mix of a file has rules of its own") {
  const TempDir dir;
  spill(dir / "mix.json", R"({"type": "q4_0", "file_type": 2, "rules": [
    {"tensors": "ffn_up", "layers": "first 1", "type": "q8_0"}, "output"]})");
  write_floats(dir / "x.gguf", {{"blk.0.ffn_up.weight", {2, 256}, noise(512)},
                                {"blk.1.ffn_up.weight", {2, 256}, noise(512)},
                                {"output.weight", {2, 256}, noise(512)}});
  GgufOptions options;
  options.config = dir / "mix.json";
  const GgufReport report = write(dir / "y.gguf", dir / "x.gguf", options);
  CHECK(report.tensors[0].type == gguf::Type::q8_0);
  CHECK(report.tensors[1].type == gguf::Type::q4_0);
  CHECK(report.tensors[2].type == gguf::Type::q6_K);
  const auto refused = [&](const char* text, errc code, const char* expected) {
    spill(dir / "bad.json", text);
    test::raises(code, {"bad.json", expected},
                 [&] { static_cast<void>(read_gguf_mix(dir / "bad.json")); });
  };
  refused(R"({"type": "q4_9", "file_type": 2, "rules": []})", errc::unknown_name, "got \"q4_9\"");
  refused(R"({"type": "q8_K", "file_type": 2, "rules": []})", errc::unknown_name, "got \"q8_K\"");
  refused(R"({"type": "q4_0", "file_type": 2, "rules": ["outputs"]})", errc::unknown_name,
          "rules[0]");
  refused(R"({"type": "q4_0", "file_type": 2, "rules": [{"type": "q4_0"}]})", errc::malformed,
          "neither");
  refused(
      R"({"type": "q4_0", "file_type": 2, "rules": [{"tensors": "a", "layers": "last 2", "type": "q4_0"}]})",
      errc::malformed, "first 1/8");
}

TEST_CASE("what cannot be a GGUF file is refused, and nothing is written") {
  const TempDir dir;
  write_floats(dir / "x.gguf", {{"blk.0.ffn_up.weight", {2, 256}, noise(512)}});
  const std::string names = test::refused(
      errc::unknown_name, [&] { write(dir / "y.gguf", dir / "x.gguf", {.type = "q4_k_x"}); });
  for (const std::string& name : gguf_mix_names()) CHECK(test::has(names, name));
  test::raises(errc::bad_argument, {"ending in .gguf"},
               [&] { write(dir / "y.bin", dir / "x.gguf"); });
  test::raises(errc::bad_argument, {"expected another file than `in`"},
               [&] { write(dir / "x.gguf", dir / "x.gguf"); });
  for (const auto option : {&GgufOptions::config, &GgufOptions::imatrix, &GgufOptions::mapping,
                            &GgufOptions::metadata}) {
    write_floats(dir / "option.gguf", {{"blk.0.ffn_up.weight.in_sum2", {1, 256}, noise(256)}});
    GgufOptions options{.overwrite = true};
    options.*option = dir / "option.gguf";
    const std::string before = slurp(dir / "option.gguf");
    CHECK_THROWS_AS(write(dir / "option.gguf", dir / "x.gguf", options), tq::error);
    CHECK(slurp(dir / "option.gguf") == before);
  }
  test::raises(errc::bad_argument, {"expected another file than `metadata`"}, [&] {
    write(dir / "option.gguf", dir / "x.gguf",
          {.metadata = dir / "option.gguf", .overwrite = true});
  });
  spill(dir / "y.gguf", "mine");
  test::raises(errc::bad_argument, {"`overwrite`"}, [&] { write(dir / "y.gguf", dir / "x.gguf"); });
  CHECK(slurp(dir / "y.gguf") == "mine");
  std::vector<float> bad = noise(512);
  bad[300] = std::numeric_limits<float>::quiet_NaN();
  write_floats(dir / "nan.gguf", {{"blk.0.ffn_up.weight", {2, 256}, bad}});
  test::raises(errc::not_finite, {"blk.0.ffn_up.weight", "NaN in element 300"},
               [&] { write(dir / "z.gguf", dir / "nan.gguf"); });
  test::raises(errc::bad_argument, {"matches none"}, [&] {
    write(dir / "z.gguf", dir / "x.gguf", {.names = {.include = {"attn"}, .exclude = {}}});
  });
  write_floats(dir / "part.gguf", {{"blk.0.ffn_up.weight", {2, 256}, noise(512)}},
               {{"split.count", std::uint16_t{3}}});
  test::raises(errc::bad_argument, {"the first of 3 parts"},
               [&] { write(dir / "z.gguf", dir / "part.gguf"); });
  write_model(dir / "bare", llama());
  fs::remove(dir / "bare" / "config.json");
  test::raises(errc::bad_argument, {"bare: expected a model with a config.json", "got none"},
               [&] { write(dir / "z.gguf", dir / "bare"); });
  fs::copy_file(dir / "x.gguf", dir / "bare" / "m.gguf");
  test::raises(errc::bad_argument, {"did you mean", "m.gguf"},
               [&] { write(dir / "z.gguf", dir / "bare"); });
  std::vector<Floats> tensors = llama();
  tensors.push_back({"model.layers.0.extra.weight", {2, 2}, noise(4)});
  write_model(dir / "odd", tensors);
  test::raises(errc::unsupported, {"model.layers.0.extra.weight", "`mapping`"},
               [&] { write(dir / "z.gguf", dir / "odd"); });
  write_model(dir / "other", llama(), R"({"model_type": "mamba"})");
  test::raises(errc::unsupported, {"model_type", "mamba"},
               [&] { write(dir / "z.gguf", dir / "other"); });
  const auto contradicts = [&](const std::string& key, const std::string& value, const char* text) {
    write_model(dir / "keys", llama(), config_with(key, value));
    test::raises(errc::shape_mismatch, {"keys: expected ", text},
                 [&] { write(dir / "z.gguf", dir / "keys"); });
  };
  contradicts("num_hidden_layers", "3", "3 blocks of tensors, as llama.block_count says, got 2");
  contradicts("num_hidden_layers", "1", "1 blocks of tensors");
  contradicts("vocab_size", "41", "41 tokens, as llama.vocab_size says, got 40");
  contradicts("hidden_size", "128", "128 elements of a token");
  CHECK_FALSE(fs::exists(dir / "z.gguf"));
}
