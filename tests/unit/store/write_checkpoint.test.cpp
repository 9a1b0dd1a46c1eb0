// SPDX-License-Identifier: MIT
// A whole folder is written as engines load it: parts of layers, everything else as it was.
#include <tq/store/write_checkpoint.hpp>

#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/checkpoints/format/mixture.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/checkpoints/format/mxfp4.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/json_text.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/checkpoint_file_bytes.hpp>
#include <tq/store/measure_checkpoint.hpp>
#include <tq/store/measure_checkpoint.ipp>
#include <tq/store/stored_model.ipp>
#include <tq/store/write_checkpoint.ipp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/activations.hpp"

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;

const format::compressed_tensors int4_g32{.scheme = "int4", .group_size = 32};

const std::string block = "model.layers.0.";

// The same with a part that holds the largest magnitude of the set.
struct WithMagnitude : format::compressed_tensors {
  [[nodiscard]] bool needs_set_abs_max() const { return true; }
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    std::vector<io::TensorDecl> parts = compressed_tensors::declarations(layer);
    parts.push_back({layer.module + ".set_abs_max", io::DType::f32, {1}});
    return parts;
  }
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values) const {
    std::vector<io::Tensor> parts = compressed_tensors::quantize(layer, values);
    parts.push_back(
        file_tensor(layer.module + ".set_abs_max", {1}, std::vector<float>{layer.set_abs_max}));
    return parts;
  }
};

using Named = std::pair<std::string, std::vector<std::size_t>>;

// The values of a tensor follow from its name.
std::vector<float> values_of(const Named& tensor) {
  unsigned seed = 1;
  for (const char c : tensor.first) seed = seed * 31 + static_cast<unsigned char>(c);
  return noise(*io::element_count(tensor.second), seed);
}

void write_tensors(const fs::path& file, const std::vector<Named>& tensors) {
  std::vector<io::Tensor> all;
  for (const Named& t : tensors) all.push_back(file_tensor(t.first, t.second, values_of(t)));
  io::write_safetensors(file, all, {{"format", "pt"}, {"by", "somebody"}});
}

const std::vector<Named> first_shard{{"model.embed_tokens.weight", {128, 64}},
                                     {block + "self_attn.q_proj.weight", {64, 64}},
                                     {block + "self_attn.k_proj.weight", {32, 64}},
                                     {block + "self_attn.o_proj.weight", {64, 64}},
                                     {block + "mlp.gate.weight", {4, 64}}};
const std::vector<Named> second_shard{{block + "self_attn.v_proj.weight", {32, 64}},
                                      {block + "self_attn.v_proj.bias", {32}},
                                      {block + "mlp.gate_proj.weight", {80, 64}},
                                      {block + "mlp.up_proj.weight", {80, 64}},
                                      {block + "mlp.down_proj.weight", {64, 80}},
                                      {"model.norm.weight", {64}},
                                      {"lm_head.weight", {128, 64}}};

const std::string config_text = R"({
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "rms_norm_eps": 1.0e-05,
    "dtype": "float32",
    "vocab_size": 128
}
)";

// A model of two files whose layer down_proj fits no group of 32.
void write_folder(const fs::path& folder) {
  fs::create_directories(folder / "templates");
  write_tensors(folder / "model-00001-of-00002.safetensors", first_shard);
  write_tensors(folder / "model-00002-of-00002.safetensors", second_shard);
  io::Json map = io::Json::object();
  for (const Named& t : first_shard) map[t.first] = "model-00001-of-00002.safetensors";
  for (const Named& t : second_shard) map[t.first] = "model-00002-of-00002.safetensors";
  spill(folder / "model.safetensors.index.json",
        io::Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  spill(folder / "config.json", config_text);
  for (const char* const file :
       {"tokenizer.json", "templates/tool.jinja", "modeling.py", "LICENSE"})
    spill(folder / file, std::string("text of ") + file);
  for (const char* const file : {"pytorch_model.bin", "quantize_config.json", "params.json"})
    spill(folder / file, "old");
}

// A model of one file with these tensors.
void write_model(const fs::path& folder, const std::vector<Named>& tensors,
                 const std::string& config) {
  fs::create_directories(folder);
  write_tensors(folder / "model.safetensors", tensors);
  spill(folder / "config.json", config);
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = slurp(entry.path());
  return files;
}

// Bytes of the weight files of a folder.
std::uint64_t weight_bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  for (const auto& file : fs::directory_iterator(folder))
    if (file.path().extension() == ".safetensors") sum += file.file_size();
  return sum;
}

std::map<std::string, io::Tensor> tensors_of(const fs::path& file) {
  std::map<std::string, io::Tensor> tensors;
  const auto reader = io::SafetensorsReader::open(file);
  for (const io::TensorInfo& t : reader.tensors()) tensors.emplace(t.name, reader.read(t.name));
  return tensors;
}

// The parts that the format makes of a layer.
std::vector<io::Tensor> parts_of(const format::compressed_tensors& format, const Named& tensor) {
  const std::vector<float> x = values_of(tensor);
  const std::string module = tensor.first.substr(0, tensor.first.size() - 7);
  return format.quantize({module, tensor.second[0], tensor.second[1], io::DType::f32},
                         ConstTensorView(x.data(), Shape{tensor.second[0], tensor.second[1]}));
}

void check_same(const io::Tensor& a, const io::Tensor& b) {
  INFO(a.name);
  CHECK(a.dtype == b.dtype);
  CHECK(a.shape == b.shape);
  CHECK(a.bytes == b.bytes);
}

std::vector<std::string> left_modules(const CheckpointReport& report) {
  std::vector<std::string> names;
  for (const io::LeftModule& m : report.left) names.push_back(m.module);
  return names;
}

// A model of a fused set and a layer alone, whose inputs depend on each other.
const std::vector<Named> two_inputs{{block + "self_attn.q_proj.weight", {64, 128}},
                                    {block + "self_attn.k_proj.weight", {32, 128}},
                                    {block + "self_attn.o_proj.weight", {64, 64}}};
constexpr std::size_t tokens = 200;

std::vector<float> inputs_of(const Named& tensor) {
  return ptq_test::activations(tokens, tensor.second[1],
                               static_cast<unsigned>(tensor.second[1] + 1));
}

Hessians hessians_of(const std::vector<Named>& tensors) {
  std::map<std::string, Hessian> all;
  for (const Named& t : tensors) {
    const std::vector<float> x = inputs_of(t);
    const ConstTensorView view(x.data(), {tokens, t.second[1]});
    Hessian h(ptq_test::ranges_of(view));
    h.add(view);
    all.emplace(t.first.substr(0, t.first.size() - 7), h);
  }
  return Hessians(std::move(all));
}

// The mean squared error of outputs over tokens, summed over outputs, of the values of a file.
double loss_of(const std::vector<float>& written, const Named& tensor) {
  const std::vector<float> w = values_of(tensor), x = inputs_of(tensor);
  const std::size_t outputs = tensor.second[0], inputs = tensor.second[1];
  double sum = 0;
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t o = 0; o < outputs; ++o) {
      double e = 0;
      for (std::size_t i = 0; i < inputs; ++i)
        e += double{x[t * inputs + i]} *
             (double{w[o * inputs + i]} - double{written[o * inputs + i]});
      sum += e * e;
    }
  return sum / static_cast<double>(tokens);
}

using Written =
    BasicStoredModel<TypeList<int4, int8, uint3, uint4, uint8, float8_e4m3fn, float4_e2m1fn, nf4>,
                     TypeList<float, float8_e8m0fnu, TwoLevel<float8_e4m3fn>>>;

// Writes the model by rounding and by gptq, and compares what the files mean.
template <class F>
void check_gptq(const fs::path& folder, const F& format) {
  const Hessians known = hessians_of(two_inputs);
  CheckpointOptions options;
  fs::remove_all(folder / "rounded");
  fs::remove_all(folder / "gptq");
  (void)write_checkpoint<Written>(folder / "rounded", folder / "in", format, options);
  options.algorithm = {.name = "gptq"};
  options.hessians = &known;
  const CheckpointReport report =
      write_checkpoint<Written>(folder / "gptq", folder / "in", format, options);
  CHECK(report.quantized.size() == two_inputs.size());
  CHECK(report.algorithms.size() == two_inputs.size());
  Written rounded(folder / "rounded"), written(folder / "gptq");
  for (const Named& t : two_inputs) {
    INFO(t.first);
    const double loss = loss_of(written.template load<float>(t.first), t);
    CHECK(loss < loss_of(rounded.template load<float>(t.first), t));
    const WeightReport& said = report.algorithms.at(t.first.substr(0, t.first.size() - 7));
    CHECK(said.algorithm == "gptq");
    CHECK(said.tokens == tokens);
    CHECK(said.dead_columns == 1);
    CHECK(said.loss < said.loss_of_rounding);
    CHECK(std::abs(said.loss - loss) < 0.01 * loss);  // inputs of the Hessian have 14 bits
  }
  const auto reference = io::Json::parse(slurp(folder / "rounded" / "config.json"));
  CHECK(io::Json::parse(slurp(folder / "gptq" / "config.json")) == reference);
}

}  // namespace

TEST_CASE("a folder is written as engines load it") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out";
  write_folder(in);
  const CheckpointReport report = write_checkpoint<Small>(out, in, int4_g32);
  CHECK(report.quantized ==
        std::vector<std::string>{block + "self_attn.k_proj", block + "self_attn.o_proj",
                                 block + "self_attn.q_proj", block + "mlp.gate_proj",
                                 block + "mlp.up_proj", block + "self_attn.v_proj"});
  CHECK(left_modules(report) ==
        std::vector<std::string>{block + "mlp.gate", "lm_head", block + "mlp.down_proj"});
  CHECK(report.left[0].reason == "router");
  CHECK(test::has(report.left[2].reason, "expected a multiple of 32"));
  CHECK(report.weights == 64 * 64 * 2 + 32 * 64 * 2 + 80 * 64 * 2);
  CHECK(report.shards == 2);

  // Tensors: the parts of each layer in the shard that had it, all others as they were.
  const std::string names[]{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
  const io::Json index = io::Json::parse(slurp(out / "model.safetensors.index.json"));
  std::uint64_t size = 0;
  for (const std::string& name : names) {
    const auto before = tensors_of(in / name);
    auto after = tensors_of(out / name);
    for (const auto& [tensor, t] : after) {
      CHECK(index["weight_map"][tensor] == name);
      size += t.bytes.size();
    }
    for (const Named& t : name == names[0] ? first_shard : second_shard) {
      const std::string module = t.first.substr(0, t.first.size() - 7);
      if (std::ranges::find(report.quantized, module) == report.quantized.end()) {
        REQUIRE(after.contains(t.first));
        check_same(after.at(t.first), before.at(t.first));
        after.erase(t.first);
      } else {
        for (const io::Tensor& part : parts_of(int4_g32, t)) {
          REQUIRE(after.contains(part.name));
          check_same(after.at(part.name), part);
          after.erase(part.name);
        }
      }
    }
    CHECK(after.empty());
    CHECK(io::SafetensorsReader::open(out / name).metadata() == io::Metadata{{"format", "pt"}});
  }
  CHECK(index["metadata"]["total_size"] == size);
  CHECK(report.bytes_after == size);
  CHECK(weight_bytes_in(out) == checkpoint_file_bytes(in, int4_g32));
  CHECK(checkpoint_file_bytes(in, format::gptq{4, 32}) > size);

  // The configuration keeps its text, and says what is not quantized.
  const std::string config = slurp(out / "config.json");
  CHECK(config.starts_with(config_text.substr(0, config_text.size() - 3) +
                           ",\n    \"quantization_config\": {\n        \"config_groups\""));
  CHECK(config.ends_with("\n    }\n}\n"));
  const io::Json said = io::Json::parse(config)["quantization_config"];
  CHECK(said["ignore"] == io::Json(left_modules(report)));
  CHECK(said["quant_method"] == "compressed-tensors");

  // The files beside the tensors.
  CHECK(report.copied == std::vector<std::string>{"LICENSE", "modeling.py", "templates/tool.jinja",
                                                  "tokenizer.json"});
  for (const std::string& file : report.copied) CHECK(slurp(out / file) == slurp(in / file));
  CHECK(report.not_copied ==
        std::vector<std::string>{"params.json", "pytorch_model.bin", "quantize_config.json"});
  for (const std::string& file : report.not_copied) CHECK(!fs::exists(out / file));
  CHECK(!fs::exists(out / "tq-unfinished"));
}

TEST_CASE("the bytes of a checkpoint do not depend on threads, and an ended run goes on") {
  const TempDir folder;
  const fs::path in = folder / "in", whole = folder / "whole", out = folder / "out";
  write_folder(in);
  (void)write_checkpoint<Small>(whole, in, int4_g32);
  CheckpointOptions options;
  options.jobs = 2;
  (void)write_checkpoint<Small>(folder / "two", in, int4_g32, options);
  CHECK(contents(folder / "two") == contents(whole));

  CheckpointOptions stops;
  stops.progress = [](std::uint64_t done, std::uint64_t all) {
    if (done == all) throw std::runtime_error("enough");
  };
  test::raises(errc::io_failure, {"enough", "the same command goes on from there"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32, stops); });
  CHECK(!fs::exists(out / "config.json"));
  test::raises(errc::bad_argument, {"shards of an unfinished run with other options"}, [&] {
    (void)write_checkpoint<Small>(out, in, format::compressed_tensors{.group_size = 64});
  });
  CHECK(write_checkpoint<Small>(out, in, int4_g32).reused_shards.value_or(0) >= 1);
  CHECK(contents(out) == contents(whole));
}

TEST_CASE("bands of rows make the bytes of whole layers") {
  const TempDir folder;
  const std::vector<Named> tensors{{block + "self_attn.q_proj.weight", {25600, 128}}};
  write_model(folder / "in", tensors, config_text);
  for (const bool is_symmetric : {true, false}) {
    const format::compressed_tensors format{
        .scheme = "int4", .group_size = 32, .is_symmetric = is_symmetric};
    const fs::path out = folder / (is_symmetric ? "symmetric" : "asymmetric");
    (void)write_checkpoint<Small>(out, folder / "in", format);
    const auto written = tensors_of(out / "model.safetensors");
    for (const io::Tensor& part : parts_of(format, tensors[0]))
      check_same(written.at(part.name), part);
  }
}

TEST_CASE("layers of a set get the largest magnitude of all") {
  const TempDir folder;
  const std::vector<Named> tensors{{block + "self_attn.q_proj.weight", {64, 128}},
                                   {block + "self_attn.k_proj.weight", {32, 128}},
                                   {block + "self_attn.o_proj.weight", {64, 64}}};
  write_model(folder / "in", tensors, config_text);
  (void)write_checkpoint<Small>(folder / "out", folder / "in", WithMagnitude{int4_g32});
  const auto written = tensors_of(folder / "out" / "model.safetensors");
  const auto largest = [&](std::initializer_list<std::size_t> members) {
    float most = 0;
    for (const std::size_t i : members)
      for (const float x : values_of(tensors[i])) most = std::max(most, std::abs(x));
    return std::vector<float>{most};
  };
  const auto said = [&](const std::string& module) {
    return io::values<float>(written.at(block + module + ".set_abs_max"));
  };
  CHECK(said("self_attn.q_proj") == largest({0, 1}));
  CHECK(said("self_attn.k_proj") == largest({0, 1}));
  CHECK(said("self_attn.o_proj") == largest({2}));
}

TEST_CASE("a layer that does not fit stays in float with all that it is fused with") {
  const TempDir folder;
  write_model(folder / "in",
              {{block + "self_attn.q_proj.weight", {64, 64}},
               {block + "self_attn.k_proj.weight", {64, 64}},
               {block + "self_attn.v_proj.weight", {8, 64}},
               {block + "self_attn.o_proj.weight", {64, 64}}},
              config_text);
  const CheckpointReport report = write_checkpoint<Small>(folder / "out", folder / "in", int4_g32);
  CHECK(report.quantized == std::vector<std::string>{block + "self_attn.o_proj"});
  for (const io::LeftModule& m : report.left)
    CHECK(test::has(m.reason, m.module == "lm_head" ? "head"
                              : m.module == block + "self_attn.v_proj"
                                  ? "expected a multiple of 16"
                                  : "together with " + block + "self_attn.v_proj"));
  CheckpointOptions options;
  options.names.exclude = {"o_proj"};
  test::raises(errc::unsupported, {"expected linear layers that compressed-tensors can hold"}, [&] {
    (void)write_checkpoint<Small>(folder / "none", folder / "in", int4_g32, options);
  });
  options.names.exclude = {};
  options.tensor_parallel = 4;  // o_proj has 16 inputs in each process
  test::raises(errc::unsupported, {"expected linear layers that compressed-tensors can hold"}, [&] {
    (void)write_checkpoint<Small>(folder / "none", folder / "in", int4_g32, options);
  });
}

TEST_CASE("fused experts become the layers of each expert") {
  const TempDir folder;
  constexpr std::size_t experts = 2, hidden = 64, inner = 32;
  const std::string config =
      R"({"model_type": "qwen3_moe", "dtype": "float32", "hidden_size": 64, "num_experts": 2})";
  // One by one, and fused in both orders.
  const auto value = [](std::size_t e, std::size_t part, std::size_t row, std::size_t column) {
    return static_cast<float>((e * 7919 + part * 104729 + row * 131 + column * 17) % 1009) - 500.0f;
  };
  std::vector<io::Tensor> single, fused, transposed;
  std::vector<float> pair(experts * 2 * inner * hidden), down(experts * hidden * inner),
      pair_t = pair, down_t = down;
  for (std::size_t e = 0; e < experts; ++e)
    for (std::size_t part = 0; part < 3; ++part) {
      const std::size_t rows = part == 2 ? hidden : inner, columns = part == 2 ? inner : hidden;
      std::vector<float> x;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          x.push_back(value(e, part, r, c));
          if (part == 2) {
            down[(e * hidden + r) * inner + c] = x.back();
            down_t[(e * inner + c) * hidden + r] = x.back();
          } else {
            pair[(e * 2 * inner + part * inner + r) * hidden + c] = x.back();
            pair_t[(e * hidden + c) * 2 * inner + part * inner + r] = x.back();
          }
        }
      const char* const names[]{"gate_proj", "up_proj", "down_proj"};
      single.push_back(
          file_tensor(block + "mlp.experts." + std::to_string(e) + "." + names[part] + ".weight",
                      {rows, columns}, x));
    }
  const std::string gate_up = block + "mlp.experts.gate_up_proj",
                    down_proj = block + "mlp.experts.down_proj";
  fused = {file_tensor(gate_up, {experts, 2 * inner, hidden}, pair),
           file_tensor(down_proj, {experts, hidden, inner}, down)};
  transposed = {file_tensor(gate_up, {experts, hidden, 2 * inner}, pair_t),
                file_tensor(down_proj, {experts, inner, hidden}, down_t)};
  std::vector<std::map<std::string, io::Tensor>> written;
  for (const auto* tensors : {&single, &fused, &transposed}) {
    const std::string name = std::to_string(written.size());
    fs::create_directories(folder / name);
    io::write_safetensors(folder / name / "model.safetensors", *tensors);
    spill(folder / name / "config.json", config);
    (void)write_checkpoint<Small>(folder / (name + "-out"), folder / name, int4_g32);
    written.push_back(tensors_of(folder / (name + "-out") / "model.safetensors"));
  }
  CHECK(written[0].size() == experts * 3 * 3);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    CHECK(written[i].size() == written[0].size());
    for (const auto& [name, t] : written[0]) check_same(written[i].at(name), t);
  }
}

TEST_CASE("experts of gpt-oss are read back in the order of its float model") {
  const TempDir folder;
  const std::string name = block + "mlp.experts.down_proj";
  const std::vector<std::size_t> shape{2, 64, 32};  // [experts, inputs, outputs]
  constexpr float magnitudes[8]{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  std::vector<float> x = values_of({name, shape});
  for (std::size_t i = 0; i < x.size(); ++i)  // that MXFP4 holds as they are
    x[i] = i / 32 % 32 == 0 ? 6.0f : std::copysign(magnitudes[i * 2654435761u % 97 % 8], x[i]);
  fs::create_directories(folder / "in");
  io::write_safetensors(folder / "in" / "model.safetensors",
                        std::vector{file_tensor(name, shape, x)});
  spill(
      folder / "in" / "config.json",
      R"({"model_type": "gpt_oss", "hidden_size": 32, "intermediate_size": 64, "vocab_size": 8})");
  (void)write_checkpoint<Small>(folder / "out", folder / "in", format::mxfp4{});
  Small written(folder / "out");
  CHECK(written.tensor(name).shape == shape);
  CHECK(written.load<float>(name) == x);
  (void)write_checkpoint<Small>(folder / "again", folder / "out", format::mxfp4{});
  CHECK(contents(folder / "again") == contents(folder / "out"));
}

TEST_CASE("weights of another program are quantized anew from their values") {
  const TempDir folder;
  write_folder(folder / "in");
  (void)write_checkpoint<Small>(folder / "int4", folder / "in", int4_g32);
  const format::compressed_tensors int8{.scheme = "int8", .group_size = 64};
  (void)write_checkpoint<Small>(folder / "int8", folder / "int4", int8);
  Small before(folder / "int4"), after(folder / "int8");
  const auto tensors = tensors_of(folder / "int8" / "model-00001-of-00002.safetensors");
  const std::vector<float> x = before.load<float>(block + "self_attn.q_proj.weight");
  for (const io::Tensor& part : int8.quantize({block + "self_attn.q_proj", 64, 64, io::DType::f32},
                                              ConstTensorView(x.data(), Shape{64, 64})))
    check_same(tensors.at(part.name), part);
  const std::string config = slurp(folder / "int8" / "config.json");
  CHECK(io::Json::parse(
            config)["quantization_config"]["config_groups"]["group_0"]["weights"]["num_bits"] == 8);
  CHECK(config.find("quantization_config") == config.rfind("quantization_config"));
}

TEST_CASE("codes that the format can hold stay as they are, and other weights are decoded") {
  const TempDir folder;
  write_folder(folder / "in");
  (void)write_checkpoint<Small>(folder / "int4", folder / "in", int4_g32);
  (void)write_checkpoint<Small>(folder / "again", folder / "int4", int4_g32);
  CHECK(contents(folder / "again") == contents(folder / "int4"));
  spill(folder / "int4" / "config.json",
        R"({"model_type": "llama", "dtype": "bfloat16", "vocab_size": 128})");
  CheckpointOptions options;
  options.names.exclude = {"q_proj"};
  const CheckpointReport report = write_checkpoint<Small>(
      folder / "less", folder / "int4", format::compressed_tensors{.group_size = 64}, options);
  const auto q_proj =
      std::ranges::find(report.left, block + "self_attn.q_proj", &io::LeftModule::module);
  REQUIRE(q_proj != report.left.end());
  CHECK(q_proj->reason == "excluded");
  const std::string name = block + "self_attn.q_proj.weight";
  const auto tensors = tensors_of(folder / "less" / "model-00001-of-00002.safetensors");
  REQUIRE(tensors.contains(name));
  std::vector<float> x = Small(folder / "int4").load<float>(name);
  io::round_to(x, io::DType::bf16);
  CHECK(tensors.at(name).dtype == io::DType::bf16);
  CHECK(io::to_float32(tensors.at(name)) == x);
}

TEST_CASE("layers are measured as checkpoints have them, and the best mixture fits a size") {
  using format::compressed_tensors;
  const TempDir folder;
  write_folder(folder / "in");
  const std::map<std::string, compressed_tensors> schemes{{"int4", int4_g32},
                                                          {"int8", {"int8", 64}}};
  const CheckpointMeasurement measured = measure_checkpoint<Small>(folder / "in", schemes);
  const auto node = [&](const std::string& module) {
    return std::ranges::find(measured.layers.nodes, module, &PrecisionNode::name);
  };
  REQUIRE(measured.layers.nodes.size() == 6);
  REQUIRE(measured.layers.ties.size() == 2);
  std::uint64_t others = 0;
  for (const auto& [scheme, format] : schemes) {
    const CheckpointReport report = write_checkpoint<Small>(folder / scheme, folder / "in", format);
    others = report.bytes_after - report.weight_bytes;
    Small written(folder / scheme);
    for (const std::string& module : report.quantized) {
      REQUIRE(node(module) != measured.layers.nodes.end());
      const PrecisionCandidate* const c = tq::detail::find_candidate(*node(module), scheme);
      REQUIRE(c != nullptr);
      const std::string name = module + ".weight";
      const StoredTensor& tensor = written.tensor(name);
      CHECK(c->bytes == tensor.bytes);
      const std::vector<float> x = values_of({name, tensor.shape}), y = written.load<float>(name);
      double lost = 0, all = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        lost += (double{x[i]} - double{y[i]}) * (double{x[i]} - double{y[i]});
        all += double{x[i]} * double{x[i]};
      }
      CHECK(std::abs(c->error - lost / all) <= 1e-12 * c->error);
    }
  }
  CHECK(measured.other_bytes == others);
  const CheckpointMeasurement sizes = checkpoint_candidates<Small>(folder / "in", schemes);
  CHECK(sizes.other_bytes == others);
  CHECK(sizes.layers.ties == measured.layers.ties);
  REQUIRE(sizes.layers.nodes.size() == 6);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < measured.layers.nodes[i].candidates.size(); ++j) {
      const PrecisionCandidate& c = sizes.layers.nodes[i].candidates.at(j);
      CHECK(c.bytes == measured.layers.nodes[i].candidates[j].bytes);
      CHECK(c.error == 0);
    }
  CHECK(std::ranges::find(measured.left, block + "mlp.down_proj", &io::LeftModule::module) !=
        measured.left.end());

  // A size between those of int4 and int8.
  std::uint64_t int8_bytes = 0;
  for (const PrecisionNode& n : measured.layers.nodes)
    int8_bytes += tq::detail::find_candidate(n, "int8")->bytes;
  const PrecisionSelection best =
      PrecisionSelector(measured.layers)
          .select({.goal = PrecisionGoal::custom, .max_bytes = int8_bytes - 1});
  format::mixture<compressed_tensors> mixture;
  for (const SelectedPrecision& layer : best.nodes)
    if (layer.choice.scheme != float_scheme)
      mixture.layers[layer.name] = schemes.at(layer.choice.scheme);
  format::mixture<compressed_tensors> misspelt = mixture;
  misspelt.layers[block + "self_attn.q_prj"] = schemes.begin()->second;
  test::raises(errc::unknown_name,
               {"expected the name of a layer of the model, got \"model.layers.0.self_attn.q_prj\"",
                "did you mean \"model.layers.0.self_attn.q_proj\"?"},
               [&] { (void)write_checkpoint<Small>(folder / "mixed", folder / "in", misspelt); });
  const CheckpointReport report = write_checkpoint<Small>(folder / "mixed", folder / "in", mixture);
  CHECK(report.quantized.size() == 6);
  CHECK(report.weight_bytes == best.cost.bytes);
  CHECK(report.weight_bytes < int8_bytes);
  CHECK(report.bytes_after == best.cost.bytes + measured.other_bytes);
  CHECK(weight_bytes_in(folder / "mixed") == checkpoint_file_bytes(folder / "in", mixture));
  const io::Json config = io::Json::parse(slurp(folder / "mixed" / "config.json"));
  CHECK(config["quantization_config"]["config_groups"].size() == 2);
  for (const SelectedPrecision& layer : best.nodes) {
    const std::string name = layer.name + ".weight";
    CHECK(Small(folder / "mixed").load<float>(name) ==
          Small(folder / layer.choice.scheme).load<float>(name));
  }
}

TEST_CASE("a head is quantized where it is asked for, and not tied") {
  const TempDir folder;
  const std::vector<Named> tensors{{"model.embed_tokens.weight", {128, 64}},
                                   {"lm_head.weight", {128, 64}},
                                   {block + "self_attn.o_proj.weight", {64, 64}}};
  const std::string config = R"({"model_type": "llama", "vocab_size": 128})";
  write_model(folder / "in", tensors, config);
  CheckpointOptions options;
  options.names.include = {"lm_head", "o_proj"};
  const CheckpointReport report =
      write_checkpoint<Small>(folder / "out", folder / "in", int4_g32, options);
  CHECK(report.quantized == std::vector<std::string>{"lm_head", block + "self_attn.o_proj"});
  CHECK(test::has(report.notes.back(), "sglang#35358"));
  for (const io::Tensor& part : parts_of(int4_g32, tensors[1]))
    check_same(tensors_of(folder / "out" / "model.safetensors").at(part.name), part);
  const io::Json said = io::Json::parse(slurp(folder / "out" / "config.json"));
  CHECK(said["quantization_config"]["ignore"] == io::Json::array());
  test::raises(errc::unsupported, {"mxfp4: expected the head in float"}, [&] {
    (void)write_checkpoint<Small>(folder / "no", folder / "in", format::mxfp4{}, options);
  });
  write_model(folder / "tied", tensors,
              R"({"model_type": "llama", "vocab_size": 128, "tie_word_embeddings": true})");
  const CheckpointReport tied =
      write_checkpoint<Small>(folder / "still", folder / "tied", int4_g32, options);
  CHECK(tied.quantized == std::vector<std::string>{block + "self_attn.o_proj"});
}

TEST_CASE("an old configuration within that of a multimodal model is removed") {
  const TempDir folder;
  write_model(folder / "in", {{block + "self_attn.o_proj.weight", {64, 64}}},
              R"({"text_config": {"quantization_config": {"bits": 8}, "model_type": "llama",)"
              R"( "eps": 1.0e-05}, "model_type": "llava"})");
  (void)write_checkpoint<Small>(folder / "out", folder / "in", int4_g32);
  const std::string text = slurp(folder / "out" / "config.json");
  CHECK(text.starts_with(
      R"({"text_config": {"model_type": "llama", "eps": 1.0e-05}, "model_type": "llava")"));
  CHECK(io::Json::parse(text)["quantization_config"]["quant_method"] == "compressed-tensors");
}

TEST_CASE("a tied head is not written, and is listed") {
  const TempDir folder;
  write_model(folder / "in",
              {{"model.embed_tokens.weight", {128, 64}},
               {"lm_head.weight", {128, 64}},
               {block + "self_attn.o_proj.weight", {64, 64}}},
              R"({"model_type": "llama", "tie_word_embeddings": true, "vocab_size": 128})");
  const CheckpointReport report = write_checkpoint<Small>(folder / "out", folder / "in", int4_g32);
  CHECK(report.dropped == std::vector<std::string>{"lm_head.weight"});
  CHECK(!tensors_of(folder / "out" / "model.safetensors").contains("lm_head.weight"));
  const io::Json config = io::Json::parse(slurp(folder / "out" / "config.json"));
  CHECK(config["quantization_config"]["ignore"] == io::Json{"lm_head"});
}

TEST_CASE("folders that no checkpoint can be made of or in are refused") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out";
  write_folder(in);
  CHECK_THROWS_AS(write_checkpoint<Small>(in, in, int4_g32), store::OptionError);
  CHECK_THROWS_AS(write_checkpoint<Small>(folder / "out.gguf", in, int4_g32), store::OptionError);
  CheckpointOptions options;
  options.names.include = {"no_such_layer"};
  test::raises(errc::bad_argument, {"\"no_such_layer\" matches none"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32, options); });
  test::raises(errc::unsupported, {"expected groups of 32, 64 or 128"}, [&] {
    (void)write_checkpoint<Small>(out, in, format::compressed_tensors{.group_size = 48});
  });
  fs::create_directories(out);
  spill(out / "config.json", "of somebody else");
  test::raises(errc::bad_argument, {"config.json", "expected a free place"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32); });
  CHECK(contents(out).size() == 1);
  fs::remove(out / "config.json");
  spill(out / "model.safetensors", "weights of somebody else");
  options = {};
  options.overwrite = true;
  test::raises(errc::bad_argument, {"expected a folder without other weights"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32, options); });
  fs::remove_all(out);
  fs::remove(in / "config.json");
  test::raises(errc::bad_argument, {"expected a folder with the config.json of the model"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32); });
  CHECK(!fs::exists(out));
}

TEST_CASE("a model of a type that engines do not serve is refused") {
  const TempDir folder;
  fs::create_directories(folder / "in");
  const std::vector<float> x = noise(64 * 64);
  io::write_safetensors(folder / "in" / "model.safetensors",
                        std::vector<io::Tensor>{io::from_float32(block + "self_attn.o_proj.weight",
                                                                 {64, 64}, x, io::DType::f64)});
  spill(folder / "in" / "config.json", R"({"model_type": "llama"})");
  test::raises(errc::unsupported, {"self_attn.o_proj: of type F64"},
               [&] { (void)write_checkpoint<Small>(folder / "out", folder / "in", int4_g32); });
}

TEST_CASE("values that are not finite leave no checkpoint") {
  const TempDir folder;
  const std::string name = block + "self_attn.o_proj.weight";
  std::vector<float> x = noise(64 * 64);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
    x[100] = bad;
    fs::create_directories(folder / "in");
    io::write_safetensors(folder / "in" / "model.safetensors",
                          std::vector<io::Tensor>{file_tensor(name, {64, 64}, x)});
    spill(folder / "in" / "config.json", config_text);
    test::raises(errc::not_finite, {name.c_str(), "expected finite values"},
                 [&] { (void)write_checkpoint<Small>(folder / "out", folder / "in", int4_g32); });
    CHECK(!fs::exists(folder / "out"));
  }
}

TEST_CASE("layers of every format are encoded by an algorithm, under scales that it stores") {
  const TempDir folder;
  write_model(folder / "in", two_inputs, config_text);
  for (const char* const scheme : {"fp8", "nvfp4", "mxfp4", "w8a8"}) {
    INFO(scheme);
    check_gptq(folder.path(), format::compressed_tensors{.scheme = scheme});
  }
  check_gptq(folder.path(), int4_g32);
  check_gptq(folder.path(), format::compressed_tensors{.group_size = 32, .is_symmetric = false});
  check_gptq(folder.path(), format::gptq{.group_size = 32});
  check_gptq(folder.path(), format::gptq{.bits = 3, .group_size = 32, .is_symmetric = false});
  check_gptq(folder.path(), format::awq{.group_size = 32});
  check_gptq(folder.path(), format::mlx{.group_size = 32});
  check_gptq(folder.path(), format::mlx{.mode = "nvfp4"});
  check_gptq(folder.path(), format::bitsandbytes{});
  check_gptq(folder.path(), format::bitsandbytes{.type = "int8"});
}

TEST_CASE("offsets of MLX are found without Hessians, and other formats have none") {
  const TempDir folder;
  write_model(folder / "in", two_inputs, config_text);
  CheckpointOptions options;
  (void)write_checkpoint<Written>(folder / "rounded", folder / "in", format::mlx{.group_size = 32},
                                  options);
  options.algorithm = {.name = "hqq"};
  const CheckpointReport report = write_checkpoint<Written>(folder / "hqq", folder / "in",
                                                            format::mlx{.group_size = 32}, options);
  Written rounded(folder / "rounded"), written(folder / "hqq");
  for (const Named& t : two_inputs) {
    const std::vector<float> w = values_of(t);
    const auto error = [&](const std::vector<float>& values) {
      long double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        sum += std::fabs(static_cast<long double>(w[i]) - values[i]);
      return static_cast<double>(sum);
    };
    const WeightReport& said = report.algorithms.at(t.first.substr(0, t.first.size() - 7));
    CHECK(std::abs(said.loss - error(written.load<float>(t.first))) < 1e-4 * said.loss);
    CHECK(std::abs(said.loss_of_rounding - error(rounded.load<float>(t.first))) <
          1e-4 * said.loss_of_rounding);
    CHECK(said.loss < said.loss_of_rounding);
  }
  options.jobs = 2;
  (void)write_checkpoint<Written>(folder / "two", folder / "in", format::mlx{.group_size = 32},
                                  options);
  CHECK(contents(folder / "two") == contents(folder / "hqq"));
  test::raises(
      errc::unsupported, {"expected symmetry float_offset for algorithm hqq, got uint4"},
      [&] { (void)write_checkpoint<Written>(folder / "x", folder / "in", int4_g32, options); });
  CHECK(!fs::exists(folder / "x" / "config.json"));
}

TEST_CASE("the bytes of an algorithm do not depend on threads, and an ended run goes on") {
  const TempDir folder;
  const fs::path in = folder / "in", whole = folder / "whole", out = folder / "out";
  write_folder(in);
  std::vector<Named> layers;
  for (const auto* shard : {&first_shard, &second_shard})
    for (const Named& t : *shard)
      if (t.first.find("_proj.weight") != std::string::npos) layers.push_back(t);
  const Hessians known = hessians_of(layers);
  CheckpointOptions options;
  options.hessians = &known;
  options.algorithm = {.name = "rtn-weighted"};
  const CheckpointReport searched = write_checkpoint<Small>(folder / "w", in, int4_g32, options);
  for (const auto& [module, report] : searched.algorithms)
    CHECK(report.loss < report.loss_of_rounding);
  options.algorithm = {.name = "gptq", .order = "group"};
  const CheckpointReport first = write_checkpoint<Small>(whole, in, int4_g32, options);
  CHECK(first.algorithms.size() == 6);
  options.jobs = 2;
  const CheckpointReport second = write_checkpoint<Small>(folder / "two", in, int4_g32, options);
  CHECK(contents(folder / "two") == contents(whole));
  CHECK(second.algorithms == first.algorithms);

  options.progress = [](std::uint64_t done, std::uint64_t all) {
    if (done == all) throw std::runtime_error("enough");
  };
  test::raises(errc::io_failure, {"enough", "the same command goes on from there"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32, options); });
  options.progress = {};
  CheckpointOptions others = options;
  others.algorithm.damping = 0.02;
  test::raises(errc::bad_argument, {"shards of an unfinished run with other options"},
               [&] { (void)write_checkpoint<Small>(out, in, int4_g32, others); });
  const CheckpointReport resumed = write_checkpoint<Small>(out, in, int4_g32, options);
  CHECK(resumed.reused_shards.value_or(0) >= 1);
  CHECK(resumed.algorithms == first.algorithms);
  CHECK(contents(out) == contents(whole));
}

TEST_CASE("a layer without a Hessian is an error, or falls back, and nothing is half-written") {
  const TempDir folder;
  write_model(folder / "in", two_inputs, config_text);
  const auto write = [&](const auto& format, const CheckpointOptions& options) {
    return write_checkpoint<Small>(folder / "out", folder / "in", format, options);
  };
  CheckpointOptions options;
  options.algorithm = {.name = "gptq"};
  test::raises(errc::no_data, {"k_proj.weight\": expected the Hessians of inputs", "got none"},
               [&] { (void)write(int4_g32, options); });
  const Hessians two = hessians_of({two_inputs[0], two_inputs[2]});
  options.hessians = &two;
  test::raises(errc::no_data, {"k_proj.weight\": expected a Hessian of its name", "`fallback`"},
               [&] { (void)write(int4_g32, options); });
  test::raises(errc::unsupported, {"compressed-tensors: expected no algorithm, got gptq"},
               [&] { (void)write(WithMagnitude{int4_g32}, options); });
  test::raises(errc::unsupported, {"expected scales that stand by themselves for a search"}, [&] {
    CheckpointOptions all = options;
    const Hessians known = hessians_of(two_inputs);
    all.hessians = &known;
    (void)write(format::bitsandbytes{.is_double = true}, all);
  });
  const Hessians wrong(
      std::map<std::string, Hessian>{{"all", two.get(block + "self_attn.o_proj")}});
  CheckpointOptions others = options;
  others.hessians = &wrong;
  others.algorithm.inputs = "all";
  test::raises(errc::shape_mismatch, {"_proj.weight", "expected weights of shape [outputs, 64]"},
               [&] { (void)write(int4_g32, others); });
  others.algorithm = {};
  test::raises(errc::bad_argument, {"expected a weight with an algorithm that takes the Hessians"},
               [&] { (void)write(int4_g32, others); });
  CHECK(!fs::exists(folder / "out" / "config.json"));
  CHECK(!fs::exists(folder / "out" / "model.safetensors"));

  options.algorithm.fallback = "rtn";
  const CheckpointReport report = write(int4_g32, options);
  CHECK(report.algorithms.at(block + "self_attn.k_proj").is_fallback);
  CHECK(report.algorithms.at(block + "self_attn.q_proj").loss > 0);
  const auto written = tensors_of(folder / "out" / "model.safetensors");
  for (const io::Tensor& part : parts_of(int4_g32, two_inputs[1]))
    check_same(written.at(part.name), part);
}
