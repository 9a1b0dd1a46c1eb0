// SPDX-License-Identifier: MIT
// Every number format and scheme through the tool: into a file, back out of it, in the tables.
#include "tool_test.hpp"

#include <tq/containers/tensor.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <algorithm>
#include <cmath>
#include <map>

using namespace tool_test;

namespace {

std::string digits() { return golden("../../examples/data/digits/digits_cnn.safetensors"); }

// A matrix of normally distributed values.
void write_gaussian(const std::string& path) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(512 * 512);
  for (float& v : x) v = normal(random);
  tq::io::write_safetensors(path, std::vector<Tensor>{tq::io::from_float32("w", {512, 512}, x)});
}

// The report on the tensor that `options` quantize.
Json quantized(const Folder& folder, const std::string& in, const std::string& type,
               std::vector<std::string> options = {}) {
  options.insert(options.begin(),
                 {"quantize", in, folder("q.safetensors"), "--json", "--type", type});
  const Json report = Json::parse(succeed(options));
  for (const Json& t : report["tensors"])
    if (t["quantized"]) return t;
  return {};
}

std::map<std::string, Json> sweep(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"sweep", "--json"});
  std::map<std::string, Json> schemes;
  const Json report = Json::parse(succeed(arguments));
  for (const Json& s : report["schemes"]) schemes[s["name"]] = s;
  return schemes;
}

}  // namespace

TEST_CASE("every named scheme goes into a file and comes back as the report says") {
  const Folder folder("named");
  const std::string q = folder("q.safetensors"), d = folder("d.safetensors");
  for (const tq::NamedScheme& scheme : tq::named_schemes()) {
    INFO(scheme.name);
    const Json report =
        Json::parse(succeed({"quantize", digits(), q, "--json", "--type", scheme.name}));
    succeed({"dequantize", q, d});
    // Decoding the file twice, and comparing with what was measured before it was written.
    const Json same = Json::parse(succeed({"compare", "--json", q, d}));
    CHECK(same["total"]["compared"] == same["total"]["identical"]);
    const Json error = Json::parse(succeed({"compare", "--json", digits(), q}));
    std::map<std::string, Json> measured;
    for (const Json& t : error["tensors"]) measured[t["name"]] = t["error"];
    std::uint64_t bytes = 0;
    for (const Tensor& t : read_all(q)) bytes += t.bytes.size();
    CHECK(report["total"]["bytes_after"] == bytes);
    for (const Json& t : report["tensors"])
      if (t["quantized"]) CHECK(t["error"] == measured.at(t["name"]));
    const Json listed = Json::parse(succeed({"inspect", "--json", q}));
    CHECK(listed["total"]["bytes"] == bytes);
    CHECK(listed["total"]["quantized"] == report["total"]["quantized"]);
  }
}

TEST_CASE("every element is a type, also of ragged groups, and every scale type can be asked for") {
  const Folder folder("elements");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {5, 41})});
  const Json listed = Json::parse(succeed({"formats", "--json"}));
  for (const Json& f : listed["formats"]) {
    const std::string name = f["name"];
    INFO(name);
    quantized(folder, in, name, {"--granularity", "per_group", "--group-size", "16"});
    const Json r = Json::parse(succeed({"compare", "--json", in, q}))["tensors"][0]["error"];
    if (name == "float8_e8m0fnu") CHECK(r["sqnr_db"].is_null());  // no negative values
    else CHECK(r["sqnr_db"].get<double>() > (f["bits"] == 1 ? -3 : 1));
  }
  for (const char* scale :
       {"float32", "float16", "bfloat16", "float8_e8m0fnu", "float8_e4m3fn",
        "float8_e4m3fn_two_level", "float8_e4m3fn_two_level_normal", "double_quantized"})
    for (const char* type : {"int8", "float8_e4m3fn", "nf4"}) {
      INFO(scale << ' ' << type);
      const Json t =
          quantized(folder, in, type, {"--granularity", "per_token", "--scale-type", scale});
      CHECK(t["error"]["sqnr_db"].get<double>() > 8);  // a power of two may cut off the largest
      CHECK(Json::parse(succeed({"compare", "--json", in, q}))["tensors"][0]["error"] ==
            t["error"]);
    }
}

TEST_CASE("what is stored has the types of safetensors where it has one") {
  const Folder folder("types");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 64}), tensor("b", {4})});
  const auto stored = [&](const std::string& type) {
    quantized(folder, in, type);
    std::string text;
    const auto reader = tq::io::SafetensorsReader::open(q);
    for (const auto& info : reader.tensors())
      if (info.name != "b")
        text += info.name + " " + std::string(to_string(info.dtype)) + " " +
                tq::io::shape_text(info.shape) + "; ";
    return text;
  };
  CHECK(stored("float8_e4m3fn") == "w F8_E4M3 [4, 64]; ");
  CHECK(stored("float8_e5m2") == "w F8_E5M2 [4, 64]; ");
  CHECK(stored("bfloat16") == "w BF16 [4, 64]; ");
  CHECK(stored("float16") == "w F16 [4, 64]; ");
  CHECK(stored("mxfp8_e4m3") == "w.scales F8_E8M0 [4, 2]; w.codes F8_E4M3 [4, 64]; ");
  CHECK(stored("mxfp6_e2m3") == "w.scales F8_E8M0 [4, 2]; w.codes U8 [192]; ");
  CHECK(stored("mxint8") == "w.scales F8_E8M0 [4, 2]; w.codes U8 [4, 64]; ");
  CHECK(stored("nvfp4") == "w.tensor_scale F32 [1]; w.scales F8_E4M3 [4, 4]; w.codes F4 [4, 64]; ");
  CHECK(stored("iq4_nl") == "w.scales F16 [4, 2]; w.codes U8 [128]; ");
  CHECK(stored("nf4") == "w.scales F32 [4, 1]; w.codes U8 [128]; ");
  CHECK(stored("nf4_double") ==
        "w.block_scales F32 [1]; w.scale_offset F32 [1]; w.codes U8 [128]; w.scales U8 [4, 1]; ");
  CHECK(stored("int8") == "w.scales F32 [4, 1]; w.codes I8 [4, 64]; ");
  CHECK(stored("uint16") == "w.scales F32 [4, 1]; w.codes U16 [4, 64]; w.zero_points U16 [4, 1]; ");
  // Codes that do not fill whole bytes have no type of fewer than 8 bits, and pairs of them lie
  // along the last axis.
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {3, 3})});
  CHECK(stored("mxfp4") == "w.scales F8_E8M0 [3, 1]; w.codes U8 [5]; ");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 3})});
  CHECK(stored("mxfp4") == "w.scales F8_E8M0 [4, 1]; w.codes U8 [6]; ");
  CHECK(stored("float4_e2m1fn") == "w.scales F32 [4, 1]; w.codes U8 [6]; ");
}

// The rules by which the readers for torch and numpy open a tensor, for every scheme and shape: no
// types of 6 bits, F4 in pairs along the last axis, codes of 8 and 16 bits in the tensor's shape.
TEST_CASE("other readers can open what is stored of any scheme") {
  const Folder folder("readers");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{4, 64}, {4, 33}, {2, 3, 5}, {6, 2}, {0, 3}})
    for (const Json& scheme : Json::parse(succeed({"formats", "--json"}))["schemes"]) {
      const std::string name = scheme["name"];
      INFO(name << " " << tq::io::shape_text(shape));
      tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", shape)});
      if (run({"quantize", in, q, "--type", name}).status != 0) continue;  // no such groups here
      const auto reader = tq::io::SafetensorsReader::open(q);
      for (const auto& info : reader.tensors()) {
        INFO(info.name << " " << to_string(info.dtype));
        CHECK((bits(info.dtype) >= 8 || info.dtype == DType::f4));
        if (info.dtype == DType::f4) CHECK((!info.shape.empty() && info.shape.back() % 2 == 0));
        const bool is_integer = info.dtype == DType::i8 || info.dtype == DType::i16;
        if (info.name == "w.codes" && is_integer) CHECK(info.shape == shape);
      }
    }
}

// A file of version 1: codes of 8 and 16 bits, and F4 and F6 wherever they fill bytes, lay
// otherwise.
TEST_CASE("files of the first layout are read as before") {
  const Folder folder("version1");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    old = folder("old.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 33})});
  const std::vector<std::pair<std::string, DType>> types{
      {"int8", DType::u8},           {"int16", DType::u8}, {"uint16", DType::u8},
      {"mxint8", DType::u8},         {"mxfp4", DType::f4}, {"mxfp6_e3m2", DType::f6_e3m2},
      {"mxfp8_e4m3", DType::f8_e4m3}};
  for (const auto& [type, dtype] : types) {
    INFO(type);
    succeed({"quantize", in, q, "--type", type});
    std::vector<Tensor> tensors = read_all(q);
    for (Tensor& t : tensors)
      if (t.name == "w.codes") {
        t.dtype = dtype;
        t.shape = dtype == DType::u8 ? std::vector<std::size_t>{t.bytes.size()}
                                     : std::vector<std::size_t>{4, 33};
      }
    tq::io::Metadata metadata = tq::io::SafetensorsReader::open(q).metadata();
    Json document = Json::parse(metadata["tq"]);
    CHECK(document["version"] == 2);
    document["version"] = 1;
    metadata["tq"] = document.dump();
    tq::io::write_safetensors(old, tensors, metadata);
    succeed({"dequantize", q, folder("a.safetensors")});
    succeed({"dequantize", old, folder("b.safetensors")});
    CHECK(content(folder("a.safetensors")) == content(folder("b.safetensors")));
  }
}

TEST_CASE("a cast is what any reader of the file takes it for") {
  const Folder folder("cast");
  const std::string in = folder("m.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 64})});
  quantized(folder, in, "float8_e4m3fn");
  const std::vector<float> x = noise(256),
                           y = tq::io::to_float32(read_all(folder("q.safetensors"))[0]);
  for (std::size_t i = 0; i < x.size(); ++i)
    REQUIRE(y[i] == tq::float8_e4m3fn::format::decode(tq::float8_e4m3fn::format::encode(x[i])));
  // The same tensor without tq's metadata, as somebody else would write it.
  tq::io::write_safetensors(folder("other.safetensors"), read_all(folder("q.safetensors")));
  CHECK(has(succeed({"inspect", "--stats", folder("other.safetensors")}), "F8_E4M3"));
  const Json r = Json::parse(
      succeed({"compare", "--json", folder("q.safetensors"), folder("other.safetensors")}));
  CHECK(r["tensors"][0]["error"]["max_abs"] == 0.0);
  // Asked for parameters of parts of the tensor, a cast gets scales.
  quantized(folder, in, "float8_e4m3fn", {"--granularity", "per_channel"});
  CHECK(has(succeed({"inspect", folder("q.safetensors")}),
            "float8_e4m3fn per_channel(axis 0) symmetric "));
}

TEST_CASE("accuracy and size on normally distributed values are those that are known") {
  const Folder folder("peaks");
  write_gaussian(folder("m.safetensors"));
  const auto schemes = sweep({folder("m.safetensors"), "--types",
                              "mxfp4,nvfp4,nf4,nf4_double,float8_e4m3fn,bfloat16,int8,mxint8"});
  const auto check = [&](const char* name, double bits, double sqnr_db) {
    INFO(name << ": " << schemes.at(name).dump());
    CHECK(std::abs(schemes.at(name)["bits_per_weight"].get<double>() - bits) < 2e-3);
    CHECK(std::abs(schemes.at(name)["sqnr_db"].get<double>() - sqnr_db) < 0.2);
  };
  check("mxfp4", 4.25, 18.8);
  check("nvfp4", 4.5, 20.4);
  check("nf4", 4.5, 20.7);
  check("nf4_double", 4.127, 20.7);
  check("float8_e4m3fn", 8, 31.5);
  check("bfloat16", 16, 55.6);
  check("mxint8", 8.25, 41.7);
}

TEST_CASE("sweep measures what quantize loses, to the last bit") {
  const Folder folder("measured");
  std::vector<float> x = noise(300 * 640);  // more than a piece
  tq::io::write_safetensors(folder("m.safetensors"),
                            std::vector<Tensor>{tq::io::from_float32("w", {300, 640}, x)});
  x[3] = std::nanf("");
  x[1000] = INFINITY;
  tq::io::write_safetensors(folder("n.safetensors"),
                            std::vector<Tensor>{tq::io::from_float32("w", {300, 640}, x)});
  for (const std::string file : {"m.safetensors", "n.safetensors"}) {
    const std::string in = folder(file);
    for (const auto& [name, swept] :
         sweep({in, "--allow-nonfinite", "--types", "int8,uint4_g32,nf4_double,mxfp4,float16"})) {
      INFO(file << ' ' << name);
      const Json lost = quantized(folder, in, name, {"--allow-nonfinite"});
      CHECK(swept["sqnr_db"] == lost["error"]["sqnr_db"]);
      CHECK(swept["nan"] == lost["nan"]);
      CHECK(swept["infinite"] == lost["infinite"]);
    }
  }
}

TEST_CASE("sweep orders by accuracy and marks what nothing beats") {
  const Folder folder("sweep");
  const Json report = Json::parse(succeed({"sweep", digits(), "--json", "--per-tensor"}));
  const Json& schemes = report["schemes"];
  CHECK(schemes.size() >= 20);
  double last = INFINITY, fewest = INFINITY;
  for (const Json& s : schemes) {
    INFO(s["name"]);
    const double db = s["sqnr_db"], bits = s["bits_per_weight"];
    CHECK(db <= last);
    CHECK(s["best"] == (bits < fewest));
    CHECK(s["tensors"].size() == report["total"]["tensors"]);
    last = db;
    fewest = std::min(fewest, bits);
  }
  const std::string text = succeed({"sweep", digits(), "--types", "mxfp4,int4_g32,float6_e2m3fn"});
  CHECK(has(text, "float6_e2m3fn per_channel(axis 0) symmetric"));
  CHECK(has(succeed({"sweep", digits(), "--per-tensor", "--types", "nf4"}), "conv1.weight"));
  CHECK(has(fail(2, {"sweep", digits(), "--types", "mxfp4,fp5"}), "got \"fp5\""));
  CHECK(has(fail(2, {"sweep"}), "FILE"));
  CHECK(has(fail(1, {"sweep", folder("none.safetensors")}), "No such file"));
  tq::io::write_safetensors(folder("b.safetensors"), std::vector<Tensor>{tensor("b", {4})});
  CHECK(has(fail(1, {"sweep", folder("b.safetensors")}), "--all"));
  succeed({"sweep", folder("b.safetensors"), "--all", "--types", "mxfp4"});
  std::vector<float> x = noise(32);
  x[3] = std::nanf("");
  tq::io::write_safetensors(folder("n.safetensors"),
                            std::vector<Tensor>{tq::io::from_float32("w", {4, 8}, x)});
  const std::string nan = fail(1, {"sweep", folder("n.safetensors")});
  CHECK(has(nan, "tensor \"w\""));
  CHECK(has(nan, "--exclude it, or --allow-nonfinite"));
  succeed({"sweep", folder("n.safetensors"), "--allow-nonfinite"});
  // A part of a model; and one that is quantized already says nothing about schemes.
  const auto tensors = [&](const std::string& option, const std::string& pattern) {
    return Json::parse(succeed(
        {"sweep", digits(), "--json", "--types", "int8", option, pattern}))["total"]["tensors"];
  };
  CHECK(tensors("--include", "^conv1") == 1);
  CHECK(tensors("--exclude", "^conv1") == report["total"]["tensors"].get<int>() - 1);
  CHECK(has(fail(1, {"sweep", digits(), "--include", "^x"}), "matches none of the"));
  succeed({"quantize", digits(), folder("q.safetensors")});
  CHECK(has(fail(1, {"sweep", folder("q.safetensors")}), "tq dequantize"));
}

TEST_CASE("formats lists each with its limits, its names elsewhere and its cost") {
  const Json report = Json::parse(succeed({"formats", "--json"}));
  std::map<std::string, Json> formats, schemes;
  for (const Json& f : report["formats"]) formats[f["name"]] = f;
  for (const Json& s : report["schemes"]) schemes[s["name"]] = s;
  CHECK(formats.size() == 33);
  CHECK(formats["float8_e4m3fn"] == Json{{"name", "float8_e4m3fn"},
                                         {"bits", 8},
                                         {"lowest", -448.0},
                                         {"largest", 448.0},
                                         {"smallest_positive", 0x1p-9},
                                         {"safetensors", "F8_E4M3"},
                                         {"onnx", "FLOAT8E4M3FN"},
                                         {"torch", "float8_e4m3fn"},
                                         {"ml_dtypes", "float8_e4m3fn"}});
  CHECK(formats["bfloat16"]["smallest_positive"] == 0x1p-133);
  CHECK(formats["float8_e8m0fnu"]["lowest"] == 0x1p-127);
  CHECK(formats["int4"]["lowest"] == -8.0);
  CHECK(formats["nf4"]["largest"] == 1.0);
  CHECK(formats["iq4_nl"]["lowest"] == -127.0);
  CHECK(schemes["mxfp4"]["bits_per_weight"] == 4.25);
  CHECK(schemes["float8_e5m2"]["bits_per_weight"] == 8.0);
  std::map<std::string, Json> gguf_types;
  for (const Json& t : report["gguf_types"]) gguf_types[t["name"]] = t;
  CHECK(gguf_types.size() == 18);
  CHECK(gguf_types["q4_K"] == Json{{"name", "q4_K"},
                                   {"block_weights", 256},
                                   {"block_bytes", 144},
                                   {"bits_per_weight", 4.5}});
  const std::string text = succeed({"formats"});
  CHECK(has(text, "FLOAT8E4M3FN"));
  CHECK(has(text, "iq4_xs"));
}
