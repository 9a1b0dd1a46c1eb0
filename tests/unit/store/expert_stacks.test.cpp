// SPDX-License-Identifier: MIT
// Stacks of experts: written for MLX, read expert by expert, and written back as models have them.
#include <tq/store/write_checkpoint.hpp>

#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/dequantize_model.hpp>
#include <tq/store/dequantize_model.ipp>
#include <tq/store/stored_model.ipp>
#include <tq/store/write_checkpoint.ipp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

using Small = BasicStoredModel<TypeList<int4, uint4>, TypeList<float>>;
using Tensors = std::map<std::string, io::Tensor>;
using Extents = std::vector<std::size_t>;

const format::mlx mlx_g32{.group_size = 32};
const format::compressed_tensors int4_g32{.scheme = "int4", .group_size = 32};
const std::string layer = "model.layers.0.mlp.";

Tensors tensors_of(const fs::path& file) {
  Tensors tensors;
  const auto reader = io::SafetensorsReader::open(file);
  for (const io::TensorInfo& t : reader.tensors()) tensors.emplace(t.name, reader.read(t.name));
  return tensors;
}

std::string config_of(const std::string& type) {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 1, "hidden_size": 64,
            "num_experts": 12, "dtype": "float32"})";
}

constexpr std::size_t experts = 12, hidden = 64, inner = 32;

std::string expert(std::size_t e, const std::string& name) {
  return layer + "experts." + std::to_string(e) + "." + name;
}
unsigned seed_of(std::size_t e, const std::string& name) {
  return static_cast<unsigned>(e * 300) + static_cast<unsigned char>(name.front());
}
Extents shape_of(const std::string& name) {
  return name == "down_proj" ? Extents{hidden, inner} : Extents{inner, hidden};
}
const std::vector<std::string> projections{"gate_proj", "up_proj", "down_proj"};

// A model whose experts are one by one, in two shards: 0 to 2 in the first.
void write_single(const fs::path& folder, const std::string& type, std::size_t missing = experts) {
  fs::create_directories(folder);
  std::vector<io::Tensor> shards[2];
  io::Json map = io::Json::object();
  const std::string names[]{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
  for (std::size_t e = 0; e < experts; ++e)
    for (const std::string& name : projections) {
      if (e == missing) continue;
      const std::size_t shard = e < 3 ? 0 : 1;
      shards[shard].push_back(file_tensor(expert(e, name) + ".weight", shape_of(name),
                                          noise(inner * hidden, seed_of(e, name))));
      map[shards[shard].back().name] = names[shard];
    }
  for (std::size_t s = 0; s < 2; ++s)
    io::write_safetensors(folder / names[s], shards[s], {{"format", "pt"}});
  spill(folder / "model.safetensors.index.json", io::Json{{"weight_map", map}}.dump());
  spill(folder / "config.json", config_of(type));
}

// The same values in two stacks, [experts, outputs, inputs] or with the inputs first.
void write_fused(const fs::path& folder, const std::string& type, bool has_inputs_first) {
  fs::create_directories(folder);
  std::vector<float> gate_up(experts * 2 * inner * hidden), down(experts * hidden * inner);
  for (std::size_t e = 0; e < experts; ++e)
    for (const std::string& name : projections) {
      const bool is_down = name == "down_proj";
      const std::vector<float> x = noise(inner * hidden, seed_of(e, name));
      const std::size_t outputs = shape_of(name)[0], inputs = shape_of(name)[1];
      const std::size_t all = is_down ? outputs : 2 * outputs;
      for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < inputs; ++i) {
          const std::size_t row = o + (name == "up_proj" ? outputs : 0);
          const std::size_t at = has_inputs_first ? i * all + row : row * inputs + i;
          (is_down ? down : gate_up)[e * all * inputs + at] = x[o * inputs + i];
        }
    }
  const Extents pair =
      has_inputs_first ? Extents{experts, hidden, 2 * inner} : Extents{experts, 2 * inner, hidden};
  const Extents single =
      has_inputs_first ? Extents{experts, inner, hidden} : Extents{experts, hidden, inner};
  io::write_safetensors(folder / "model.safetensors",
                        std::vector{file_tensor(layer + "experts.gate_up_proj", pair, gate_up),
                                    file_tensor(layer + "experts.down_proj", single, down)},
                        {{"format", "pt"}});
  spill(folder / "config.json", config_of(type));
}

// The parts of all experts one after the other, as mlx-lm stacks them.
Tensors expected_stacks(const std::string& container) {
  Tensors all;
  for (std::size_t e = 0; e < experts; ++e)
    for (const std::string& name : projections) {
      const Extents shape = shape_of(name);
      const std::vector<float> x = noise(inner * hidden, seed_of(e, name));
      for (const io::Tensor& part :
           mlx_g32.quantize({"m", shape[0], shape[1], io::DType::f32},
                            ConstTensorView(x.data(), Shape{shape[0], shape[1]}))) {
        const std::string stack = layer + container + "." + name + part.name.substr(1);
        io::Tensor& to = all[stack];
        to.name = stack;
        to.dtype = part.dtype;
        to.shape = {experts, part.shape[0], part.shape[1]};
        to.bytes.insert(to.bytes.end(), part.bytes.begin(), part.bytes.end());
      }
    }
  return all;
}

void check_same(const Tensors& written, const Tensors& expected) {
  CHECK(written.size() == expected.size());
  for (const auto& [name, t] : expected) {
    INFO(name);
    const auto found = written.find(name);
    REQUIRE(found != written.end());
    CHECK(found->second.dtype == t.dtype);
    CHECK(found->second.shape == t.shape);
    CHECK(found->second.bytes == t.bytes);
  }
}

// The values of experts that a quantized folder means, in the order of `write_fused`.
Tensors fused_values(const fs::path& folder, bool has_inputs_first) {
  Small model(folder);
  Tensors all;
  for (std::size_t e = 0; e < experts; ++e)
    for (const std::string& name : projections) {
      const bool is_down = name == "down_proj";
      const std::vector<float> x = model.load<float>(expert(e, name) + ".weight");
      const std::size_t outputs = shape_of(name)[0], inputs = shape_of(name)[1];
      const std::size_t rows = is_down ? outputs : 2 * outputs;
      io::Tensor& to = all[layer + "experts." + (is_down ? "down_proj" : "gate_up_proj")];
      to.dtype = io::DType::f32;
      to.shape = has_inputs_first ? Extents{experts, inputs, rows} : Extents{experts, rows, inputs};
      to.bytes.resize(experts * rows * inputs * sizeof(float));
      for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < inputs; ++i) {
          const std::size_t row = o + (name == "up_proj" ? outputs : 0);
          const std::size_t at =
              e * rows * inputs + (has_inputs_first ? i * rows + row : row * inputs + i);
          std::memcpy(to.bytes.data() + at * sizeof(float), &x[o * inputs + i], sizeof(float));
        }
    }
  return all;
}

}  // namespace

TEST_CASE("experts of two shards become stacks of MLX in one, whose name counts it alone") {
  const TempDir folder;
  write_single(folder / "in", "qwen3_moe");
  const CheckpointReport report = write_checkpoint<Small>(folder / "out", folder / "in", mlx_g32);
  CHECK(report.quantized.size() == 3 * experts);
  CHECK(report.weights == 3 * experts * inner * hidden);
  const io::Json index = io::Json::parse(slurp(folder / "out" / "model.safetensors.index.json"));
  Tensors written;
  std::size_t bytes = 0;
  for (const auto& [name, file] : index["weight_map"].items())
    CHECK(file == "model-00001-of-00001.safetensors");
  for (auto& [name, t] : tensors_of(folder / "out" / "model-00001-of-00001.safetensors")) {
    bytes += t.bytes.size();
    written.emplace(name, t);
  }
  check_same(written, expected_stacks("switch_mlp"));
  CHECK(report.bytes_after == bytes);

  CheckpointOptions options;
  options.jobs = 2;
  (void)write_checkpoint<Small>(folder / "two", folder / "in", mlx_g32, options);
  check_same(tensors_of(folder / "two" / "model-00001-of-00001.safetensors"), written);

  // The reader has experts by the names that they had, and writes them so.
  (void)dequantize_model<Small>(folder / "out", folder / "back/");
  Small model(folder / "out");
  Small back(folder / "back");
  CHECK(back.tensors().size() == 3 * experts);
  for (std::size_t e = 0; e < experts; ++e)
    for (const std::string& name : projections) {
      const std::string weight = expert(e, name) + ".weight";
      CHECK(back.tensor(weight).shape == shape_of(name));
      CHECK(back.load<float>(weight) == model.load<float>(weight));
      const std::vector<float> x = noise(inner * hidden, seed_of(e, name));
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        worst = std::max(worst, std::abs(double{x[i]} - double{back.load<float>(weight)[i]}));
      CHECK(worst < 2.0 / 15);  // values in [-1, 1], 15 steps
      if (e > 1) break;
    }
}

TEST_CASE("a stack of MLX needs all experts in one shape") {
  const TempDir folder;
  write_single(folder / "in", "qwen3_moe", 5);
  test::raises(errc::unsupported, {"switch_mlp.", "expected experts 0 to 11 of one shape, got 11"},
               [&] { (void)write_checkpoint<Small>(folder / "out", folder / "in", mlx_g32); });
  CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("fused experts become the same stacks, and the stacks they were") {
  const TempDir folder;
  struct Case {
    const char* type;
    const char* container;
    bool has_inputs_first;
  };
  for (const Case& c : {Case{"qwen3_5_moe", "switch_mlp", false},
                        {"qwen3_vl_moe", "switch_mlp", true},
                        {"llama4", "experts", true}}) {
    INFO(c.type);
    const fs::path in = folder / c.type, mlx = folder / (std::string(c.type) + "-mlx");
    write_fused(in, c.type, c.has_inputs_first);
    (void)write_checkpoint<Small>(mlx, in, mlx_g32);
    check_same(tensors_of(mlx / "model.safetensors"), expected_stacks(c.container));
    const fs::path int4 = folder / (std::string(c.type) + "-int4");
    (void)write_checkpoint<Small>(int4, in, int4_g32);
    for (const fs::path& written : {mlx, int4}) {
      const fs::path back = written.string() + "-back/";
      const ConversionReport report = dequantize_model<Small>(written, back);
      CHECK(report.notes.empty());
      check_same(tensors_of(back / "model.safetensors"), fused_values(written, c.has_inputs_first));
    }
  }
}

TEST_CASE("experts of unknown types of models stay one by one, which the report says") {
  const TempDir folder;
  write_single(folder / "in", "somebodys_moe");
  (void)write_checkpoint<Small>(folder / "out", folder / "in", int4_g32);
  const ConversionReport report = dequantize_model<Small>(folder / "out", folder / "back/");
  REQUIRE(report.notes.size() == 1);
  CHECK(test::has(report.notes[0], "\"somebodys_moe\" may have stacks"));
  CHECK(Small(folder / "back").tensors().size() == 3 * experts);
  fs::remove(folder / "out" / "config.json");
  CHECK(test::has(dequantize_model<Small>(folder / "out", folder / "other/").notes.at(0),
                  "config.json, which says the type, is not there"));
}
