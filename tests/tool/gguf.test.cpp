// SPDX-License-Identifier: MIT
// tq quantize IN OUT.gguf.
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/containers/safetensors.hpp>

#include "gguf_test.hpp"

#include <algorithm>
#include <cmath>
#include <map>

using namespace tool_test;

namespace {

// A GGUF file with a weight of whole blocks, an output and a norm.
void write_gguf(const std::string& path) {
  using tq::layouts::gguf::Type;
  const std::vector<tq::io::GgufEntry> entries{{"general.architecture", std::string("llama")},
                                               {"mine", std::int8_t{-3}}};
  const std::vector<tq::io::GgufTensorDecl> tensors{{"blk.0.ffn_up.weight", Type::f32, {4, 256}},
                                                    {"blk.0.ffn_norm.weight", Type::f32, {256}},
                                                    {"output.weight", Type::f32, {4, 256}}};
  write_noise_gguf(path, tensors, entries);
}

// The entry of that name.
const Json& named(const Json& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Json& entry) { return entry["name"] == name; });
  REQUIRE(found != list.end());
  return *found;
}

}  // namespace

TEST_CASE("a GGUF file is written, described and replaced") {
  const Folder folder("gguf");
  write_gguf(folder("x.gguf"));
  const std::string out =
      succeed({"quantize", folder("x.gguf"), folder("y.gguf"), "--type", "Q4_K"});
  CHECK(has(out, "3 tensors in Q4_K (1 f32, 1 q4_K, 1 q6_K)"));
  CHECK(has(out, "note: the file has no tokenizer"));
  const std::string best = content(folder("y.gguf"));
  const Json json = Json::parse(succeed({"quantize", folder("x.gguf"), folder("y.gguf"), "--type",
                                         "q4_k", "--method", "ggml", "--json", "--jobs", "2"}));
  CHECK(json["method"] == "ggml");
  CHECK(json["total"]["bytes_after"] == 4 * 144 + 256 * 4 + 4 * 210);
  CHECK(json["tensors"][2]["type"] == "q6_K");
  CHECK(content(folder("y.gguf")) != best);
  const auto file = tq::io::GgufReader::open(folder("y.gguf"));
  CHECK(file.entries()[1].value == tq::io::GgufValue(std::int8_t{-3}));
  CHECK(has(succeed({"inspect", folder("y.gguf")}), "q6_K"));
  succeed({"dequantize", folder("y.gguf"), folder("z.safetensors")});
  CHECK(succeed({"quantize", folder("x.gguf"), folder("q.gguf"), "--quiet"}).empty());
}

TEST_CASE("a GGUF file is written in parts") {
  const Folder folder("gguf_parts");
  write_gguf(folder("x.gguf"));
  const std::string first = folder("y-00001-of-00002.gguf");
  // 4 * 144 and 1024 bytes in the first part, 4 * 210 in the second.
  const std::string out = succeed(
      {"quantize", folder("x.gguf"), folder("y.gguf"), "--type", "q4_k", "--shard-size", "2K"});
  CHECK(has(out, "3 tensors in q4_k"));
  CHECK(folder.files() ==
        std::set<std::string>{"x.gguf", "y-00001-of-00002.gguf", "y-00002-of-00002.gguf"});
  CHECK(tq::io::GgufReader::open(first).tensors().size() == 2);
  CHECK(Json::parse(succeed({"inspect", first, "--json"}))["tensors"].size() == 3);
  const Json json = Json::parse(succeed({"quantize", folder("x.gguf"), folder("z.gguf"), "--type",
                                         "q4_k", "--shard-size", "1000", "--json", "--jobs", "3"}));
  CHECK(json["shards"] == Json{{"all", 3}, {"finished_before", 0}});
  CHECK(has(fail(1, {"quantize", folder("x.gguf"), folder("y.gguf"), "--shard-size", "2K", "--type",
                     "q4_k"}),
            "expected a free place for the output, got a file; --overwrite replaces it"));
  CHECK(has(fail(1, {"quantize", folder("x.gguf"), first}),
            "got a part of a model in several files; --overwrite replaces it"));
  succeed({"quantize", folder("x.gguf"), folder("y.gguf"), "--type", "q4_k", "--shard-size", "2K",
           "--overwrite"});
  CHECK(has(fail(2, {"quantize", folder("x.gguf"), folder("q.safetensors"), "--shard-size", "2K"}),
            "--shard-size: expected an OUT that ends in .gguf beside it"));
  CHECK(has(fail(2, {"quantize", folder("x.gguf"), folder("q.gguf"), "--shard-size", "0"}),
            "--shard-size"));
  CHECK(has(fail(2, {"quantize", first, folder("y.gguf"), "--requantize", "--shard-size", "2K",
                     "--type", "q4_k"}),
            "expected another file than"));
}

TEST_CASE("a GGUF file without blocks becomes a file of floats") {
  const Folder folder("gguf_floats");
  write_gguf(folder("x.gguf"));
  succeed({"quantize", folder("x.gguf"), folder("h.gguf"), "--type", "f16"});
  const Json json =
      Json::parse(succeed({"dequantize", folder("h.gguf"), folder("h.safetensors"), "--json"}));
  CHECK(json["total"]["tensors"] == 3);
  CHECK(json["total"]["dequantized"] == 0);
  const auto gguf = tq::io::GgufReader::open(folder("h.gguf"));
  const auto file = tq::io::SafetensorsReader::open(folder("h.safetensors"));
  CHECK(file.info("blk.0.ffn_up.weight").dtype == DType::f16);
  for (const auto& t : gguf.tensors()) CHECK(file.read(t.name).bytes == gguf.read_bytes(t.name));
}

TEST_CASE("options that do not go with a GGUF file are refused") {
  const Folder folder("gguf_options");
  write_gguf(folder("x.gguf"));
  const auto refused = [&](std::vector<std::string> options, const std::string& text) {
    options.insert(options.begin(), {"quantize", folder("x.gguf"), folder("y.gguf")});
    CHECK(has(fail(2, options), text));
  };
  refused({"--type", "int4"}, "--type: tq::gguf_mix: expected one of");
  refused({"--group-size", "32"}, "--group-size: expected none for a GGUF file");
  refused({"--symmetry", "symmetric"}, "--symmetry: expected none for a GGUF file");
  refused({"--granularity", "per_channel"}, "expected none for a GGUF file");
  refused({"--numerics", "onnx"}, "beside --format or a GGUF file");
  refused({"--all"}, "--all: expected none");
  refused({"--allow-nonfinite"}, "--allow-nonfinite: expected none");
  refused({"--for", "vllm"}, "expected a folder beside --format or --for");
  refused({"--mapping", "m.json"}, "--mapping: expected none for a GGUF file");
  CHECK(has(fail(2, {"quantize", folder("x.gguf"), folder("y.safetensors"), "--imatrix", "i"}),
            "--imatrix: expected an OUT that ends in .gguf"));
  CHECK(
      has(fail(1, {"quantize", golden("conformance/gguf/files/all_quant.gguf"), folder("y.gguf")}),
          "--requantize quantizes it anew"));
  CHECK(folder.files() == std::set<std::string>{"x.gguf"});
}

TEST_CASE("sweep and sensitivity measure types of GGUF files as quantize writes them") {
  const Folder folder("gguf_sweep");
  const std::string in = folder("x.gguf"), weight = "blk.0.ffn_up.weight";
  write_gguf(in);
  for (const auto& [type, bits] : std::map<std::string, double>{{"q8_0", 8.5}, {"q6_K", 6.5625}}) {
    INFO(type);
    const std::string out = folder(type + ".gguf");
    succeed({"quantize", in, out, "--type", type});
    const Json lost = Json::parse(succeed({"compare", in, out, "--json"}));
    const double db = named(lost["tensors"], weight)["error"]["sqnr_db"];
    const Json swept = Json::parse(succeed(
        {"sweep", in, "--include", "ffn_up", "--types", type + ",int8", "--json"}))["schemes"];
    const Json& row = named(swept, type);
    CHECK(row["gguf_type"] == type);
    CHECK(row["bits_per_weight"] == bits);
    CHECK(row["sqnr_db"] == db);
    CHECK(named(swept, "int8")["spec"]["type"] == "int8");
    const Json rows = Json::parse(
        succeed({"sensitivity", in, "--include", "ffn_up", "--types", type, "--json"}))["rows"];
    CHECK(rows.size() == 1);
    CHECK(rows[0]["scheme"] == type);
    CHECK(std::abs(rows[0]["sqnr_db"].get<double>() - db) < 1e-9);
  }
  CHECK(has(succeed({"sweep", in, "--types", "q4_k"}), "GGUF, 256 weights in blocks of 144 bytes"));
}

TEST_CASE("types of GGUF files that cannot be measured say why") {
  const Folder folder("gguf_unmeasured");
  std::vector<float> x = noise(2 * 100);
  const std::string in = folder("m.safetensors");
  const auto reason = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"sweep", in, "--types", "q4_K", "--json"});
    return Json::parse(succeed(options))["schemes"][0]["error"].get<std::string>();
  };
  tq::io::write_safetensors(in, std::vector<Tensor>{tq::io::from_float32("w", {2, 100}, x)});
  CHECK(has(reason({}), "tensor \"w\": expected rows in whole blocks of 256, got 100 elements"));
  for (const float bad : {std::nanf(""), -INFINITY}) {
    x.assign(2 * 256, 1.0f);
    x[300] = bad;
    tq::io::write_safetensors(in, std::vector<Tensor>{tq::io::from_float32("w", {2, 256}, x)});
    CHECK(has(fail(1, {"sweep", in, "--types", "q4_K"}), "; --exclude it"));
    CHECK(has(reason({"--allow-nonfinite"}), "expected finite values"));
  }
  CHECK(has(fail(2, {"sweep", in, "--types", "q4_x"}), "types of GGUF files are q4_0, "));
  CHECK(has(fail(2, {"sensitivity", in, "--types", "q4_k,Q4_K"}), "\"q4_K\" twice"));
  CHECK(has(fail(2, {"sensitivity", in, "--types", "q4_k", "--profile", folder("p.json")}),
            "expected schemes of tq for --profile, got the type \"q4_K\""));
  CHECK(has(fail(2, {"select", in, "--types", "q4_k", "--max-bits", "4", "-o", folder("c.json")}),
            "--for llama.cpp"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
}

TEST_CASE("a split GGUF model is one model, and a folder without config.json none") {
  const Folder folder("gguf_split");
  using tq::layouts::gguf::Type;
  const auto write_part = [&](const std::string& name, std::uint16_t number,
                              const std::vector<tq::io::GgufTensorDecl>& tensors) {
    std::vector<tq::io::GgufEntry> entries{{"split.no", number},
                                           {"split.count", std::uint16_t{2}},
                                           {"split.tensors.count", std::int32_t{3}}};
    if (number == 0) entries.push_back({"general.architecture", std::string("llama")});
    tq::io::GgufWriter writer(folder(name), entries, tensors);
    for (const auto& t : writer.order()) {
      std::vector<float> values = noise(static_cast<std::size_t>(t.size_bytes) / 4);
      if (t.type == Type::q8_0) values.assign(values.size(), 0.0f);
      writer.append(t.name, std::as_bytes(std::span(values)));
    }
    writer.finish();
  };
  const std::string first = "x-00001-of-00002.gguf", second = "x-00002-of-00002.gguf";
  fs::create_directories(folder("m"));
  write_part("m/" + first, 0, {{"blk.0.ffn_norm.weight", Type::f32, {256}}});
  write_part(
      "m/" + second, 1,
      {{"blk.0.ffn_up.weight", Type::f32, {4, 256}}, {"output.weight", Type::q8_0, {4, 256}}});
  const std::string in = folder("m/" + first);
  const Json listed = Json::parse(succeed({"inspect", in, "--json"}));
  CHECK(listed["tensors"].size() == 3);
  const std::string out =
      succeed({"quantize", in, folder("y.gguf"), "--type", "q4_k", "--requantize"});
  CHECK(has(out, "3 tensors in q4_k"));
  const auto written = tq::io::GgufReader::open(folder("y.gguf"));
  for (const tq::io::GgufEntry& entry : written.entries())
    CHECK_FALSE(entry.name.starts_with("split."));
  succeed({"dequantize", in, folder("d.safetensors")});
  CHECK(has(succeed({"compare", in, folder("d.safetensors")}), "3 tensors"));
  fs::create_directories(folder("d"));
  succeed({"dequantize", in, folder("d")});
  CHECK(fs::exists(folder("d/x.safetensors")));
  succeed({"dequantize", in, folder("s.safetensors.index.json")});
  CHECK(fs::exists(folder("x-00002-of-00002.safetensors")));
  succeed({"quantize", in, folder("q.safetensors"), "--requantize"});
  succeed({"report", in, folder("q.safetensors"), "-o", folder("r.html")});
  CHECK(has(fail(1, {"inspect", folder("m/" + second)}),
            "expected the first of 2 parts, x-00001-of-00002.gguf, got part 2"));
  CHECK(has(fail(1, {"quantize", folder("m"), folder("z.gguf")}),
            "expected a model with a config.json in its folder, which the keys of a GGUF file are "
            "made of, got none; did you mean"));
  fs::remove(folder("m/" + second));
  CHECK(has(fail(1, {"inspect", in}), second + ": expected part 2 of 2"));
  CHECK_FALSE(fs::exists(folder("z.gguf")));
}
