// SPDX-License-Identifier: MIT
// tq quantize --config: which tensors become what, and what is refused.
#include "tool_test.hpp"

#include <map>
#include <utility>

using namespace tool_test;

namespace {

void write_model(const std::string& path) {
  tq::io::write_safetensors(
      path, std::vector<Tensor>{tensor("layers.0.self_attn.q_proj.weight", {8, 64}),
                                tensor("layers.0.mlp.up_proj.weight", {8, 64}),
                                tensor("layers.1.mlp.up_proj.weight", {8, 64}),
                                tensor("layers.0.input_layernorm.weight", {8}),
                                tensor("mixer.proj.weight", {4, 8}),
                                tensor("embed_tokens.weight", {16, 8}), tensor("scale", {16}),
                                tensor("lm_head.weight", {16, 8})});
}

// By tensor: its scheme in words of the table, or why it is copied.
std::map<std::string, std::string> schemes(const Json& report) {
  std::map<std::string, std::string> out;
  for (const Json& t : report["tensors"])
    out[t["name"]] = t["quantized"] == true ? t["spec"]["type"].get<std::string>() + " " +
                                                  t["spec"]["granularity"].get<std::string>()
                                            : t["reason"].get<std::string>();
  return out;
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("each tensor gets the scheme that the configuration decides on") {
  const Folder folder("config");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    config = folder("c.json");
  write_model(in);
  write(
      config,
      R"({"version": 1, "default": "int8", "skip": [{"name": "lm_head.weight"}, {"kind": "embedding"}],
    "nodes": [{"kind": "attention", "scheme": "mxfp4"}, {"pattern": "*.mlp.*", "scheme": "int4_g32"},
              {"name": "layers.1.mlp.up_proj.weight", "scheme": "float", "reason": "measured"},
              {"name": "scale", "scheme": "fp8_e4m3"}]})");
  const Json report = Json::parse(succeed({"quantize", in, out, "--config", config, "--json"}));
  CHECK(report["config"] == config);
  CHECK(report["spec"].is_null());
  CHECK(schemes(report) == std::map<std::string, std::string>{
                               {"layers.0.self_attn.q_proj.weight", "float4_e2m1fn per_group"},
                               {"layers.0.mlp.up_proj.weight", "int4 per_group"},
                               {"layers.1.mlp.up_proj.weight",
                                "nodes[2]: name layers.1.mlp.up_proj.weight (measured)"},
                               {"layers.0.input_layernorm.weight", "float_kinds: kind norm"},
                               {"mixer.proj.weight", "int8 per_channel"},
                               {"embed_tokens.weight", "skip[1]: kind embedding"},
                               {"scale", "float8_e4m3fn per_tensor"},
                               {"lm_head.weight", "skip[0]: name lm_head.weight"}});
  for (const Json& t : report["tensors"])
    if (t["name"] == "layers.0.self_attn.q_proj.weight")
      CHECK(t["decided_by"] == "nodes[0]: kind attention");
  // The file says the same, and each tensor is the one that its scheme alone makes.
  for (const auto& [name, type] : {std::pair("layers.0.mlp.up_proj.weight", "int4_g32"),
                                   std::pair("layers.0.self_attn.q_proj.weight", "mxfp4"),
                                   std::pair("mixer.proj.weight", "int8")}) {
    const std::string alone = folder("alone.safetensors");
    succeed({"quantize", in, alone, "--type", type});
    for (const char* part : {".codes", ".scales"}) {
      const auto both = {tq::io::SafetensorsReader::open(out).read(std::string(name) + part),
                         tq::io::SafetensorsReader::open(alone).read(std::string(name) + part)};
      CHECK(both.begin()->bytes == (both.begin() + 1)->bytes);
    }
  }
  const std::string table = succeed({"quantize", in, out, "--config", config});
  CHECK(has(table, "copied (skip[1]: kind embedding)"));
  CHECK(has(table, "4 of 8 tensors quantized"));
  succeed({"dequantize", out, folder("back.safetensors")});
}

TEST_CASE("heads, routers and positions stay in float unless they are asked for") {
  const Folder folder("float_kinds");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    config = folder("c.json");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("wpe.weight", {16, 32}),
                                                    tensor("h.0.mlp.gate.weight", {4, 32}),
                                                    tensor("h.0.mlp.up_proj.weight", {8, 32}),
                                                    tensor("lm_head.weight", {16, 32})});
  using Map = std::map<std::string, std::string>;
  const auto quantized = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"quantize", in, out, "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return schemes(Json::parse(succeed(arguments)));
  };
  const std::string int8 = "int8 per_channel", int4 = "int4 per_group";
  const Map floats{{"wpe.weight", "kind position"},
                   {"h.0.mlp.gate.weight", "kind router"},
                   {"h.0.mlp.up_proj.weight", int8},
                   {"lm_head.weight", "kind head"}};
  const Map all{{"wpe.weight", int8},
                {"h.0.mlp.gate.weight", int8},
                {"h.0.mlp.up_proj.weight", int8},
                {"lm_head.weight", int8}};
  CHECK(quantized({}) == floats);
  CHECK(has(succeed({"quantize", in, out}), "copied (kind router)"));
  CHECK(quantized({"--all"}) == all);
  Map head{{"wpe.weight", "not included"},
           {"h.0.mlp.gate.weight", "not included"},
           {"h.0.mlp.up_proj.weight", "not included"},
           {"lm_head.weight", int8}};
  CHECK(quantized({"--include", "lm_head"}) == head);

  write(config, R"({"version": 1})");
  CHECK(quantized({"--config", config}) == Map{{"wpe.weight", "float_kinds: kind position"},
                                               {"h.0.mlp.gate.weight", "float_kinds: kind router"},
                                               {"h.0.mlp.up_proj.weight", int8},
                                               {"lm_head.weight", "float_kinds: kind head"}});
  CHECK(quantized({"--config", config, "--all"}) == all);
  CHECK(quantized({"--config", config, "--include", "lm_head"}) == head);
  write(config, R"({"version": 1, "float_kinds": []})");
  CHECK(quantized({"--config", config}) == all);
  write(config, R"({"version": 1, "nodes": [{"name": "lm_head.weight", "scheme": "int4_g32"},
    {"kind": "router", "scheme": "int8"}, {"pattern": "wp*", "scheme": "int8"}]})");
  Map named = all;
  named["lm_head.weight"] = int4;
  CHECK(quantized({"--config", config}) == named);

  // `select` measures the same tensors, and the report finds the reason.
  const std::string chosen = folder("chosen.json"), page = folder("page.html");
  const Json selection =
      Json::parse(succeed({"select", in, "--max-bits", "9", "-o", chosen, "--json"}));
  CHECK(selection["tensors"].size() == 1);
  Map skipped;
  for (const Json& t : selection["skipped"]) skipped[t["name"]] = t["reason"];
  CHECK(skipped == Map{{"wpe.weight", "kind position"},
                       {"h.0.mlp.gate.weight", "kind router"},
                       {"lm_head.weight", "kind head"}});
  CHECK(Json::parse(succeed({"select", in, "--max-bits", "9", "-o", chosen, "--json", "--include",
                             "head|up", "--quantize-kind", "head"}))["tensors"]
            .size() == 2);
  CHECK(has(quantized({"--config", chosen})["wpe.weight"], ": name wpe.weight"));
  succeed({"quantize", in, out});
  const Json report = Json::parse(succeed({"report", in, out, "-o", page, "--json"}));
  for (const Json& t : report["tensors"])
    if (t["name"] == "lm_head.weight") CHECK(t["reason"] == "kind head");
}

TEST_CASE("--exclude, --all and --config go together, scheme options do not go with --config") {
  const Folder folder("config_options");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    config = folder("c.json");
  write_model(in);
  write(config, R"({"version": 1})");
  const Json report = Json::parse(
      succeed({"quantize", in, out, "--config", config, "--json", "--all", "--exclude", "mlp"}));
  CHECK(schemes(report)["layers.0.mlp.up_proj.weight"] == "excluded");
  CHECK(schemes(report)["scale"] == "int8 per_channel");
  fs::remove(out);
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--type", "int8"},
                                             {"--granularity", "per_tensor"},
                                             {"--group-size", "32"},
                                             {"--symmetry", "symmetric"},
                                             {"--scale-type", "float16"},
                                             {"--numerics", "onnx"},
                                             {"--calibrator", "min_max"}}) {
    std::vector<std::string> arguments{"quantize", in, out, "--config", config};
    arguments.insert(arguments.end(), options.begin(), options.end());
    CHECK(has(fail(2, arguments), options[0] + ": expected none beside --config"));
  }
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("a bad configuration is named with the place of the fault, and nothing is written") {
  const Folder folder("config_bad");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    config = folder("c.json");
  write_model(in);
  const auto refused = [&](const std::string& text) {
    write(config, text);
    const std::string message = fail(1, {"quantize", in, out, "--config", config});
    CHECK_FALSE(fs::exists(out));
    return message;
  };
  CHECK(
      has(refused(R"({"version": 1, "nodes": [{"name": "lm_head.weight", "scheme": {"type": "int4",
              "granularity": "per_group", "group_size": 0, "symmetry": "symmetric"}}]})"),
          config + ": nodes[0].scheme.group_size: expected an integer in [1"));
  CHECK(has(refused(R"({"version": 1, "skip": [{"pattern": "decoder.*"}]})"),
            config + ": skip[0].pattern: expected a pattern that matches one of the 8 nodes, got "
                     "\"decoder.*\""));
  CHECK(has(refused(R"({"version": 1, "skip": [{"name": "lm_head"}]})"),
            "did you mean \"lm_head.weight\""));
  CHECK(has(refused(R"({"version": 1, "defualt": "int8"})"), config + ": defualt: "));
  CHECK(has(refused("{"), config + ": expected a JSON document"));
  CHECK(has(fail(1, {"quantize", in, out, "--config", folder("none.json")}), "No such file"));
  // A scheme that does not fit the tensor it is meant for.
  CHECK(has(refused(R"({"version": 1, "nodes": [{"name": "scale", "scheme": {"type": "int4",
              "granularity": "per_channel", "axis": 1, "symmetry": "symmetric"}}]})"),
            "\"scale\""));
}
