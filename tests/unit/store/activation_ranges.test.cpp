// SPDX-License-Identifier: MIT
// Scales of activations come from data, and fused layers share them.
#include <tq/store/activation_ranges.hpp>

#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/mixture.hpp>
#include <tq/checkpoints/format/modelopt.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/json_text.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/checkpoint_sizes.hpp>
#include <tq/store/dequantize_model.hpp>
#include <tq/store/dequantize_model.ipp>
#include <tq/store/measure_checkpoint.hpp>
#include <tq/store/measure_checkpoint.ipp>
#include <tq/store/stored_model.ipp>
#include <tq/store/write_checkpoint.hpp>
#include <tq/store/write_checkpoint.ipp>

#include <algorithm>
#include <array>
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

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;
using format::compressed_tensors, format::modelopt;

const std::string block = "model.layers.0.";

struct Named {
  std::string name;  // of the module
  std::size_t outputs, inputs;
};
const std::array<Named, 6> modules{{{block + "self_attn.q_proj", 32, 64},
                                    {block + "self_attn.k_proj", 16, 64},
                                    {block + "self_attn.v_proj", 16, 64},
                                    {block + "self_attn.o_proj", 64, 32},
                                    {block + "mlp.gate_proj", 48, 64},
                                    {block + "mlp.up_proj", 48, 64}}};

std::vector<float> weights_of(std::size_t i) {
  return noise(modules[i].outputs * modules[i].inputs, static_cast<unsigned>(i + 1));
}

// A model of two files.
void write_folder(const fs::path& folder) {
  fs::create_directories(folder);
  io::Json map = io::Json::object();
  std::array<std::vector<io::Tensor>, 2> shards;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto& [name, outputs, inputs] = modules[i];
    shards[i % 2].push_back(file_tensor(name + ".weight", {outputs, inputs}, weights_of(i)));
    map[name + ".weight"] = i % 2 == 0 ? "model-1.safetensors" : "model-2.safetensors";
  }
  io::write_safetensors(folder / "model-1.safetensors", shards[0], {});
  io::write_safetensors(folder / "model-2.safetensors", shards[1], {});
  spill(folder / "model.safetensors.index.json",
        io::Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  spill(folder / "config.json",
        R"({"model_type": "llama", "dtype": "float32", "hidden_size": 64})");
}

// Activations of two batches a layer, whose largest magnitude is that of element 7, or, of k_proj,
// of an element of its second batch.
std::vector<float> activations_of(std::size_t i, unsigned batch) {
  std::vector<float> x = noise(5 * modules[i].inputs, 100 + static_cast<unsigned>(i));
  x[7] = (i == 1 && batch == 1 ? -31.7f : 11.3f) + static_cast<float>(i) / 16;
  return x;
}
void write_activations(const fs::path& folder, float of_gate = 0) {
  fs::create_directories(folder);
  for (unsigned batch = 0; batch < 2; ++batch) {
    std::vector<io::Tensor> all;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      std::vector<float> x = activations_of(i, batch);
      if (i == 4 && of_gate != 0) x[9] = of_gate;
      all.push_back(file_tensor(modules[i].name, {5, modules[i].inputs}, x));
    }
    io::write_safetensors(folder / ("batch" + std::to_string(batch) + ".safetensors"), all, {});
  }
}

// The largest magnitude of the inputs of layers, in double.
double most_of(const std::vector<std::size_t>& layers) {
  double most = 0;
  for (const std::size_t i : layers)
    for (unsigned batch = 0; batch < 2; ++batch)
      for (const float x : activations_of(i, batch)) most = std::max(most, std::abs(double{x}));
  return most;
}

std::map<std::string, io::Tensor> tensors_in(const fs::path& folder) {
  std::map<std::string, io::Tensor> tensors;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto reader = io::SafetensorsReader::open(entry.path());
    for (const io::TensorInfo& t : reader.tensors()) tensors.emplace(t.name, reader.read(t.name));
  }
  return tensors;
}
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = slurp(entry.path());
  return files;
}

float number(const std::map<std::string, io::Tensor>& tensors, const std::string& name) {
  REQUIRE(tensors.contains(name));
  const std::vector<float> x = io::to_float32(tensors.at(name));
  REQUIRE(x.size() == 1);
  return x[0];
}

// The layers that share a scale with each.
const std::vector<std::vector<std::size_t>> sets{{0, 1, 2}, {3}, {4, 5}};

struct Case {
  const char* part;
  double (*scale)(double most);
};
void check_scales(const fs::path& out, const Case& c) {
  const auto written = tensors_in(out);
  for (const auto& set : sets)
    for (const std::size_t i : set) {
      INFO(modules[i].name << c.part);
      CHECK(number(written, modules[i].name + c.part) == static_cast<float>(c.scale(most_of(set))));
    }
}

}  // namespace

TEST_CASE("scales of activations are those of the largest magnitude of each fused set") {
  const TempDir folder;
  const fs::path in = folder / "in";
  write_folder(in);
  write_activations(folder / "acts");
  const ActivationRanges inputs = ActivationRanges::of_activations({folder / "acts"});
  CHECK(inputs.all().size() == modules.size());
  CHECK(inputs.find(modules[3].name)->second.inputs == 32);
  CHECK(inputs.find("model") == inputs.all().end());
  CheckpointOptions options;
  options.inputs = &inputs;
  const Case over_448{".input_scale", [](double m) { return m / 448; }},
      over_2688{".input_scale", [](double m) { return m / 2688; }},
      divisor{".input_global_scale", [](double m) { return 2688 / m; }};
  const auto write = [&](const char* out, const auto& format) {
    CHECK(write_checkpoint<Small>(folder / out, in, format, options).quantized.size() ==
          modules.size());
    return folder / out;
  };
  check_scales(write("a", compressed_tensors{"fp8-static"}), over_448);
  check_scales(write("b", compressed_tensors{"nvfp4-w4a4"}), divisor);
  check_scales(write("c", modelopt{"fp8-static"}), over_448);
  check_scales(write("d", modelopt{"nvfp4-w4a4"}), over_2688);

  // One scale of weights for each fused set too, as engines have one for the product.
  for (const auto& [out, dtype] :
       {std::pair("a", io::DType::f32), std::pair("c", io::DType::f32)}) {
    const auto written = tensors_in(folder / out);
    for (const auto& set : sets) {
      double most = 0;
      for (const std::size_t i : set)
        for (const float x : weights_of(i)) most = std::max(most, std::abs(double{x}));
      for (const std::size_t i : set) {
        CHECK(number(written, modules[i].name + ".weight_scale") == static_cast<float>(most / 448));
        CHECK(written.at(modules[i].name + ".weight_scale").dtype == dtype);
      }
    }
  }

  // Layers of a mixture that store no such scale take none.
  const auto some = compressed_tensors{"fp8-static"};
  format::mixture<compressed_tensors> mixed;
  mixed.layers = {{modules[3].name, some}, {modules[4].name, {"fp8"}}, {modules[5].name, {"fp8"}}};
  (void)write_checkpoint<Small>(folder / "e", in, mixed, options);
  const auto written = tensors_in(folder / "e");
  CHECK(number(written, modules[3].name + ".input_scale") ==
        static_cast<float>(most_of({3}) / 448));
  CHECK_FALSE(written.contains(modules[4].name + ".input_scale"));
}

TEST_CASE("floats that are written back have no scales of activations") {
  const TempDir folder;
  write_folder(folder / "in");
  write_activations(folder / "acts");
  const ActivationRanges inputs = ActivationRanges::of_activations({folder / "acts"});
  CheckpointOptions options;
  options.inputs = &inputs;
  using Any = BasicStoredModel<TypeList<float8_e4m3fn, float4_e2m1fn>,
                               TypeList<float, TwoLevel<float8_e4m3fn>>>;
  const auto check = [&](const std::string& out, const auto& format) {
    INFO(out);
    (void)write_checkpoint<Any>(folder / out, folder / "in", format, options);
    const ConversionReport report = dequantize_model<Any>(folder / out, folder / (out + "-back/"));
    CHECK(report.notes == std::vector<std::string>{
                              "scales of activations are left out, as a float model has none: 6"});
    const auto back = tensors_in(folder / (out + "-back"));
    CHECK(back.size() == modules.size());
    for (const Named& m : modules) {
      REQUIRE(back.contains(m.name + ".weight"));
      CHECK(io::to_float32(back.at(m.name + ".weight")) ==
            Any(folder / out).template load<float>(m.name + ".weight"));
    }
  };
  check("a", compressed_tensors{"fp8-static"});
  check("b", compressed_tensors{"nvfp4-w4a4"});
  check("c", modelopt{"fp8-static"});
  check("d", modelopt{"nvfp4-w4a4"});
}

TEST_CASE("schemes with and without scales of activations are measured side by side") {
  const TempDir folder;
  write_folder(folder / "in");
  write_activations(folder / "acts");
  const ActivationRanges inputs = ActivationRanges::of_activations({folder / "acts"});
  CheckpointOptions options;
  const std::map<std::string, compressed_tensors> schemes{{"fp8", {"fp8-weight-only"}},
                                                          {"static", {"fp8-static"}}};
  test::raises(errc::no_data, {"expected activations by its name"},
               [&] { (void)checkpoint_candidates<Small>(folder / "in", schemes, options); });
  options.inputs = &inputs;
  const CheckpointMeasurement measured =
      checkpoint_candidates<Small>(folder / "in", schemes, options);
  const CheckpointSizes<compressed_tensors> sizes(folder / "in", schemes, options);
  const PrecisionSelector selector(measured.layers);
  for (const char* const scheme : {"fp8", "static"}) {
    const PrecisionSelection all = selector.uniform(scheme);
    CheckpointOptions writing = options;
    if (scheme == std::string("fp8")) writing.inputs = nullptr;
    (void)write_checkpoint<Small>(folder / scheme, folder / "in", sizes.mixture(all), writing);
    std::uint64_t bytes = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / scheme))
      if (entry.path().extension() == ".safetensors") bytes += entry.file_size();
    CHECK(sizes(all) == bytes);
  }
}

TEST_CASE("static scales do not depend on threads, and an ended run goes on with the same data") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out";
  write_folder(in);
  write_activations(folder / "acts");
  write_activations(folder / "others", 77);
  const ActivationRanges inputs = ActivationRanges::of_activations({folder / "acts"}),
                         others = ActivationRanges::of_activations({folder / "others"});
  const compressed_tensors format{"nvfp4-w4a4"};
  CheckpointOptions options;
  options.inputs = &inputs;
  (void)write_checkpoint<Small>(folder / "one", in, format, options);
  options.jobs = 2;
  (void)write_checkpoint<Small>(folder / "two", in, format, options);
  CHECK(contents(folder / "two") == contents(folder / "one"));

  CheckpointOptions stops = options;
  stops.progress = [](std::uint64_t done, std::uint64_t all) {
    if (done == all) throw std::runtime_error("enough");
  };
  test::raises(errc::io_failure, {"enough"},
               [&] { (void)write_checkpoint<Small>(out, in, format, stops); });
  options.inputs = &others;
  test::raises(errc::bad_argument, {"shards of an unfinished run with other options"},
               [&] { (void)write_checkpoint<Small>(out, in, format, options); });
  options.inputs = &inputs;
  CHECK(write_checkpoint<Small>(out, in, format, options).reused_shards.value_or(0) >= 1);
  CHECK(contents(out) == contents(folder / "one"));
}

TEST_CASE("activations that give no scale are refused with the layer") {
  const TempDir folder;
  write_folder(folder / "in");
  const auto refuses = [&](errc code, const std::vector<const char*>& texts,
                           ActivationRanges::Map ranges, const compressed_tensors& format) {
    const ActivationRanges inputs(std::move(ranges));
    CheckpointOptions options;
    options.inputs = &inputs;
    test::raises(code, {texts[0], texts[1]}, [&] {
      (void)write_checkpoint<Small>(folder / "out", folder / "in", format, options);
    });
    CHECK(!fs::exists(folder / "out"));
  };
  const compressed_tensors w4a4{"nvfp4-w4a4"};
  ActivationRanges::Map all;
  for (const Named& m : modules) all[m.name] = {2.0f, m.inputs};
  ActivationRanges::Map some = all;
  some.erase(modules[3].name);
  refuses(errc::no_data, {"self_attn.o_proj: expected activations by its name", "got none"}, some,
          w4a4);
  some[modules[3].name] = {0.0f, 32};
  refuses(errc::no_data, {"self_attn.o_proj", "got zeros alone"}, some, w4a4);
  some[modules[3].name] = {1.0f, 64};
  refuses(errc::shape_mismatch,
          {"self_attn.o_proj: expected activations [..., 32]",
           "got \"model.layers.0.self_attn.o_proj\" [..., 64]"},
          some, w4a4);
  refuses(errc::bad_argument, {"compressed-tensors: expected no activations", "got some"}, all,
          {"nvfp4"});
  test::raises(errc::no_data, {"expected activations by its name", "`exclude`"},
               [&] { (void)write_checkpoint<Small>(folder / "out", folder / "in", w4a4); });
  for (const float bad : {NAN, HUGE_VALF, -HUGE_VALF}) {
    test::raises(errc::not_finite, {"\"x\"", "expected finite activations"},
                 [&] { (void)ActivationRanges({{"x", {std::abs(bad), 4}}}); });
    fs::create_directories(folder / "bad");
    io::write_safetensors(folder / "bad" / "a.safetensors",
                          std::vector<io::Tensor>{file_tensor<float>("fc", {2, 2}, {1, 2, bad, 4})},
                          {});
    test::raises(errc::not_finite, {"\"fc\""},
                 [&] { (void)ActivationRanges::of_activations({folder / "bad"}); });
  }
  test::raises(errc::not_finite, {"-1"}, [] { (void)ActivationRanges({{"x", {-1.0f, 4}}}); });
}

TEST_CASE("experts of a mixture share the scales of their inputs, quiet ones too") {
  const TempDir folder;
  const std::string mlp = block + "mlp.";
  const auto write = [&](const char* name, const std::vector<io::Tensor>& tensors) {
    fs::create_directories(folder / name);
    io::write_safetensors(folder / name / "model.safetensors", tensors, {});
    spill(folder / name / "config.json",
          R"({"model_type": "qwen3_moe", "dtype": "float32", "hidden_size": 64,
              "num_experts": 2, "moe_intermediate_size": 32})");
  };
  const std::vector<float> pair = noise(2 * 64 * 64, 1), down = noise(2 * 64 * 32, 2);
  std::vector<io::Tensor> single;
  for (std::size_t e = 0; e < 2; ++e) {
    const std::string own = mlp + "experts." + std::to_string(e) + ".";
    const auto part = [&](const std::vector<float>& x, std::size_t first, std::size_t count) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    single.push_back(file_tensor(own + "gate_proj.weight", {32, 64}, part(pair, e * 4096, 2048)));
    single.push_back(
        file_tensor(own + "up_proj.weight", {32, 64}, part(pair, e * 4096 + 2048, 2048)));
    single.push_back(file_tensor(own + "down_proj.weight", {64, 32}, part(down, e * 2048, 2048)));
  }
  write("single", single);
  write("fused", {file_tensor(mlp + "experts.gate_up_proj", {2, 64, 64}, pair),
                  file_tensor(mlp + "experts.down_proj", {2, 64, 32}, down)});
  // Expert 0 saw no token.
  const ActivationRanges of_experts({{mlp + "experts.1.gate_proj", {3.0f, 64}},
                                     {mlp + "experts.0.up_proj", {0.0f, 64}},
                                     {mlp + "experts.1.down_proj", {5.0f, 32}}}),
      of_stacks({{mlp + "experts.gate_up_proj", {3.0f, 64}},
                 {mlp + "experts.down_proj.weight", {5.0f, 32}}});
  CheckpointOptions options;
  options.inputs = &of_experts;
  const compressed_tensors format{"fp8-static"};
  (void)write_checkpoint<Small>(folder / "a", folder / "single", format, options);
  options.inputs = &of_stacks;
  (void)write_checkpoint<Small>(folder / "b", folder / "fused", format, options);
  const auto a = tensors_in(folder / "a"), b = tensors_in(folder / "b");
  CHECK(a.size() == b.size());
  for (const auto& [name, tensor] : a) {
    INFO(name);
    REQUIRE(b.contains(name));
    CHECK(b.at(name).bytes == tensor.bytes);
    if (name.ends_with(".input_scale"))
      CHECK(number(a, name) == (name.find("down_proj") != name.npos ? 5.0f : 3.0f) / 448.0f);
  }
}
