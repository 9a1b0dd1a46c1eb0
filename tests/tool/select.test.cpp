// SPDX-License-Identifier: MIT
// tq select and tq sensitivity: what they measure, choose, write and refuse.
#include "tool_test.hpp"

#include <tq/containers/npz_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

using namespace tool_test;

namespace {

const std::string few_types = "int8,int4_g32,uint4_g32,int6,uint2_g32";

// Three matrices of different size and spread, and what nobody quantizes.
std::string small_model(const Folder& folder) {
  std::vector<float> spiky = noise(64 * 96, 2);
  for (std::size_t i = 0; i < spiky.size(); i += 97) spiky[i] *= 40;
  const std::vector<Tensor> tensors{
      tensor("even", {32, 64}), tq::io::from_float32("spiky", {64, 96}, spiky),
      tensor("half", {16, 33}, DType::f16, 3), tensor("bias", {32}, DType::f32, 4)};
  const std::string path = folder("m.safetensors");
  tq::io::write_safetensors(path, tensors);
  return path;
}

Json selected(const Folder& folder, std::vector<std::string> options) {
  options.insert(options.begin(), {"select", folder("m.safetensors"), "--json", "-o",
                                   folder("config.json"), "--types", few_types});
  return Json::parse(succeed(options));
}

Json config_of(const Folder& folder) { return Json::parse(content(folder("config.json"))); }

// The bytes of the data of a file after every node got its scheme by tq quantize.
std::uint64_t quantized_bytes(const Folder& folder, const Json& config) {
  std::map<std::string, std::uint64_t> bytes;
  const auto add = [&](const std::string& name, const std::string& scheme) {
    const bool stays = scheme == "float";
    const Json report =
        Json::parse(succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--json",
                             "--type", stays ? "int8" : scheme, "--include", "^" + name + "$"}));
    for (const Json& t : report["tensors"])
      if (t["name"] == name) bytes[name] = t[stays ? "bytes_before" : "bytes_after"];
  };
  for (const Json& node : config["nodes"]) add(node["name"], node["scheme"]);
  for (const Json& node : config["skip"]) add(node["name"], "float");
  std::uint64_t sum = 0;
  for (const auto& [name, b] : bytes) sum += b;
  return sum;
}

std::string refused(const Folder& folder, std::vector<std::string> options) {
  options.insert(options.begin(), {"select", folder("m.safetensors")});
  const std::string text = fail(2, options);
  CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
  return text;
}

}  // namespace

TEST_CASE("sensitivity lists every tensor in every scheme, the worst first") {
  const Folder folder("sensitivity");
  const std::string in = small_model(folder);
  const Json report =
      Json::parse(succeed({"sensitivity", in, "--json", "--types", "int8,uint2_g32,float16"}));
  CHECK(report["rows"].size() == 9);
  CHECK(report["cannot"].empty());
  double before = std::numeric_limits<double>::infinity();
  for (const Json& row : report["rows"]) {
    CHECK(row["error"] <= before);
    before = row["error"];
    if (row["scheme"] == "float16" && row["name"] == "half") CHECK(row["error"] == 0.0);
    if (row["scheme"] != "int8") continue;
    const Json quantized =
        Json::parse(succeed({"quantize", in, folder("q.safetensors"), "--json", "--type", "int8"}));
    for (const Json& t : quantized["tensors"]) {
      if (t["name"] != row["name"]) continue;
      CHECK(t["bytes_after"] == row["bytes"]);
      const double db = t["error"]["sqnr_db"], error = row["error"];
      CHECK(std::abs(db + 10 * std::log10(error)) < 1e-9);
    }
  }
  const std::string table = succeed({"sensitivity", in, "--types", "int8,uint2_g32"});
  CHECK(has(table, "3 tensors, the largest error first"));
  CHECK(table.find("uint2_g32") < table.find("int8"));
}

TEST_CASE("select never takes more than its budget, and more budget is never worse") {
  const Folder folder("budget");
  (void)small_model(folder);
  double before = std::numeric_limits<double>::infinity();
  for (const std::string bits : {"3.4", "4.5", "5", "6.1", "8", "12", "40"}) {
    const Json total = selected(folder, {"--max-bits", bits})["total"];
    CHECK(total["bits_per_weight"] <= std::stod(bits));
    CHECK(total["optimal"] == true);
    CHECK(total["error"] <= before);
    before = total["error"];
    CHECK(quantized_bytes(folder, config_of(folder)) == total["bytes"]);
  }
  CHECK(before == 0);
  for (const std::string bytes : {"4000", "6000", "9999"}) {
    const Json total = selected(folder, {"--max-bytes", bytes})["total"];
    CHECK(total["bytes"] <= std::stoull(bytes));
    CHECK(quantized_bytes(folder, config_of(folder)) == total["bytes"]);
  }
}

TEST_CASE("select writes a configuration that says why") {
  const Folder folder("configuration");
  (void)small_model(folder);
  const Json report = selected(folder, {"--max-bits", "5"});
  const Json config = config_of(folder);
  CHECK(config["version"] == 1);
  CHECK(config["mode"] == "static");
  CHECK(config["default"] == "int8");
  CHECK(config["nodes"].size() == 3);
  CHECK(config["skip"] == Json::parse(R"([{"name": "bias"}])"));
  std::map<std::string, Json> nodes;
  for (const Json& node : config["nodes"]) nodes[node["name"]] = node;
  for (const Json& t : report["tensors"]) {
    CHECK(nodes[t["name"]]["scheme"] == t["scheme"]);
    CHECK(nodes[t["name"]]["reason"] == t["reason"]);
    CHECK(has(t["reason"], " bits, error "));
    CHECK(t["confidence"] >= 0.0);
    CHECK(t["confidence"] <= 1.0);
    CHECK(t["evidence"] == "measured");
  }
  CHECK(report["skipped"] == Json::parse(R"([{"name": "bias", "reason": "1-D"}])"));
  // A type is no named scheme: its fields are written.
  succeed({"select", folder("m.safetensors"), "-o", folder("config.json"), "--types", "uint4",
           "--max-bits", "6"});
  bool is_object = false;
  const Json other = config_of(folder);
  for (const Json& node : other["nodes"])
    if (node["scheme"].is_object()) is_object = node["scheme"]["type"] == "uint4";
  CHECK(is_object);
}

TEST_CASE("select takes the fewest bytes for an accuracy, and goals") {
  const Folder folder("accuracy");
  (void)small_model(folder);
  std::uint64_t before = 0;
  for (const std::string db : {"10", "20", "30", "40", "300"}) {
    const Json total = selected(folder, {"--min-sqnr", db})["total"];
    if (total["sqnr_db"].is_null()) CHECK(total["nonfinite"]["sqnr_db"] == "inf");
    else CHECK(total["sqnr_db"] >= std::stod(db));
    CHECK(total["selected_bytes"] >= before);
    before = total["selected_bytes"];
  }
  CHECK(before == 32 * 64 * 4 + 64 * 96 * 4 + 16 * 33 * 2);  // all as they are
  CHECK(selected(folder, {"--goal", "accuracy"})["total"]["error"] == 0.0);
  const Json fewest = selected(folder, {"--max-bits", "3.4"});
  const Json balanced = selected(folder, {"--goal", "balanced"});
  CHECK(balanced["total"]["bytes"] > fewest["total"]["bytes"]);
  CHECK(balanced["total"]["selected_bytes"] < before);
  CHECK(has(succeed({"select", folder("m.safetensors"), "-o", folder("config.json"), "--types",
                     few_types, "--max-bits", "5"}),
            "Proven: nothing within the limits is better."));
}

TEST_CASE("select reads the times of a profile, of this machine only") {
  const Folder folder("profile");
  const std::string in = small_model(folder), path = folder("p.json");
  succeed({"sensitivity", in, "--types", "int8,int4_g32", "--profile", path});
  Json profile = Json::parse(content(path));
  CHECK(profile["times"].size() == 9);  // float as well
  CHECK(profile["rows"] == 1);
  const std::map<std::string, std::string> works{
      {"float", "float_product"}, {"int8", "int8_product"}, {"int4_g32", "grouped_int8_product"}};
  for (const Json& t : profile["times"]) CHECK(t["work"] == works.at(t["scheme"]));
  // Made up: float takes 4 s, int8 1 s, int4_g32 2 s.
  const std::map<std::string, double> seconds{{"float", 4}, {"int8", 1}, {"int4_g32", 2}};
  for (Json& t : profile["times"]) t["seconds"] = seconds.at(t["scheme"]);
  const auto select = [&](const std::vector<std::string>& options) {
    std::ofstream(path) << profile.dump();
    std::vector<std::string> all{
        "select",        in,          "--json", "-o", folder("c.json"), "--types",
        "int8,int4_g32", "--profile", path};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  };
  const Json fast = Json::parse(succeed(select({"--goal", "performance"})));
  for (const Json& t : fast["tensors"]) {
    CHECK(t["scheme"] == "int8");
    CHECK(t["work"] == "int8_product");
  }
  CHECK(fast["total"]["speedup"] == 4.0);
  const Json both = Json::parse(succeed(select({"--min-speedup", "2", "--max-bits", "8.5"})));
  CHECK(both["total"]["seconds"] <= 6.0);
  CHECK(has(fail(1, select({"--min-speedup", "5"})), "where the least is 3"));
  CHECK(has(fail(1, select({"--min-speedup", "2", "--rows", "8"})),
            "expected times of --rows 8, got those of 1"));
  profile["times"].erase(0);
  CHECK(has(fail(1, select({"--min-speedup", "2"})), "expected a time of shape"));
  profile["machine"] = "another";
  CHECK(has(fail(1, select({"--min-speedup", "2"})), "expected times of this machine"));
  profile["version"] = 1;
  CHECK(has(fail(1, select({"--min-speedup", "2"})), "version"));
}

TEST_CASE("times are of products here, of the rows asked for, and what has none is decoded") {
  const Folder folder("products");
  const std::vector<Tensor> tensors{tensor("q_proj.weight", {32, 64}),
                                    tensor("embed.weight", {32, 64}),
                                    tensor("embed_tokens.weight", {32, 64})};
  tq::io::write_safetensors(folder("m.safetensors"), tensors);
  const auto command = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all{
        name, folder("m.safetensors"), "--json", "--types", "int8,nf4,mxfp6_e2m3", "--rows", "16"};
    all.insert(all.end(), more.begin(), more.end());
    return Json::parse(succeed(all));
  };
  const std::map<std::string, std::string> works{{"int8", "int8_product"},
                                                 {"nf4", "grouped_float_product"},
                                                 {"mxfp6_e2m3", "decoded_product"}};
  for (const Json& row : command("sensitivity", {"--profile", folder("p.json")})["rows"]) {
    const bool is_table = row["name"] == "embed_tokens.weight";
    CHECK(row["work"] == (is_table ? "lookup" : works.at(row["scheme"])));
    CHECK(row["seconds"] > 0.0);
  }
  const Json profile = Json::parse(content(folder("p.json")));
  CHECK(profile["rows"] == 16);
  CHECK(profile["times"].size() == 8);  // of one shape, in four schemes, multiplied or looked up
  // Whatever this machine's times are, the choice keeps within them.
  const Json chosen =
      command("select", {"-o", folder("c.json"), "--min-speedup", "0.001"})["total"];
  CHECK(chosen["speedup"] >= 0.001);
  command("select",
          {"-o", folder("c.json"), "--goal", "performance", "--profile", folder("p.json")});
  CHECK(has(fail(2, {"select", folder("m.safetensors"), "-o", folder("c.json"), "--goal",
                     "performance", "--rows", "0"}),
            "--rows"));
}

TEST_CASE("select refuses what makes no sense before it writes anything") {
  const Folder folder("refused");
  (void)small_model(folder);
  const std::string out = folder("c.json");
  CHECK(has(refused(folder, {"--max-bits", "4"}), "output"));
  CHECK(has(refused(folder, {"-o", out}), "expected --max-bits"));
  CHECK(has(refused(folder, {"-o", folder("c.txt"), "--max-bits", "4"}), ".json"));
  CHECK(has(refused(folder, {"-o", out, "--max-bits", "0"}), "above 0"));
  CHECK(has(refused(folder, {"-o", out, "--max-bits", "nan"}), "above 0"));
  CHECK(has(refused(folder, {"-o", out, "--min-sqnr", "inf"}), "finite"));
  CHECK(has(refused(folder, {"-o", out, "--max-bytes", "-4"}), "max-bytes"));
  CHECK(has(refused(folder, {"-o", out, "--min-speedup", "-1"}), "above 0"));
  CHECK(has(refused(folder, {"-o", out, "--goal", "balance"}), "did you mean \"balanced\"?"));
  CHECK(has(refused(folder, {"-o", out, "--max-bits", "4", "--types", "int4,fp8"}), "--types"));
  CHECK(has(refused(folder, {"-o", out, "--max-bits", "4", "--types", "int4,int4"}), "twice"));
  // The least there is: 8704 int4 codes in rows of 64, 96 and 33, one float32 scale a row.
  const std::vector<std::string> int4{"-o", out, "--types", "int4"};
  const std::uint64_t least = (32 * 64 + 64 * 96 + 16 * 33) / 2 + 4 * (32 + 64 + 16), bias = 128;
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> options = int4;
    options.insert(options.end(), {option, value});
    return options;
  };
  CHECK(
      has(refused(folder, with("--max-bytes", std::to_string(least + bias - 1))),
          "expected at least " + std::to_string(least + bias) + " for these types, of which 128"));
  CHECK(has(refused(folder, with("--max-bits", "4.1")), "--max-bits: expected at least 4.4"));
  std::vector<std::string> reachable = with("--max-bytes", std::to_string(least + bias));
  reachable.insert(reachable.begin(), {"select", folder("m.safetensors")});
  succeed(reachable);
  CHECK(has(fail(1, {"sensitivity", folder("none.safetensors")}), "none.safetensors"));
  CHECK(has(fail(1, {"sensitivity", folder("m.safetensors"), "--include", "nobody"}), "nobody"));
  CHECK(has(fail(1, {"sensitivity", folder("m.safetensors"), "--include", "bias"}), "--all"));
}

TEST_CASE("values that are not finite are refused unless asked for") {
  const Folder folder("nonfinite_select");
  std::vector<float> x = noise(64);
  x[3] = std::nanf("");
  tq::io::write_safetensors(folder("m.safetensors"),
                            std::vector<Tensor>{tq::io::from_float32("w", {2, 32}, x)});
  const std::vector<std::string> command{
      "select", folder("m.safetensors"), "-o", folder("c.json"), "--max-bits", "8", "--types",
      "int4"};
  CHECK(has(fail(1, command), "--allow-nonfinite"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
  std::vector<std::string> allowed = command;
  allowed.emplace_back("--allow-nonfinite");
  succeed(allowed);
}

TEST_CASE("select chooses by the outputs of layers with Hessians, and gives these gptq") {
  const Folder folder("outputs");
  constexpr std::size_t inputs = 48, outputs = 24;
  const std::vector<float> w = noise(outputs * inputs, 1);
  tq::io::write_safetensors(
      folder("m.safetensors"),
      std::vector<Tensor>{tq::io::from_float32("even.weight", {outputs, inputs}, w),
                          tq::io::from_float32("bound.weight", {outputs, inputs}, w),
                          tq::io::from_float32("alone", {outputs, inputs}, w)});
  // The inputs of `bound` are nearly one number each token.
  std::vector<float> even = noise(200 * inputs, 2), bound = noise(200 * inputs, 3);
  for (std::size_t i = 0; i < bound.size(); ++i)
    bound[i] = 0.05f * bound[i] + bound[i / inputs * inputs];
  fs::create_directories(folder("acts"));
  tq::io::write_npz(folder("acts/1.npz"),
                    std::vector<Tensor>{tq::io::from_float32("even", {200, inputs}, even),
                                        tq::io::from_float32("bound", {200, inputs}, bound)});
  succeed({"hessian", folder("acts"), "-o", folder("h.npz")});
  const std::string hessian = folder("h.npz");
  const Json plain = selected(folder, {"--max-bits", "5"});
  CHECK_FALSE(plain.contains("without_hessian"));
  const Json report = selected(folder, {"--max-bits", "5", "--hessian", hessian});
  CHECK(report["without_hessian"] == Json{"alone"});
  const auto error = [](const Json& from, const std::string& name) {
    for (const Json& t : from["tensors"])
      if (t["name"] == name) return t["error"].get<double>();
    return -1.0;
  };
  // The same scheme, in weights that are the same.
  const Json one =
      Json::parse(succeed({"select", folder("m.safetensors"), "-o", folder("one.json"), "--json",
                           "--types", "int8", "--max-bits", "9", "--hessian", hessian}));
  CHECK(error(one, "bound.weight") < 0.5 * error(one, "alone"));
  CHECK(std::abs(error(one, "even.weight") / error(one, "alone") - 1) < 0.5);

  succeed({"select", folder("m.safetensors"), "-o", folder("config.json"), "--types",
           "ternary,float16,int4_g32", "--max-bits", "5", "--hessian", hessian});
  const Json config = config_of(folder);
  for (const Json& node : config["nodes"]) {
    const std::string name = node["name"], scheme = node["scheme"];
    if (scheme == "float") continue;
    if (name == "alone") CHECK_FALSE(node.contains("algorithm"));
    else if (scheme == "int4_g32") CHECK(node["algorithm"] == "gptq");
    else CHECK(node["algorithm"] == Json{{"name", "gptq"}, {"scales", "min_max"}});
  }
  const Json quantized =
      Json::parse(succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--config",
                           folder("config.json"), "--hessian", hessian, "--json"}));
  CHECK(quantized["total"]["algorithm"]["weights"].get<int>() >= 1);
  CHECK(has(succeed({"select", folder("m.safetensors"), "-o", folder("again.json"), "--types",
                     "int4_g32", "--max-bits", "6", "--hessian", hessian}),
            "2 tensors with the expected error of their outputs, 1 without a Hessian"));

  const auto select = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"select", folder("m.safetensors"), "-o", folder("x.json"),
                               "--max-bits", "6", "--types", "int4_g32"});
    return more;
  };
  CHECK(has(fail(2, select({"--hessian", hessian, "--allow-nonfinite"})),
            "--allow-nonfinite: expected none beside --hessian"));
  CHECK(has(fail(2, select({"--allow-few-tokens"})), "--hessian"));
  CHECK(has(fail(1, select({"--hessian", hessian, "--include", "alone"})),
            "expected the Hessian of a matrix to choose for"));
  CHECK(has(fail(1, select({"--hessian", folder("none.npz")})), "none.npz"));
  tq::io::write_npz(folder("few.npz"), std::vector<Tensor>{tq::io::from_float32(
                                           "even", {5, inputs},
                                           std::vector<float>(even.begin(), even.begin() + 240))});
  succeed({"hessian", folder("few.npz"), "-o", folder("f.npz")});
  const std::string few = fail(1, select({"--hessian", folder("f.npz")}));
  CHECK(has(few, "--allow-few-tokens takes them"));
  CHECK(few.find("tensor \"") != few.npos);
  CHECK(few.find("tensor \"") == few.rfind("tensor \""));  // once
  succeed(select({"--hessian", folder("f.npz"), "--allow-few-tokens"}));
}
