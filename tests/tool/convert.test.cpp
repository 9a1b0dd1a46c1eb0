// SPDX-License-Identifier: MIT
// The results of tq quantize, dequantize, compare and inspect for good files.
#include "tool_test.hpp"

#include <tq/containers/npy.hpp>

#include <algorithm>
#include <cmath>

using namespace tool_test;

namespace {

void write_model(const std::string& path) {
  tq::io::write_safetensors(
      path,
      std::vector<Tensor>{
          tensor("a.weight", {6, 40}), tensor("a.bias", {6}, DType::f32, 2),
          tensor("b.weight", {4, 8, 3}, DType::f32, 3), tensor("c.weight", {5, 7}, DType::f16, 4),
          tensor("d.weight", {2, 2}, DType::f64, 5),
          tq::io::from_values<std::int64_t>("steps", {2, 1}, std::vector<std::int64_t>{1, 2}),
          tensor("empty", {0, 8}), tensor("scalar", {})},
      {{"format", "pt"}});
}

// Signed codes of `bits` bits, lowest bits first.
std::vector<int> unpacked(const Tensor& codes, int bits, std::size_t n) {
  std::vector<int> out;
  for (std::size_t i = 0; i < n; ++i) {
    int code = 0;
    for (int b = 0; b < bits; ++b) {
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      code |= (std::to_integer<int>(codes.bytes[at / 8]) >> (at % 8) & 1) << b;
    }
    out.push_back(code >= 1 << (bits - 1) ? code - (1 << bits) : code);
  }
  return out;
}

}  // namespace

TEST_CASE("int4 in groups: codes, scales and metadata are the documented ones") {
  const Folder folder("int4");
  write_model(folder("m.safetensors"));
  succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--type", "int4",
           "--granularity", "per_group", "--group-size", "32", "--axis", "-1"});
  const auto q = tq::io::SafetensorsReader::open(folder("q.safetensors"));
  const Tensor codes = q.read("a.weight.codes"), scales = q.read("a.weight.scales");
  CHECK(codes.dtype == DType::u8);
  CHECK(codes.shape == std::vector<std::size_t>{120});
  CHECK(scales.shape == std::vector<std::size_t>{6, 2});
  CHECK_FALSE(q.contains("a.weight.zero_points"));
  CHECK_FALSE(q.contains("a.weight"));

  const std::vector<float> x = noise(240), s = tq::io::values<float>(scales);
  const std::vector<int> code = unpacked(codes, 4, 240);
  std::vector<float> expected(240);
  for (std::size_t row = 0; row < 6; ++row)
    for (std::size_t group = 0; group < 2; ++group) {
      const std::size_t begin = row * 40 + group * 32,
                        end = group == 0 ? begin + 32 : row * 40 + 40;
      float top = 0;
      for (std::size_t i = begin; i < end; ++i) top = std::max(top, std::abs(x[i]));
      const float scale = s[row * 2 + group];
      REQUIRE(scale == static_cast<float>(double{top} / 7));
      for (std::size_t i = begin; i < end; ++i) {
        REQUIRE(code[i] == std::clamp(static_cast<int>(std::nearbyint(x[i] / scale)), -8, 7));
        expected[i] = static_cast<float>(code[i]) * scale;
      }
    }

  CHECK(q.metadata().at("format") == "pt");
  const Json tq = Json::parse(q.metadata().at("tq"));
  CHECK(tq["version"] == 2);
  CHECK(tq["tensors"]["a.weight"] ==
        Json::parse(R"({"dtype": "F32", "shape": [6, 40], "spec": {"type": "int4", "axis": -1,
                        "granularity": "per_group", "group_size": 32, "symmetry": "symmetric",
                        "scale_type": "float32", "numerics": "onnx"}})"));
  CHECK(tq["tensors"].size() == 5);  // a, b, c, d, empty

  succeed({"dequantize", folder("q.safetensors"), folder("d.safetensors")});
  const auto m = tq::io::SafetensorsReader::open(folder("m.safetensors"));
  const auto d = tq::io::SafetensorsReader::open(folder("d.safetensors"));
  CHECK(d.metadata() == m.metadata());
  CHECK(tq::io::values<float>(d.read("a.weight")) == expected);
  REQUIRE(d.tensors().size() == m.tensors().size());
  for (const auto& info : m.tensors()) {
    CHECK(d.info(info.name).dtype == info.dtype);
    CHECK(d.info(info.name).shape == info.shape);
  }
  for (const char* name : {"a.bias", "steps", "scalar"})
    CHECK(d.read(name).bytes == m.read(name).bytes);
}

TEST_CASE("asymmetric zero points have the width of a code") {
  const Folder folder("asymmetric");
  write_model(folder("m.safetensors"));
  const std::pair<const char*, DType> cases[] = {
      {"uint8", DType::u8}, {"int3", DType::i8}, {"uint16", DType::u16}, {"int16", DType::i16}};
  for (const auto& [type, dtype] : cases) {
    succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--type", type,
             "--symmetry", "asymmetric", "--granularity", "per_token"});
    const auto q = tq::io::SafetensorsReader::open(folder("q.safetensors"));
    CHECK(q.info("b.weight.zero_points").dtype == dtype);
    CHECK(q.info("b.weight.zero_points").shape == std::vector<std::size_t>{4, 8, 1});
    const Json report = Json::parse(
        succeed({"compare", "--json", folder("m.safetensors"), folder("q.safetensors")}));
    CHECK(report["total"]["compared"] == 8);
    CHECK(report["total"]["identical"] >= 4);  // with 16 bits the 16-bit floats come back, too
    CHECK(report["total"]["worst_sqnr_db"].get<double>() > (std::string(type) == "int3" ? 10 : 40));
  }
}

TEST_CASE("the report counts scales, and the savings are those of the bytes") {
  const Folder folder("report");
  write_model(folder("m.safetensors"));
  const Json report =
      Json::parse(succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--json",
                           "--exclude", "^[bcd]"}));
  CHECK(report["total"]["quantized"] == 2);
  std::uint64_t before = 0, after = 0;
  for (const Tensor& t : read_all(folder("m.safetensors"))) before += t.bytes.size();
  for (const Tensor& t : read_all(folder("q.safetensors"))) after += t.bytes.size();
  CHECK(report["total"]["bytes_before"] == before);
  CHECK(report["total"]["bytes_after"] == after);
  CHECK(std::abs(report["total"]["saved"].get<double>() -
                 (1 - static_cast<double>(after) / static_cast<double>(before))) < 1e-12);
  for (const Json& t : report["tensors"]) {
    if (t["name"] == "a.weight") {  // 40 codes and a float for each of 6 rows
      CHECK(std::abs(t["bits_per_weight"].get<double>() - 8 * 44.0 / 40) < 1e-9);
      CHECK(t["error"]["sqnr_db"].get<double>() > 40);
    }
    if (t["name"] == "a.bias") CHECK(t["reason"] == "1-D");
    if (t["name"] == "b.weight") CHECK(t["reason"] == "excluded");
    if (t["name"] == "steps") CHECK(t["reason"] == "not float");
  }
  const Json listed = Json::parse(succeed({"inspect", folder("q.safetensors"), "--json"}));
  CHECK(listed["total"]["bytes"] == after);
  CHECK(listed["total"]["bytes_unquantized"] == before);
  CHECK(listed["total"]["saved"] == report["total"]["saved"]);
}

TEST_CASE("include, exclude and --all choose the tensors") {
  const Folder folder("choose");
  write_model(folder("m.safetensors"));
  const auto chosen = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"quantize", folder("m.safetensors"), folder("q.safetensors"),
                                     "--json", "--granularity", "per_tensor"});
    const Json report = Json::parse(succeed(options));
    std::string names;
    for (const Json& t : report["tensors"])
      if (t["quantized"]) names += t["name"].get<std::string>() + " ";
    return names;
  };
  CHECK(chosen({"--include", "weight$"}) == "d.weight a.weight b.weight c.weight ");
  CHECK(chosen({"--include", "^a", "--include", "^b"}) == "a.weight b.weight ");
  CHECK(chosen({"--include", "^a", "--all"}) == "a.bias a.weight ");
  CHECK(chosen({"--exclude", "weight"}) == "empty ");
  CHECK(chosen({"--all", "--exclude", "weight"}) == "a.bias empty scalar ");
}

TEST_CASE("scalars are quantized per tensor, whatever the others are") {
  const Folder folder("scalars");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("s", {}), tensor("w", {4, 64})});
  for (const std::vector<std::string>& scheme : {std::vector<std::string>{"int8"},
                                                 {"mxfp4"},
                                                 {"nf4_double"},
                                                 {"nvfp4"},
                                                 {"iq4_nl"},
                                                 {"uint4", "--granularity", "per_token"},
                                                 {"int8", "--granularity", "per_block"}}) {
    INFO(scheme[0]);
    std::vector<std::string> command{"quantize", in, q, "--all", "--type"};
    command.insert(command.end(), scheme.begin(), scheme.end());
    succeed(command);
    const Json listed = Json::parse(succeed({"inspect", "--json", q}));
    for (const Json& t : listed["tensors"])
      CHECK((t["spec"]["granularity"] == "per_tensor") == (t["name"] == "s"));
    succeed({"dequantize", q, folder("d.safetensors")});
  }
  const Json report = Json::parse(succeed({"sweep", "--all", "--json", in}));
  CHECK(report["total"]["tensors"] == 2);
}

TEST_CASE("unsigned integers are asymmetric unless asked otherwise") {
  const Folder folder("unsigned");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 64})});
  const auto symmetry = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"quantize", in, q, "--json"});
    const Json report = Json::parse(succeed(options));
    CHECK(Json::parse(succeed({"inspect", "--json", q}))["tensors"][0]["spec"] == report["spec"]);
    return report["spec"]["symmetry"].get<std::string>();
  };
  CHECK(symmetry({"--type", "uint8"}) == "asymmetric");
  CHECK(symmetry({"--type", "uint4", "--group-size", "32"}) == "asymmetric");
  CHECK(symmetry({"--type", "uint8", "--symmetry", "symmetric"}) == "symmetric");
  CHECK(symmetry({"--type", "int8"}) == "symmetric");
  CHECK(symmetry({"--type", "float8_e4m3fn"}) == "symmetric");
  const Json params = Json::parse(succeed(
      {"calibrate", in, "-o", folder("p.json"), "--json", "--type", "uint8"}))["tensors"][0];
  CHECK(params["params"]["symmetry"] == "asymmetric");
  const Json sweep =
      Json::parse(succeed({"sweep", in, "--json", "--types", "uint8"}))["schemes"][0];
  CHECK(sweep["sqnr_db"].get<double>() > 40);
}

TEST_CASE("a number of --group-size asks for groups, also where the scheme has others") {
  const Folder folder("group_size");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 64})});
  const auto spec = [&](const std::string& type, const std::string& size) {
    return Json::parse(
        succeed({"quantize", in, q, "--json", "--type", type, "--group-size", size}))["spec"];
  };
  CHECK(spec("int4", "16")["granularity"] == "per_group");
  CHECK(spec("int4", "16")["group_size"] == 16);
  CHECK(spec("int4", "16")["axis"] == -1);
  CHECK(spec("mxfp4", "16")["group_size"] == 16);
}

TEST_CASE("a model with nothing to quantize comes back as it was") {
  const Folder folder("nothing");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    d = folder("d.safetensors");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("b", {4})}, {{"format", "pt"}});
  CHECK(has(succeed({"quantize", in, q}), "0 of 1 tensors quantized"));
  CHECK(has(succeed({"dequantize", q, d}), "0 of 1 tensors dequantized"));
  CHECK(content(d) == content(in));
  succeed({"quantize", q, d, "--all"});  // nothing of it is quantized yet
}

TEST_CASE("every kind of file can be read") {
  const Folder folder("kinds");
  const std::string q = folder("q.safetensors");
  for (const char* file :
       {"npy/good/le_f4.npy", "npy/good/be_f4.npy", "npy/good/fortran_f4.npy", "npy/good/le_f2.npy",
        "npy/good/le_f8.npy", "npy/good/deflated.npz", "npy/good/stored.npz",
        "npy/good/empty_3x0.npy", "npy/good/one_d.npy", "npy/good/scalar_f4.npy",
        "npy/good/rank6.npy", "npy/good/le_i4.npy", "safetensors/good/none.safetensors",
        "safetensors/good/three.safetensors", "safetensors/sharded/model.safetensors.index.json"}) {
    INFO(file);
    succeed({"inspect", golden(file)});
    succeed({"inspect", golden(file), "--stats"});
    succeed(
        {"quantize", golden(file), q, "--type", "int16", "--granularity", "per_tensor", "--all"});
    succeed({"inspect", q});
    const Json report = Json::parse(succeed({"compare", "--json", golden(file), q}));
    if (!report["total"]["worst_sqnr_db"].is_null())
      CHECK(report["total"]["worst_sqnr_db"].get<double>() > 70);
  }
  // .npy there and back
  succeed({"quantize", golden("npy/good/le_f4.npy"), q});
  succeed({"dequantize", q, folder("d.npy")});
  const Tensor a = tq::io::read_npy(golden("npy/good/le_f4.npy")),
               b = tq::io::read_npy(folder("d.npy"));
  CHECK(a.shape == b.shape);
  CHECK(a.dtype == b.dtype);
}

TEST_CASE("non-finite values are skipped when asked, and everything else keeps its accuracy") {
  const Folder folder("nonfinite");
  std::vector<float> x = noise(64);
  x[3] = std::nanf("");
  x[7] = INFINITY;
  tq::io::write_safetensors(folder("m.safetensors"),
                            std::vector<Tensor>{tq::io::from_float32("w", {4, 16}, x)});
  succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--allow-nonfinite"});
  succeed({"dequantize", folder("q.safetensors"), folder("d.safetensors")});
  const auto y = tq::io::values<float>(read_all(folder("d.safetensors"))[0]);
  CHECK(y[3] == 0);
  CHECK((y[7] > 0.5f && y[7] <= 1));
  for (std::size_t i = 8; i < 64; ++i) CHECK(std::abs(x[i] - y[i]) < 0.005f);
}

TEST_CASE("compare measures, names what is missing, and knows identical files") {
  const Folder folder("compare");
  const auto write = [&](const char* file, std::vector<Tensor> tensors) {
    tq::io::write_safetensors(folder(file), tensors);
  };
  write("a.safetensors", {tq::io::from_float32("w", {2}, std::vector<float>{3, 4}),
                          tensor("x", {3}), tensor("u", {2})});
  write("b.safetensors", {tq::io::from_float32("w", {2}, std::vector<float>{3, 3.5f}),
                          tensor("x", {3}), tensor("v", {2})});
  const Json r =
      Json::parse(succeed({"compare", folder("a.safetensors"), folder("b.safetensors"), "--json"}));
  CHECK(r["only_in_expected"] == Json::array({"u"}));
  CHECK(r["only_in_actual"] == Json::array({"v"}));
  CHECK(r["total"]["identical"] == 1);
  CHECK(r["total"]["max_abs"] == 0.5);
  CHECK(std::abs(r["total"]["worst_sqnr_db"].get<double>() - 20) < 1e-9);  // 25 to 0.25
  CHECK(
      has(succeed({"compare", folder("a.safetensors"), folder("b.safetensors")}), "only in A: u"));
  CHECK(has(succeed({"compare", folder("a.safetensors"), folder("a.safetensors")}), "3 identical"));
}

TEST_CASE("the flag --json may come before the subcommand") {
  const Folder folder("json_first");
  write_model(folder("m.safetensors"));
  const std::string m = folder("m.safetensors"), q = folder("q.safetensors");
  tq::io::write_safetensors(folder("x.safetensors"), std::vector<Tensor>{tensor("x", {4, 8})});
  for (std::vector<std::string> command : std::vector<std::vector<std::string>>{
           {"inspect", m},
           {"quantize", m, q, "--type", "int8"},
           {"dequantize", q, folder("d.safetensors")},
           {"compare", m, q},
           {"formats"},
           {"sweep", m},
           {"calibrate", m, "--exclude", "empty", "-o", folder("p.json"), "--state",
            folder("s.json")},
           {"merge-state", folder("s.json"), "-o", folder("t.json")},
           {"hessian", folder("x.safetensors"), "-o", folder("h.npz")},
           {"imatrix", folder("x.safetensors"), "-o", folder("i.gguf")},
           {"plot", folder("s.json"), "-o", folder("p.html")},
           {"report", m, q, "-o", folder("r.html")}}) {
    INFO(command[0]);
    command.push_back("--json");
    const std::string after = succeed(command);
    command.pop_back();
    command.insert(command.begin(), "--json");
    CHECK(Json::parse(succeed(command)) == Json::parse(after));
  }
  const Result missing = run({"--json", "inspect", folder("none.safetensors")});
  CHECK(missing.status == 1);
  CHECK(missing.out.empty());
  CHECK(run({"--json"}).status == 2);
}

TEST_CASE("help and version") {
  CHECK(has(succeed({"--version"}), "(kernels: "));
  CHECK(has(succeed({"--help"}), "dequantize"));
  for (const char* command : {"inspect", "quantize", "dequantize", "compare", "formats", "sweep",
                              "calibrate", "hessian", "imatrix", "merge-state", "plot", "report"})
    CHECK(has(succeed({command, "--help"}), std::string("Usage: tq ") + command));
}
