// SPDX-License-Identifier: MIT
// tq quantize --format writes a folder that engines load, and says what it left alone.
#include "tool_test.hpp"

#include <tq/containers/npz_writer.hpp>

#include <cmath>
#include <cstdint>
#include <map>

using namespace tool_test;

namespace {

const std::string block = "model.layers.0.";

// A model whose down_proj fits no group of 64.
void write_model(const Folder& folder) {
  fs::create_directories(folder("model"));
  std::vector<Tensor> tensors{tensor("model.embed_tokens.weight", {128, 64}, DType::bf16, 1),
                              tensor(block + "self_attn.o_proj.weight", {64, 64}, DType::bf16, 2),
                              tensor(block + "mlp.gate_proj.weight", {96, 64}, DType::bf16, 3),
                              tensor(block + "mlp.up_proj.weight", {96, 64}, DType::bf16, 4),
                              tensor(block + "mlp.down_proj.weight", {64, 96}, DType::bf16, 5),
                              tensor("lm_head.weight", {128, 64}, DType::bf16, 6)};
  tq::io::write_safetensors(folder("model/model.safetensors"), tensors);
  std::ofstream(folder("model/config.json"))
      << R"({"model_type": "llama", "dtype": "bfloat16", "vocab_size": 128})";
  std::ofstream(folder("model/tokenizer.json")) << "{}";
  std::ofstream(folder("model/pytorch_model.bin")) << "old";
}

}  // namespace

TEST_CASE("a folder for an engine is written with one command") {
  const Folder folder("engines");
  write_model(folder);
  const std::string said = succeed({"quantize", folder("model"), folder("out"), "--format",
                                    "compressed-tensors", "--type", "int4", "--group-size", "64"});
  CHECK(has(said, "3 linear layers in compressed-tensors int4, 4.2"));
  CHECK(has(said, "left in float (head): lm_head\n"));
  CHECK(has(said, "): " + block + "mlp.down_proj\n"));
  CHECK(has(said, "files carried over: config.json, tokenizer.json\n"));
  CHECK(has(said, "files left out: pytorch_model.bin\n"));
  CHECK(has(said, "vllm: vllm serve " + folder("out") + "\n"));
  CHECK(has(said, "transformers: AutoModelForCausalLM.from_pretrained(\"" + folder("out")));
  CHECK(content(folder("out/tokenizer.json")) == "{}");
  const Json config = Json::parse(content(folder("out/config.json")));
  CHECK(config["quantization_config"]["config_groups"]["group_0"]["weights"]["group_size"] == 64);

  const Json json = Json::parse(succeed({"quantize", folder("model"), folder("json"), "--json",
                                         "--for", "vllm", "--group-size", "64"}));
  CHECK(json["format"] == "compressed-tensors");
  CHECK(json["type"] == "int4");
  CHECK(json["quantized"].size() == 3);
  CHECK(json["left"][0] == Json{{"module", "lm_head"}, {"reason", "head"}});
  CHECK(json["load"] == Json{{"vllm", "vllm serve " + folder("json")}});
  CHECK(json["total"]["bytes_before"] == 2 * (2 * 128 * 64 + 64 * 64 + 3 * 96 * 64));
  CHECK(content(folder("json/model.safetensors")) == content(folder("out/model.safetensors")));

  // The same tool reads it, and compares it with the model.
  const Json compared = Json::parse(succeed({"compare", folder("model"), folder("out"), "--json"}));
  CHECK(compared.dump().find(block + "self_attn.o_proj.weight") != std::string::npos);
}

TEST_CASE("weights that config.json describes are not replaced by others") {
  const Folder folder("engines_kept");
  write_model(folder);
  succeed({"quantize", folder("model"), folder("out"), "--format", "gptq", "--group-size", "64"});
  const std::string weights = folder("out/model.safetensors"), before = content(weights);
  const std::vector<std::string> other{"quantize", folder("model"), folder("out"), "--type",
                                       "int4"};
  const std::string words = "got weights that quantization_config of config.json describes";
  CHECK(has(fail(1, other), words));
  CHECK(has(fail(1, {"quantize", folder("model/model.safetensors"), weights}), words));
  CHECK(content(weights) == before);
  // No reader takes a guess where the configuration is damaged.
  for (const std::string& text : {std::string("{"), std::string(), std::string("{}\0", 3)}) {
    std::ofstream(folder("out/config.json"), std::ios::binary) << text;
    fs::remove(folder("out/quantize_config.json"));
    CHECK(has(fail(1, {"inspect", folder("out")}), "config.json: expected a JSON document"));
    CHECK(has(fail(1, {"dequantize", folder("out"), folder("back")}), "how quantized weights"));
    CHECK_FALSE(fs::exists(folder("back")));
  }
}

TEST_CASE("options and folders that no engine could use are refused") {
  const Folder folder("engines-refused");
  write_model(folder);
  struct Case {
    std::vector<std::string> options;
    const char* expected;
    int status = 2;
  };
  const std::vector<Case> cases{
      {{"--format", "gguf"}, "--format: expected compressed-tensors, gptq"},
      {{"--format", "compresed-tensors"}, "did you mean"},
      {{"--for", "ollama"}, "--for: expected vllm"},
      {{"--for", "llama.cpp"}, "llama.cpp, which loads GGUF files"},
      {{"--for", "mlx", "--format", "gptq"}, "expected a format that mlx loads, got gptq"},
      {{"--for", "vllm", "--type", "nf4"}, "expected a type that vllm loads, got \"nf4\""},
      {{"--for", "vllm", "--format", "gptq", "--type", "int3"},
       "--type: expected 4 or 8 bits, which vllm runs in gptq, got int3"},
      {{"--for", "vllm", "--format", "gptq", "--symmetry", "asymmetric"},
       "--symmetry: expected symmetric, which vllm runs in gptq, got asymmetric"},
      {{"--for", "sglang", "--type", "int5"}, "expected a type that sglang loads, got \"int5\""},
      {{"--for", "sglang", "--format", "compressed-tensors", "--type", "int8"},
       "--type: expected packed weights of 4 bits without codes of activations, which sglang runs"},
      {{"--format", "awq", "--type", "int8"}, "--type: expected int4 of format awq"},
      {{"--format", "fp8", "--group-size", "64"}, "--group-size: expected none"},
      {{"--format", "bitsandbytes", "--symmetry", "symmetric"}, "--symmetry: expected none"},
      {{"--format", "gptq", "--scale-type", "float16"}, "--scale-type: expected none"},
      {{"--format", "gptq", "--axis", "1"}, "--axis: expected none"},
      {{"--format", "gptq", "--granularity", "per_tensor"}, "expected per_group or per_channel"},
      {{"--format", "gptq", "--all"}, "--all: expected none"},
      {{"--format", "gptq", "--config", "x.json"}, "x.json: No such file or directory", 1},
      {{"--tensor-parallel", "2"}, "--tensor-parallel: expected it beside --format or --for"},
      {{"--for", "vllm", "--group-size", "48"}, "expected groups of 32, 64 or 128", 1},
      {{"--for", "vllm", "--include", "nothing_like_it"}, "matches none", 1},
      {{"--for", "vllm", "--tensor-parallel", "64"}, "expected linear layers that", 1},
  };
  for (const Case& c : cases) {
    std::vector<std::string> words{"quantize", folder("model"), folder("out")};
    words.insert(words.end(), c.options.begin(), c.options.end());
    CHECK(has(fail(c.status, words), c.expected));
    CHECK(!fs::exists(folder("out")));
  }
  CHECK(has(fail(2, {"quantize", folder("model"), folder("model"), "--for", "vllm"}),
            "OUT: expected another folder than that of IN"));
  fs::remove(folder("model/config.json"));
  CHECK(has(fail(1, {"quantize", folder("model"), folder("out"), "--for", "vllm"}),
            "expected a folder with the config.json"));
}

TEST_CASE("the best mixture for an engine is chosen within a size, and written") {
  const Folder folder("engines-select");
  write_model(folder);
  const auto choose = [&](const std::string& engine, const std::vector<std::string>& options) {
    std::vector<std::string> words{"select", folder("model"),       "--json", "--overwrite",
                                   "-o",     folder("choice.json"), "--for",  engine};
    words.insert(words.end(), options.begin(), options.end());
    return Json::parse(succeed(words));
  };
  const Json least = choose("vllm", {"--min-sqnr", "1"}),
             most = choose("vllm", {"--goal", "accuracy", "--types", "int4_g32,fp8-weight-only"});
  CHECK(most["layers"][0]["scheme"] == "float");  // whose error is 0
  CHECK(most["command"] == nullptr);
  CHECK(choose("vllm", {"--max-bits", "1e75"})["total"] == most["total"]);
  CHECK(most["total"]["bytes"] == fs::file_size(folder("model/model.safetensors")));
  const std::uint64_t fewest = least["total"]["bytes"], all = most["total"]["bytes"];
  const std::uint64_t size = (2 * fewest + all) / 3;
  const Json chosen = choose("vllm", {"--max-bytes", std::to_string(size)});
  CHECK(chosen["format"] == "compressed-tensors");
  CHECK(chosen["total"]["bytes"] <= size);
  CHECK(chosen["total"]["bytes"] > fewest);
  CHECK(chosen["left"] == Json::array({{{"module", "lm_head"}, {"reason", "head"}}}));
  CHECK(chosen["command"] ==
        "tq quantize " + folder("model") + " OUT --for vllm --config " + folder("choice.json"));
  std::map<std::string, Json> schemes;
  for (const Json& layer : chosen["layers"]) schemes[layer["name"]] = layer["scheme"];
  CHECK(schemes.size() == 4);
  CHECK(schemes.at(block + "mlp.gate_proj") == schemes.at(block + "mlp.up_proj"));

  const Json written = Json::parse(succeed({"quantize", folder("model"), folder("out"), "--for",
                                            "vllm", "--config", folder("choice.json"), "--json"}));
  CHECK(written["type"] == "mixed");
  CHECK(fs::file_size(folder("out/model.safetensors")) == chosen["total"]["bytes"]);
  CHECK(written["total"]["bytes_after"] < chosen["total"]["bytes"]);  // without the header
  // Its own size is enough for it, and a byte less is not.
  const std::uint64_t own = chosen["total"]["bytes"];
  CHECK(choose("vllm", {"--max-bytes", std::to_string(own)})["layers"] == chosen["layers"]);
  CHECK(choose("vllm", {"--max-bytes", std::to_string(own - 1)})["total"]["bytes"] < own);
  succeed({"select", folder("model"), "--max-bytes", std::to_string(own), "--for", "vllm",
           "--overwrite", "-o", folder("choice.json")});
  for (const Json& module : written["quantized"]) CHECK(schemes.at(module) != "float");
  const Json config = Json::parse(content(folder("out/config.json")))["quantization_config"];
  for (const auto& [name, group] : config["config_groups"].items())
    for (const Json& module : group["targets"])
      CHECK(schemes.at(module).get<std::string>().starts_with(
          group["weights"]["type"] == "int" ? "int" : "fp8"));
  // The error of each layer is that of the folder, but for rounding to bfloat16.
  const Json compared = Json::parse(succeed({"compare", folder("model"), folder("out"), "--json"}));
  for (const Json& layer : chosen["layers"])
    for (const Json& t : compared["tensors"])
      if (t["name"] == layer["name"].get<std::string>() + ".weight" && layer["scheme"] != "float")
        CHECK(std::abs(t["error"]["sqnr_db"].get<double>() - layer["sqnr_db"].get<double>()) < 0.1);

  const Json mlx = choose("mlx", {"--max-bits", "5.5"});
  CHECK(mlx["format"] == "mlx");
  CHECK(has(succeed({"quantize", folder("model"), folder("mlx"), "--for", "mlx", "--config",
                     folder("choice.json")}),
            "linear layers in mlx mixed, "));
  CHECK(has(fail(2, {"quantize", folder("model"), folder("no"), "--for", "vllm", "--config",
                     folder("choice.json")}),
            "--format: expected a format that vllm loads, got mlx"));
}

TEST_CASE("choices for an engine that make no sense are refused") {
  const Folder folder("engines-select-refused");
  write_model(folder);
  struct Case {
    std::vector<std::string> options;
    const char* expected;
    int status = 2;
  };
  const std::vector<Case> cases{
      {{"--for", "vllm"}, "expected --max-bits, --max-bytes"},
      {{"--for", "ollama", "--max-bits", "5"}, "--for: expected vllm"},
      {{"--for", "vllm", "--max-bits", "5", "--types", "int4_g48x"}, "a scheme such as int4_g64"},
      {{"--for", "vllm", "--max-bits", "5", "--types", "nf4"}, "--types, scheme \"nf4\": --type"},
      {{"--for", "vllm", "--max-bits", "5", "--types", "fp8_g32"}, "--group-size: expected none"},
      {{"--for", "vllm", "--max-bits", "5", "--types", "int4_g32,int4_g32"}, "twice"},
      {{"--for", "mlx", "--max-bits", "5", "--types", "int4_g64,mxfp4"},
       "--types: mlx: expected groups of one size beside affine codes, got 32 and 64"},
      {{"--for", "vllm", "--max-bits", "5", "--types", "int4_g48"}, "32, 64 or 128", 1},
      {{"--for", "sglang", "--max-bits", "5", "--types", "int3_g32"},
       "--types: expected packed weights of 4 bits without codes of activations, which sglang runs "
       "in compressed-tensors, got int3"},
      {{"--for", "vllm", "--max-bits", "5", "--types", "int4_g32,fp8-static"},
       "--types, scheme \"fp8-static\": expected --activations, for the scales"},
      {{"--for", "vllm", "--max-bits", "5", "--activations", folder("model")},
       "--activations: expected none without fp8-static or nvfp4-w4a4 among --types"},
      {{"--for", "llama.cpp", "--max-bits", "5", "--activations", folder("model")},
       "--activations: expected none for llama.cpp"},
      {{"--max-bits", "5", "--activations", folder("model")},
       "--activations: expected none without --for"},
      {{"--for", "vllm", "--max-bits", "5", "--all"}, "--all: expected none beside --for"},
      {{"--for", "vllm", "--min-speedup", "2"}, "--min-speedup: expected none beside --for"},
      {{"--for", "vllm", "--max-bytes", "5"}, "--max-bytes: expected at least"},
      {{"--for", "vllm", "--max-bytes", "5"}, ", got 5; sizes of one scheme: "},
      {{"--for", "vllm", "--max-bytes", "60000", "--min-sqnr", "90"},
       "--min-sqnr: expected an SQNR that files of at most --max-bytes 60000 can have, got 90"},
      {{"--for", "vllm", "--max-bytes", "-5"}, "a whole number of bytes below 2^64, got -5"},
      {{"--for", "vllm", "--max-bytes", "18446744073709551616"}, "a whole number of bytes below"},
      {{"--for", "vllm", "--max-bytes", "1e9"}, "a whole number of bytes below 2^64, got 1e9"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> words{"select", folder("model"), "-o", folder("choice.json")};
    words.insert(words.end(), c.options.begin(), c.options.end());
    CHECK(has(fail(c.status, words), c.expected));
    CHECK(!fs::exists(folder("choice.json")));
  }
  const auto refuse_file = [&](const std::string& text, int status, const std::string& expected) {
    std::ofstream(folder("choice.json")) << text;
    CHECK(has(fail(status, {"quantize", folder("model"), folder("out"), "--for", "vllm", "--config",
                            folder("choice.json")}),
              expected));
    CHECK(!fs::exists(folder("out")));
  };
  const std::string begin = R"({"version": 1, "format": "compressed-tensors", "layers": [)";
  const auto layer = [](const std::string& module, const std::string& scheme) {
    return R"({"module": ")" + module + R"(", "scheme": ")" + scheme + "\"}";
  };
  refuse_file(begin + "]}", 2, "expected a layer with a scheme");
  refuse_file(begin + layer("a", "int7_g32") + "]}", 2, "scheme \"int7_g32\"");
  refuse_file(begin + layer("a", "int4_g32") + "," + layer("a", "int4_g32") + "]}", 1, "once");
  refuse_file(R"({"version": 1, "default": "int8"})", 1, "format");
  refuse_file(R"({"version": 1, "format": "gptq", "layers": []})", 1,
              "one of compressed-tensors, mlx");
  refuse_file(begin + layer(block + "mlp.gate_proj", "int4_g32") + "," +
                  layer(block + "mlp.up_proj", "fp8") + "]}",
              1, "one scheme for layers that engines fuse");
}

TEST_CASE("the size of the files of a mixture is known before it is written, in shards too") {
  const Folder folder("engines-size");
  write_model(folder);
  const std::vector<Tensor> more{
      tensor("model.norm.weight", {64}, DType::f32, 7),
      tensor("model.layers.1.mlp.up_proj.weight", {96, 64}, DType::bf16, 8),
      tensor("model.layers.1.mlp.gate_proj.weight", {96, 64}, DType::bf16, 9)};
  fs::create_directories(folder("shards"));
  fs::rename(folder("model/model.safetensors"), folder("shards/model-1.safetensors"));
  tq::io::write_safetensors(folder("shards/model-2.safetensors"), more);
  fs::copy(folder("model/config.json"), folder("shards/config.json"));
  Json index;
  for (const char* const file : {"model-1.safetensors", "model-2.safetensors"}) {
    const auto reader = tq::io::SafetensorsReader::open(folder("shards/" + std::string(file)));
    for (const auto& t : reader.tensors()) index["weight_map"][t.name] = file;
  }
  std::ofstream(folder("shards/model.safetensors.index.json")) << index.dump();
  const auto choose = [&](const std::string& engine, const std::string& bytes) {
    return Json::parse(succeed({"select", folder("shards"), "--json", "--overwrite", "-o",
                                folder("choice.json"), "--for", engine, "--max-bytes", bytes}));
  };
  for (const char* const engine : {"vllm", "sglang", "mlx"}) {
    const std::string refused = fail(2, {"select", folder("shards"), "-o", folder("no.json"),
                                         "--for", engine, "--max-bytes", "100"});
    const std::string at_least = "expected at least ";
    REQUIRE(has(refused, at_least));
    const std::uint64_t fewest =
        std::stoull(refused.substr(refused.find(at_least) + at_least.size()));
    std::uint64_t before = 0;
    for (const std::uint64_t room : {0u, 1500u, 6000u, 20000u, 30000u}) {
      INFO(engine << " " << room);
      const std::uint64_t bytes = choose(engine, std::to_string(fewest + room))["total"]["bytes"];
      CHECK(bytes <= fewest + room);
      CHECK(bytes >= before);
      before = bytes;
      succeed({"quantize", folder("shards"), folder("out"), "--for", engine, "--config",
               folder("choice.json"), "--overwrite"});
      std::uint64_t size = 0;
      for (const auto& file : fs::directory_iterator(folder("out")))
        if (file.path().extension() == ".safetensors") size += file.file_size();
      CHECK(size == bytes);
    }
    CHECK(choose(engine, std::to_string(fewest))["total"]["bytes"] == fewest);
  }
}

TEST_CASE("a size that nothing reaches is refused before weights are read") {
  const Folder folder("engines-early");
  write_model(folder);
  std::vector<float> x = noise(64 * 64);
  x[5] = std::nanf("");
  tq::io::write_safetensors(
      folder("model/model.safetensors"),
      std::vector<Tensor>{tq::io::from_float32(block + "self_attn.o_proj.weight", {64, 64}, x)});
  for (const char* const engine : {"vllm", "mlx"}) {
    const std::vector<std::string> words{"select", folder("model"),       "--for",      engine,
                                         "-o",     folder("choice.json"), "--max-bytes"};
    const auto with = [&](const char* bytes) {
      std::vector<std::string> out = words;
      out.emplace_back(bytes);
      return out;
    };
    CHECK(has(fail(2, with("1000")), "--max-bytes: expected at least "));
    CHECK(has(fail(1, with("9000")), "self_attn.o_proj.weight"));
  }
}

TEST_CASE("layers of a folder for an engine are encoded by an algorithm") {
  const Folder folder("engine_algorithm");
  write_model(folder);
  fs::create_directories(folder("acts"));
  const auto batch = [](const std::string& name, std::size_t inputs, unsigned seed) {
    std::vector<float> x = noise(100 * inputs, seed);
    for (std::size_t i = 1; i < x.size(); ++i)
      if (i % inputs != 0) x[i] += 0.75f * x[i - 1];
    return tq::io::from_float32(block + name, {100, inputs}, x);
  };
  tq::io::write_safetensors(
      folder("acts/1.safetensors"),
      std::vector<Tensor>{batch("self_attn.o_proj", 64, 7), batch("mlp.gate_proj", 64, 8)});
  for (int run = 0; run < 2; ++run)  // its own output among the data is no data
    succeed({"hessian", folder("acts"), "-o", folder("acts/h.npz")});
  const auto write = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.begin(), {"quantize", folder("model"), folder(out), "--for", "vllm",
                               "--group-size", "64", "--algorithm", "gptq"});
    return more;
  };
  const std::string hessian = folder("acts/h.npz");
  CHECK(has(fail(2, write("out", {})), "--algorithm gptq: expected --hessian or --activations"));
  CHECK(has(fail(1, write("out", {"--hessian", hessian})),
            "up_proj.weight\": expected a Hessian of its name, or that of its module"));
  CHECK_FALSE(fs::exists(folder("out/config.json")));
  const std::string said =
      succeed(write("out", {"--hessian", hessian, "--fallback", "rtn", "--jobs", "2"}));
  CHECK(has(said, "2 weights with a loss of "));
  CHECK(has(said, "1 weights by the fallback, rounded to nearest"));
  CHECK(has(said, "3 linear layers in compressed-tensors int4"));
  const Json json = Json::parse(
      succeed(write("json", {"--activations", folder("acts"), "--fallback", "rtn", "--json"})));
  CHECK(content(folder("json/model.safetensors")) == content(folder("out/model.safetensors")));
  const Json& layer = json["algorithms"][block + "self_attn.o_proj"];
  CHECK(layer["name"] == "gptq");
  CHECK(layer["tokens"] == 100);
  CHECK(layer["loss"].get<double>() < layer["loss_of_rounding"].get<double>());
  CHECK(json["algorithms"][block + "mlp.up_proj"] == Json{{"name", "rtn"}, {"fallback", true}});
  CHECK(json["total"]["algorithm"]["weights"] == 2);
  CHECK(json["total"]["algorithm"]["fallbacks"] == 1);
}

TEST_CASE("scales of activations come from data on the command line") {
  const Folder folder("engine_activations");
  write_model(folder);
  const std::string attention = block + "self_attn.o_proj", gate = block + "mlp.gate_proj",
                    up = block + "mlp.up_proj", down = block + "mlp.down_proj";
  const auto batch = [](const std::string& module, std::size_t inputs, float most) {
    std::vector<float> x = noise(100 * inputs, 7);
    x[inputs + 3] = -most;
    return tq::io::from_float32(module, {100, inputs}, x);
  };
  const auto write_acts = [&](const std::string& name, const std::vector<Tensor>& batches) {
    tq::io::write_npz(folder(name), batches);
    return folder(name);
  };
  const Tensor of_gate = batch(gate, 64, 3), of_up = batch(up, 64, 5), of_down = batch(down, 96, 7),
               of_attention = batch(attention, 64, 2);
  const std::string acts = write_acts("a.npz", {of_attention, of_gate, of_up, of_down});
  const auto words = [&](const std::string& out, const std::string& type,
                         const std::vector<std::string>& more) {
    std::vector<std::string> all{"quantize",           folder("model"), folder(out), "--format",
                                 "compressed-tensors", "--type",        type};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto number = [&](const std::string& out, const std::string& part) {
    const Tensor t = tq::io::SafetensorsReader::open(folder(out + "/model.safetensors")).read(part);
    return tq::io::to_float32(t).at(0);
  };
  CHECK(has(succeed(words("out", "fp8-static", {"--activations", acts})),
            "4 linear layers in compressed-tensors fp8-static"));
  CHECK(number("out", attention + ".input_scale") == 2.0f / 448);
  CHECK(number("out", gate + ".input_scale") == 5.0f / 448);
  CHECK(number("out", up + ".input_scale") == 5.0f / 448);
  CHECK(number("out", down + ".input_scale") == 7.0f / 448);
  succeed(words("two", "fp8-static", {"--activations", acts, "--jobs", "2"}));
  CHECK(content(folder("two/model.safetensors")) == content(folder("out/model.safetensors")));

  // The values that dequantize reads are the codes times the one scale, rounded to the model's
  // type.
  succeed({"dequantize", folder("out"), folder("floats.safetensors")});
  const auto codes = tq::io::SafetensorsReader::open(folder("out/model.safetensors"));
  const auto floats = tq::io::SafetensorsReader::open(folder("floats.safetensors"));
  for (const std::string& module : {attention, gate, up, down}) {
    const std::vector<float> q = tq::io::to_float32(codes.read(module + ".weight")),
                             x = tq::io::to_float32(floats.read(module + ".weight"));
    const float scale = number("out", module + ".weight_scale");
    REQUIRE(q.size() == x.size());
    CHECK(floats.find(module + ".input_scale") == nullptr);
    for (std::size_t i = 0; i < q.size(); ++i) {
      const float exact = q[i] * scale;
      if (std::abs(x[i] - exact) > 0x1p-8f * std::abs(exact)) FAIL(module << ", element " << i);
    }
  }

  // A choice with such schemes takes the data, and so does the command that it prints.
  const auto choose = [&](const std::string& types, const std::string& bits) {
    return succeed({"select", folder("model"), "-o", folder("choice.json"), "--overwrite", "--for",
                    "vllm", "--max-bits", bits, "--types", types, "--activations", acts});
  };
  CHECK(has(choose("fp8-static,int4_g32", "7"), " --activations " + acts + "\n"));
  succeed({"quantize", folder("model"), folder("chosen"), "--for", "vllm", "--config",
           folder("choice.json"), "--activations", acts});
  CHECK_FALSE(has(choose("fp8-static,int4_g32", "4.6"), " --activations "));
  CHECK(has(fail(2, {"select", folder("model"), "-o", acts, "--overwrite", "--for", "vllm",
                     "--max-bits", "9", "--types", "fp8-static", "--activations", acts}),
            "-o: "));

  // An algorithm takes the same data, or Hessians beside them.
  succeed({"hessian", acts, "-o", folder("h.npz")});
  succeed(words("gptq", "nvfp4-w4a4", {"--activations", acts, "--algorithm", "gptq"}));
  succeed(words("both", "nvfp4-w4a4",
                {"--activations", acts, "--algorithm", "gptq", "--hessian", folder("h.npz")}));
  CHECK(content(folder("both/model.safetensors")) == content(folder("gptq/model.safetensors")));
  CHECK(number("gptq", up + ".input_global_scale") == 2688.0f / 5);

  const auto refuses = [&](int status, const std::string& type,
                           const std::vector<std::string>& more, const std::string& text) {
    CHECK(has(fail(status, words("none", type, more)), text));
    CHECK_FALSE(fs::exists(folder("none")));
  };
  refuses(2, "fp8-static", {}, "--type fp8-static: expected --activations, for the scales");
  refuses(2, "fp8", {"--activations", acts}, "--activations: expected none with --algorithm rtn");
  refuses(2, "fp8-static", {"--activations", acts, "--hessian", folder("h.npz")},
          "--hessian: expected none with --algorithm rtn");
  refuses(1, "fp8-static", {"--activations", folder("missing.npz")}, "No such file");
  const std::string few = write_acts("few.npz", {of_attention, of_gate});
  refuses(1, "nvfp4-w4a4", {"--activations", few},
          down + ": expected activations by its name, or that of its weight");
  const std::string wide = write_acts("wide.npz", {of_attention, of_gate, batch(down, 64, 1)});
  refuses(1, "nvfp4-w4a4", {"--activations", wide},
          down + ": expected activations [..., 96], got \"" + down + "\" [..., 64]");
  const std::string bad = write_acts("bad.npz", {batch(attention, 64, NAN)});
  refuses(1, "fp8-static", {"--activations", bad}, "expected finite activations of");
}
