// SPDX-License-Identifier: MIT
// Weights of whole models in the types of GGUF files, and selections among these.
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_file_bytes.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/files/text_file.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_mix_json.hpp>
#include <tq/store/measure_gguf.hpp>
#include <tq/store/measure_gguf.ipp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_model.ipp>
#include <tq/store/write_gguf.hpp>
#include <tq/store/write_gguf.ipp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/files/io_test.hpp"

using namespace tq;
using namespace io_test;
using layouts::gguf::Type;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;

struct Values {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

// Values of two bells, the narrow one as wide as `scale`.
Values weight(const std::string& name, std::vector<std::size_t> shape, unsigned seed,
              float scale = 1.0f) {
  std::mt19937 random(seed);
  Values out{name, std::move(shape), std::vector<float>(1)};
  std::size_t n = 1;
  for (const std::size_t extent : out.shape) n *= extent;
  out.values.resize(n);
  for (float& v : out.values) {
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(random()) * 0x1p-31f - 1.0f;
    v = sum * (random() % 16 == 0 ? 3.0f * scale : scale);
  }
  return out;
}

std::vector<Values> model() {
  return {weight("token_embd.weight", {24, 256}, 1, 0.1f),
          weight("blk.0.attn_q.weight", {16, 256}, 2),
          weight("blk.0.attn_norm.weight", {256}, 3),
          weight("blk.0.ffn_down.weight", {8, 96}, 4, 2.0f),
          weight("blk.0.ffn_gate_exps.weight", {2, 4, 256}, 5, 0.5f),
          weight("blk.1.attn_q.weight", {16, 256}, 6, 0.02f),
          weight("blk.1.attn_q.bias", {5}, 7),
          weight("output.weight", {24, 256}, 8, 0.3f)};
}

fs::path write_model(const fs::path& path, const std::vector<Values>& tensors,
                     std::vector<io::GgufEntry> more = {}) {
  std::vector<io::GgufEntry> entries{{"general.architecture", std::string("llama")}};
  entries.insert(entries.end(), more.begin(), more.end());
  std::vector<io::GgufTensorDecl> declared;
  for (const Values& t : tensors) declared.push_back({t.name, Type::f32, t.shape});
  io::GgufWriter writer(path, entries, declared);
  for (const Values& t : tensors) writer.append(t.name, std::as_bytes(std::span(t.values)));
  writer.finish();
  return path;
}

// An importance matrix of the binary form.
std::vector<float> write_importance(const fs::path& path, const std::string& name,
                                    std::size_t columns) {
  std::string bytes;
  const auto put = [&](const auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::vector<float> out(columns);
  std::mt19937 random(9);
  for (float& v : out) v = static_cast<float>(random() % 1000 + 1) * 0.01f;
  put(std::int32_t{1});
  put(static_cast<std::int32_t>(name.size()));
  bytes += name;
  put(std::int32_t{1});
  put(static_cast<std::int32_t>(columns));
  for (const float v : out) put(v);
  spill(path, bytes);
  return out;
}

std::vector<float> floats_of(const io::GgufReader& file, const std::string& name) {
  const std::vector<std::byte> bytes = file.read_bytes(name);
  const io::GgufTensor& t = file.info(name);
  std::vector<float> out(static_cast<std::size_t>(*io::element_count(t.shape)));
  if (const auto dtype = io::gguf_dtype(t.type)) io::to_float32(*dtype, bytes, out);
  else
    layouts::gguf::dequantize(
        t.type, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, out);
  return out;
}

// sum i d^2 of a tensor in a file; of its values where there is no file.
double squares(const Values& t, const io::GgufReader* file, const std::vector<float>& importance) {
  const std::vector<float> got =
      file == nullptr ? std::vector<float>(t.values.size()) : floats_of(*file, t.name);
  double sum = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = double{t.values[i]} - double{got[i]};
    sum += d * d * (importance.empty() ? 1.0 : double{importance[i % importance.size()]});
  }
  return sum;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

const PrecisionNode& node_of(const GgufMeasurement& measured, const std::string& name) {
  return *std::ranges::find(measured.weights.nodes, name, &PrecisionNode::name);
}

std::vector<std::string> schemes_of(const PrecisionNode& node) {
  std::vector<std::string> out;
  for (const PrecisionCandidate& c : node.candidates) out.push_back(c.scheme);
  return out;
}

PrecisionSelection within(const GgufMeasurement& measured, std::uint64_t bytes) {
  PrecisionCriteria criteria{PrecisionGoal::custom};
  criteria.max_bytes = bytes - measured.other_bytes;
  return PrecisionSelector(measured.weights).select(criteria);
}

}  // namespace

TEST_CASE("weights are measured in the blocks that a GGUF file has") {
  const TempDir dir;
  const std::vector<Values> tensors = model();
  const fs::path in = write_model(dir / "x.gguf", tensors);
  GgufOptions options;
  options.imatrix = dir / "imatrix.dat";
  const std::vector<float> importance =
      write_importance(options.imatrix, "blk.0.attn_q.weight", 256);
  for (const GgufMethod method : {GgufMethod::best, GgufMethod::ggml}) {
    options.method = method;
    const GgufMeasurement measured = measure_gguf<Small>(in, {}, options);
    REQUIRE(measured.weights.nodes.size() == 6);  // without norm and bias
    CHECK(schemes_of(measured.weights.nodes[0]) == std::vector<std::string>{"float", "q2_K", "q3_K",
                                                                            "q4_K", "q5_K", "q6_K",
                                                                            "q8_0", "iq4_xs"});
    CHECK(schemes_of(node_of(measured, "blk.0.ffn_down.weight")) ==
          std::vector<std::string>{"float", "q4_0", "q5_0", "q5_1", "q8_0", "iq4_nl"});
    double all = 0.0;
    for (const Values& t : tensors)
      if (t.shape.size() > 1) all += squares(t, nullptr, {});
    for (const char* const type : {"q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "q8_0", "iq4_xs"}) {
      INFO(type);
      spill(dir / "mix.json",
            R"({"type": ")" + std::string(type) + R"(", "file_type": 15, "rules": []})");
      GgufOptions how = options;
      how.config = dir / "mix.json";
      how.overwrite = true;
      write_gguf<Small>(dir / "y.gguf", in, how);
      const auto file = io::GgufReader::open(dir / "y.gguf");
      std::uint64_t bytes = measured.other_bytes;
      for (std::size_t i = 0; i < measured.weights.nodes.size(); ++i) {
        const PrecisionNode& node = measured.weights.nodes[i];
        const Values& t = *std::ranges::find(tensors, node.name, &Values::name);
        INFO(t.name);
        const io::GgufTensor& stored = file.info(t.name);
        const auto c = std::ranges::find(node.candidates, layouts::gguf::info_of(stored.type).name,
                                         &PrecisionCandidate::scheme);
        REQUIRE(c != node.candidates.end());
        CHECK(c->bytes == (stored.size_bytes + 31) / 32 * 32);
        bytes += c->bytes;
        const std::vector<float> weights =
            t.name == "blk.0.attn_q.weight" ? importance : std::vector<float>();
        const double expected = 6 * squares(t, nullptr, {}) / all * squares(t, &file, weights) /
                                squares(t, nullptr, weights);
        CHECK(is_near(c->error, expected));
        CHECK(is_near(c->error / measured.shares[i],
                      squares(t, &file, weights) / squares(t, nullptr, weights)));
      }
      CHECK(bytes == fs::file_size(dir / "y.gguf"));
    }
    options.jobs = 3;
    const GgufMeasurement again = measure_gguf<Small>(in, {}, options);
    for (std::size_t i = 0; i < measured.weights.nodes.size(); ++i)
      for (std::size_t j = 0; j < measured.weights.nodes[i].candidates.size(); ++j)
        CHECK(again.weights.nodes[i].candidates[j].error ==
              measured.weights.nodes[i].candidates[j].error);
    options.jobs = 1;
  }
}

TEST_CASE("a selected GGUF file has the bytes that were asked for, and the types") {
  const TempDir dir;
  const std::vector<Values> tensors = model();
  const fs::path in = write_model(
      dir / "x.gguf", tensors,
      {{"general.alignment", std::uint32_t{128}},
       {"tokenizer.ggml.tokens", io::GgufArray(std::vector<std::string>{"a", "bc", ""})}});
  const GgufMeasurement measured = measure_gguf<Small>(in);
  double before = std::numeric_limits<double>::infinity();
  for (const std::uint64_t budget : {14000U, 16000U, 20000U, 26000U, 40000U, 110000U}) {
    INFO(budget);
    const PrecisionSelection selection = within(measured, budget);
    CHECK(selection.cost.error < before);
    before = selection.cost.error;
    spill(dir / "mix.json", gguf_mix_json(measured, selection).dump());
    GgufOptions how;
    how.config = dir / "mix.json";
    how.overwrite = true;
    write_gguf<Small>(dir / "y.gguf", in, how);
    CHECK(fs::file_size(dir / "y.gguf") <= budget);
    CHECK(fs::file_size(dir / "y.gguf") == measured.other_bytes + selection.cost.bytes);
    const auto file = io::GgufReader::open(dir / "y.gguf");
    double lost = 0.0, all = 0.0;
    for (std::size_t i = 0; i < selection.nodes.size(); ++i) {
      const SelectedPrecision& node = selection.nodes[i];
      const Type type = node.choice.scheme == float_scheme
                            ? measured.kept[i]
                            : layouts::gguf::find_type(node.choice.scheme)->type;
      CHECK(file.info(node.name).type == type);
      const Values& t = *std::ranges::find(tensors, node.name, &Values::name);
      lost += squares(t, &file, {});
      all += squares(t, nullptr, {});
    }
    CHECK(is_near(selection.cost.error / 6, lost / all));
  }
  CHECK(before == 0.0);  // of floats
}

TEST_CASE("weights of a folder are measured as they are written") {
  const TempDir dir;
  fs::create_directories(dir / "model");
  spill(dir / "model/config.json", R"({"model_type": "llama", "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 40, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "hidden_act": "silu"})");
  const std::string layer = "model.layers.0.";
  const std::vector<Values> tensors{weight("model.embed_tokens.weight", {40, 64}, 1),
                                    weight(layer + "self_attn.q_proj.weight", {64, 64}, 2),
                                    weight(layer + "self_attn.k_proj.weight", {32, 64}, 3),
                                    weight(layer + "self_attn.v_proj.weight", {32, 64}, 4),
                                    weight(layer + "self_attn.o_proj.weight", {64, 64}, 5),
                                    weight(layer + "mlp.gate_proj.weight", {96, 64}, 6),
                                    weight(layer + "mlp.up_proj.weight", {96, 64}, 7),
                                    weight(layer + "mlp.down_proj.weight", {64, 96}, 8),
                                    weight(layer + "input_layernorm.weight", {64}, 9),
                                    weight(layer + "post_attention_layernorm.weight", {64}, 10),
                                    weight("model.norm.weight", {64}, 11),
                                    weight("lm_head.weight", {40, 64}, 12)};
  std::vector<io::Tensor> stored;
  for (const Values& t : tensors)
    stored.push_back(io::from_float32(t.name, t.shape, t.values, io::DType::bf16));
  io::write_safetensors(dir / "model/model.safetensors", stored);
  GgufOptions options;
  options.names.exclude = {"attn_output"};
  const GgufMeasurement measured =
      measure_gguf<Small>(dir / "model", {Type::q4_K, Type::q8_0, Type::f16}, options);
  REQUIRE(measured.weights.nodes.size() == 8);
  for (const PrecisionNode& node : measured.weights.nodes)  // float16 takes no less than bfloat16
    CHECK(schemes_of(node) == std::vector<std::string>{"float", "q5_0", "q8_0"});
  CHECK(measured.kept == std::vector<Type>(8, Type::bf16));
  CHECK(measured.notes.size() == 1);  // no tokenizer
  const std::uint64_t budget = measured.other_bytes + 36000;
  const PrecisionSelection selection = within(measured, budget);
  spill(dir / "mix.json", gguf_mix_json(measured, selection).dump());
  options.config = dir / "mix.json";
  write_gguf<Small>(dir / "y.gguf", dir / "model", options);
  CHECK(fs::file_size(dir / "y.gguf") == measured.other_bytes + selection.cost.bytes);
  CHECK(selection.cost.bytes > 34000);
  CHECK(io::GgufReader::open(dir / "y.gguf").info("blk.0.attn_output.weight").type == Type::bf16);
}

TEST_CASE("a selection of many weights becomes few rules") {
  GgufMeasurement measured;
  PrecisionSelection selection;
  const auto add = [&](const std::string& name, const std::string& scheme, std::uint64_t n) {
    measured.kept.push_back(Type::bf16);
    selection.nodes.push_back({name, n, {scheme}, 0, {}});
  };
  for (int i = 0; i < 700; ++i) {
    const std::string block = "blk." + std::to_string(i) + '.';
    add(block + "attn_q.weight", i % 3 == 0 ? "q4_K" : i % 3 == 1 ? "q5_K" : "q6_K", 256);
    add(block + "attn_v.weight", "q6_K", 256);
    add(block + "ffn_up.weight", "q4_K", 1024);
  }
  add("output.weight", "float", 4096);
  add("blk.x.odd(1)+[2]*?.weight", "q8_0", 256);
  add("blk.1xweight", "q3_K", 256);
  const TempDir dir;
  const io::Json json = gguf_mix_json(measured, selection);
  spill(dir / "mix.json", json.dump());
  const GgufMix mix = read_gguf_mix(dir / "mix.json");
  CHECK(mix.type == Type::q4_K);
  CHECK(mix.file_type == 15);
  CHECK(mix.rules.size() < 20);
  const store::detail::GgufDecider decider(mix, {}, {}, false);
  for (std::size_t i = 0; i < selection.nodes.size(); ++i) {
    const std::string& scheme = selection.nodes[i].choice.scheme;
    CHECK(decider.chosen({selection.nodes[i].name, {16, 256}}) ==
          (scheme == "float" ? Type::bf16 : layouts::gguf::find_type(scheme)->type));
  }
  measured.kept.pop_back();
  const auto make = [&] { static_cast<void>(gguf_mix_json(measured, selection)); };
  test::raises(errc::shape_mismatch, {"a selection of 2102 weights, got 2103"}, make);
  measured.kept.push_back(Type::f32);
  selection.nodes[0].choice.scheme = "int4";
  test::raises(errc::unknown_name, {"int4"}, make);
}

TEST_CASE("models that cannot be measured in GGUF types are refused") {
  const TempDir dir;
  std::vector<Values> tensors = model();
  const fs::path in = write_model(dir / "x.gguf", tensors);
  const auto refused = [&](const fs::path& file, const std::vector<Type>& types, errc code,
                           const char* text, const GgufOptions& options = {}) {
    test::raises(code, {text},
                 [&] { static_cast<void>(measure_gguf<Small>(file, types, options)); });
  };
  refused(in, {Type::q8_K}, errc::bad_argument, "expected types of weights, got q8_K");
  refused(in, {Type::q4_K, Type::q4_K}, errc::bad_argument, "q4_K twice");
  refused(dir / "none.gguf", {}, errc::io_failure, "none.gguf");
  GgufOptions options;
  options.names.include = {"attn_z"};
  refused(in, {}, errc::bad_argument, "attn_z", options);
  write_gguf<Small>(dir / "q.gguf", in, {.type = "q8_0"});
  refused(dir / "q.gguf", {}, errc::bad_argument, "`requantize`");
  options = {};
  options.requantize = true;
  const GgufMeasurement again = measure_gguf<Small>(dir / "q.gguf", {}, options);
  CHECK(again.kept.front() == Type::q8_0);
  CHECK(schemes_of(again.weights.nodes.front()).size() == 7);  // without q8_0
  tensors[1].values[300] = std::numeric_limits<float>::infinity();
  refused(write_model(dir / "inf.gguf", tensors), {}, errc::not_finite,
          "blk.0.attn_q.weight\": expected finite values, got infinity in element 300");
}
