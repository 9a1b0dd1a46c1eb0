// SPDX-License-Identifier: MIT
// tq quantize on tensors that are no matrices, by their names, shapes and config.json.
#include "tool_test.hpp"

#include <cmath>
#include <map>
#include <utility>

using namespace tool_test;

namespace {

using Reasons = std::map<std::string, std::string>;

// Why tensors are copied; of those that are quantized, "".
Reasons reasons(const Json& report) {
  Reasons out;
  for (const Json& t : report["tensors"])
    out[t["name"]] = t["quantized"] == true ? "" : t["reason"].get<std::string>();
  return out;
}

class Model {
 public:
  explicit Model(const std::string& name) : folder_(name) {}

  void write(const std::vector<Tensor>& tensors, const std::string& config = "") {
    tq::io::write_safetensors(in(), tensors);
    fs::remove(folder_("config.json"));
    if (!config.empty()) std::ofstream(folder_("config.json")) << config;
  }
  [[nodiscard]] Json quantized(const std::vector<std::string>& options) const {
    std::vector<std::string> arguments{"quantize", in(), out(), "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return Json::parse(succeed(arguments));
  }
  [[nodiscard]] std::string in() const { return folder_("m.safetensors"); }
  [[nodiscard]] std::string out() const { return folder_("q.safetensors"); }
  [[nodiscard]] const Folder& folder() const { return folder_; }

 private:
  Folder folder_;
};

// Rows of different sizes, of `count` matrices.
std::vector<float> experts(std::size_t count, std::size_t rows, std::size_t columns) {
  std::vector<float> x = noise(count * rows * columns, 3);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] *= std::exp(static_cast<float>(i / columns % 7) - 3.0f);
  return x;
}

}  // namespace

TEST_CASE("a stack of experts is quantized as its experts are one by one") {
  Model model("stack");
  constexpr std::size_t count = 3, rows = 16, columns = 32, size = rows * columns;
  const std::vector<float> x = experts(count, rows, columns);
  std::vector<float> turned(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    turned[i / size * size + i % columns * rows + i % size / columns] = x[i];
  const std::string name = "model.layers.0.mlp.experts.";
  const auto codes = [&](const std::string& tensor, const char* part) {
    const Tensor t = tq::io::SafetensorsReader::open(model.out()).read(tensor + part);
    return t.bytes;
  };
  for (const char* type : {"int8", "int4_g32", "uint4", "nf4"}) {
    INFO(type);
    std::vector<Tensor> apart;
    for (std::size_t e = 0; e < count; ++e)
      apart.push_back(tq::io::from_float32(
          name + std::to_string(e) + ".up_proj.weight", {rows, columns},
          std::vector<float>(x.begin() + static_cast<std::ptrdiff_t>(e * size),
                             x.begin() + static_cast<std::ptrdiff_t>((e + 1) * size))));
    model.write(apart);
    (void)model.quantized({"--type", type});
    for (const char* part : {".codes", ".scales"}) {
      std::vector<std::byte> all;
      model.write(apart);
      (void)model.quantized({"--type", type});
      for (const Tensor& t : apart) {
        const auto bytes = codes(t.name, part);
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
      model.write({tq::io::from_float32(name + "up_proj", {count, rows, columns}, x)});
      (void)model.quantized({"--type", type});
      CHECK(codes(name + "up_proj", part) == all);
    }
  }
  // With inputs first, as the width of the model tells: the same scales, and as much is lost.
  const auto error = [&](const Json& report) { return report["tensors"][0]["error"]["sqnr_db"]; };
  const double straight = error(model.quantized({"--type", "int4"}));
  CHECK(error(model.quantized({"--type", "int4", "--axis", "0"})) < straight - 3);
  model.write({tq::io::from_float32(name + "up_proj", {count, columns, rows}, turned)},
              R"({"text_config": {"hidden_size": 32}})");
  const Json report = model.quantized({"--type", "int4"});
  CHECK(std::abs(error(report).get<double>() - straight) < 1e-9);
  CHECK(report["tensors"][0]["spec"]["axis"] == -2);
  // All that measures does the same.
  const std::string chosen = model.folder()("c.json");
  const Json swept = Json::parse(succeed({"sweep", model.in(), "--types", "int4", "--json"}));
  CHECK(std::abs(swept["schemes"][0]["sqnr_db"].get<double>() - straight) < 1e-9);
  succeed({"select", model.in(), "--types", "int4,uint4", "--max-bits", "8", "-o", chosen});
  const Json selected = model.quantized({"--config", chosen});
  CHECK(selected["tensors"][0]["spec"]["granularity"] == "per_group");
  succeed({"dequantize", model.out(), model.folder()("back.safetensors")});
}

TEST_CASE("what is used value by value, and what would grow, is copied in every scheme") {
  Model model("elementwise");
  const std::vector<std::pair<const char*, std::vector<std::size_t>>> values{
      {"backbone.layers.0.mixer.A_log", {128, 16}},
      {"backbone.layers.0.mixer.conv1d.weight", {128, 1, 4}},
      {"rwkv.blocks.0.attention.time_decay", {4, 16}},
      {"transformer_blocks.0.scale_shift_table", {6, 64}},
      {"embeddings.cls_token", {1, 1, 64}},
      {"decoder.mid_block.attentions.0.norm.gamma", {96, 1, 1}},
      {"model.layers.0.mlp.experts.gate_up_proj_bias", {4, 128}}};
  std::vector<Tensor> tensors;
  for (const auto& [name, shape] : values) tensors.push_back(tensor(name, shape));
  tensors.push_back(tensor("layer1.conv.weight", {64, 32, 1, 1}, DType::f16));
  tensors.push_back(tensor("layer1.down.weight", {64, 32}, DType::f16));
  tensors.push_back(tensor("layer1.thin.weight", {64, 1}, DType::f32));
  model.write(tensors);
  for (const char* type : {"int4_g32", "int8", "mxfp4", "nvfp4", "uint4_g32", "nf4", "fp8_e4m3"}) {
    INFO(type);
    const Json report = model.quantized({"--type", type});
    Reasons found = reasons(report);
    for (const auto& [name, shape] : values) CHECK(has(found[name], "kind "));
    CHECK(found["layer1.down.weight"].empty());
    for (const Json& t : report["tensors"])
      CHECK(t["bytes_after"].get<std::uint64_t>() <= t["bytes_before"].get<std::uint64_t>());
  }
  CHECK(reasons(model.quantized({"--type", "int4_g32"}))["layer1.conv.weight"] ==
        "would grow from 16 to 36 bits a weight");
  CHECK(has(succeed({"quantize", model.in(), model.out(), "--type", "int4_g32"}),
            "2 that would grow"));
  // Who asks for all tensors, or for one by name in a configuration, gets them.
  CHECK(reasons(model.quantized({"--type", "int4_g32", "--all"}))["layer1.conv.weight"].empty());
  const std::string config = model.folder()("tq.json");
  std::ofstream(config) << R"({"version": 1, "nodes": [{"name": "layer1.conv.weight",
    "scheme": "int4_g32"}, {"kind": "elementwise", "scheme": "int8"}]})";
  const Reasons named = reasons(model.quantized({"--config", config}));
  CHECK(named.at("layer1.conv.weight").empty());
  CHECK(named.at("backbone.layers.0.mixer.A_log").empty());
  CHECK(named.at("decoder.mid_block.attentions.0.norm.gamma") == "float_kinds: kind norm");
}

TEST_CASE("config.json tells heads and routers by the numbers of words, classes and experts") {
  Model model("sizes");
  const std::vector<Tensor> tensors{
      tensor("audio.final_projection.weight", {96, 32}), tensor("fc.weight", {7, 32}),
      tensor("layers.0.mlp.gate.weight", {4, 32}), tensor("layers.1.mlp.gate.weight", {16, 32}),
      tensor("layers.0.up.weight", {96, 32})};
  model.write(tensors);
  CHECK(reasons(model.quantized({})) == Reasons{{"audio.final_projection.weight", ""},
                                                {"fc.weight", ""},
                                                {"layers.0.mlp.gate.weight", "kind router"},
                                                {"layers.1.mlp.gate.weight", "kind router"},
                                                {"layers.0.up.weight", ""}});
  const std::string table = succeed({"quantize", model.in(), model.out()});
  CHECK(has(table,
            "kept in float: router 2 (layers.0.mlp.gate.weight, ...); no head, no position found"));
  model.write(tensors, R"({"text_config": {"vocab_size": 96, "num_experts": 4}, "num_labels": 7})");
  const Json report = model.quantized({});
  CHECK(reasons(report) == Reasons{{"audio.final_projection.weight", "kind head"},
                                   {"fc.weight", "kind head"},
                                   {"layers.0.mlp.gate.weight", "kind router"},
                                   {"layers.1.mlp.gate.weight", ""},
                                   {"layers.0.up.weight", ""}});
  CHECK(report["kept"]["head"] == Json{"audio.final_projection.weight", "fc.weight"});
  CHECK(report["kept"]["position"] == Json::array());
}

TEST_CASE("an --include keeps protected kinds in float unless it is an exact name") {
  Model model("protected");
  model.write({tensor("lm_head.weight", {64, 32}), tensor("layers.0.mlp.gate.weight", {4, 32}),
               tensor("layers.0.mlp.up_proj.weight", {64, 32})});
  const Reasons kept{{"lm_head.weight", "kind head"},
                     {"layers.0.mlp.gate.weight", "kind router"},
                     {"layers.0.mlp.up_proj.weight", ""}};
  CHECK(reasons(model.quantized({"--include", ".*"})) == kept);
  CHECK(reasons(model.quantized({"--include", "weight$"})) == kept);
  Reasons asked = kept;
  asked["lm_head.weight"] = "";
  for (const char* name :
       {"lm_head", "lm_head.weight", "^lm_head\\.weight$", "^lm_head[.]weight$"}) {
    INFO(name);
    CHECK(reasons(model.quantized({"--include", ".*", "--include", name})) == asked);
  }
  CHECK(reasons(model.quantized({"--quantize-kind", "head"})) == asked);
  asked["layers.0.mlp.gate.weight"] = "";
  CHECK(reasons(model.quantized({"--quantize-kind", "head", "--quantize-kind", "router"})) ==
        asked);
  CHECK(reasons(model.quantized({"--all"})) == asked);
  CHECK(has(fail(2, {"quantize", model.in(), model.out(), "--quantize-kind", "haed"}), "haed"));
  // Configurations and measurements follow the same rule.
  const std::string config = model.folder()("tq.json"), chosen = model.folder()("c.json");
  std::ofstream(config) << R"({"version": 1})";
  const Reasons by_config = reasons(model.quantized({"--config", config, "--include", ".*"}));
  CHECK(by_config.at("lm_head.weight") == "float_kinds: kind head");
  CHECK(reasons(model.quantized({"--config", config, "--quantize-kind", "head"}))
            .at("lm_head.weight")
            .empty());
  const auto measured = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"sweep", model.in(), "--types", "int8", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return Json::parse(succeed(arguments))["total"]["tensors"].get<int>();
  };
  CHECK(measured({"--include", ".*"}) == 1);
  CHECK(measured({"--include", ".*", "--include", "lm_head"}) == 2);
  CHECK(measured({"--quantize-kind", "router"}) == 2);
}

TEST_CASE(
    "an --exclude that matches nothing is refused; rules for kinds that are not there are said") {
  Model model("unmatched");
  model.write({tensor("model.vision_tower.blocks.0.mlp.fc1.weight", {8, 32})});
  for (const char* pattern :
       {"vison_tower", "VISION_TOWER", "^vision_tower", "vision_tower/blocks"})
    for (const char* command : {"quantize", "select", "sweep"}) {
      std::vector<std::string> arguments{command, model.in()};
      if (arguments[0] == "quantize") arguments.push_back(model.out());
      if (arguments[0] == "select")
        arguments.insert(arguments.end(), {"--max-bits", "9", "-o", model.folder()("c.json")});
      arguments.insert(arguments.end(), {"--exclude", pattern});
      CHECK(has(fail(1, arguments),
                std::string("--exclude \"") + pattern + "\" matches none of the 1 tensors"));
    }
  for (const char* option : {"--include", "--exclude"})
    CHECK(has(fail(2, {"quantize", model.in(), model.out(), option, ""}),
              "expected a regular expression"));
  CHECK_FALSE(fs::exists(model.out()));
  const std::string config = model.folder()("tq.json");
  std::ofstream(config) << R"({"version": 1, "skip": [{"kind": "embedding"}],
    "nodes": [{"kind": "linear", "scheme": "int8"}, {"kind": "head", "scheme": "int8"}]})";
  const std::string text = succeed({"quantize", model.in(), model.out(), "--config", config});
  CHECK(has(text, "skip[0]: none of the 1 tensors is of kind embedding"));
  CHECK(has(text, "nodes[1]: none of the 1 tensors is of kind head"));
  CHECK_FALSE(has(text, "nodes[0]: none"));
}
