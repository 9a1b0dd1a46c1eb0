// SPDX-License-Identifier: MIT
// The messages of the tool to people: guessed names, explained differences, tables that stay
// readable.
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/core/formats.hpp>
#include <tq/json/detail/accumulator_json.hpp>
#include <tq/observe/observer.hpp>
#include <tq/scheme/type_list.hpp>

#include "tool_test.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <sstream>

using namespace tool_test;

namespace {

std::string model(const Folder& folder, std::vector<Tensor> tensors = {tensor("w", {4, 64})}) {
  const std::string path = folder("m.npz");
  tq::io::write_npz(path, tensors);
  return path;
}

Json quantized(const Folder& folder, const std::string& in, std::vector<std::string> options) {
  options.insert(options.begin(), {"quantize", in, folder("q.safetensors"), "--json"});
  return Json::parse(succeed(options));
}

std::size_t longest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

}  // namespace

TEST_CASE("names that are nearly right are answered with the right ones") {
  const Folder folder("nearly");
  const std::string in = model(folder), out = folder("q.safetensors");
  const auto guess = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"quantize", in, out});
    return fail(2, options);
  };
  CHECK(has(guess({"--type", "e4m3"}), "got \"e4m3\"; did you mean \"fp8_e4m3\"?"));
  CHECK(has(guess({"--type", "fp8"}), "did you mean \"fp8_e4m3\"?"));
  CHECK(has(guess({"--type", "INT8"}), "did you mean \"int8\"?"));
  CHECK(has(guess({"--granularity", "per-channel"}), "did you mean \"per_channel\"?"));
  CHECK(has(guess({"--symmetry", "asym"}), "did you mean \"asymmetric\"?"));
  CHECK(has(guess({"--scale-type", "fp16"}), "did you mean \"float16\"?"));
  CHECK(has(guess({"--numerics", "pytorch"}), "did you mean \"torch\"?"));
  CHECK(has(guess({"--calibrator", "mean-abs"}), "did you mean \"mean_abs\"?"));
  CHECK(has(guess({"--grop-size", "32"}), "Did you mean --group-size?"));
  CHECK(has(fail(2, {"sweep", in, "--types", "int8,MXFP4"}), "did you mean \"mxfp4\"?"));
  const auto calibrated = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"calibrate", in, "-o", folder("p.json")});
    return fail(2, options);
  };
  CHECK(has(calibrated({"--calibrator", "minmax"}), "did you mean \"min_max\"?"));
  CHECK(has(calibrated({"--observer", "histogramm"}), "did you mean \"histogram\"?"));
  CHECK(has(calibrated({"--type", "bf16"}), "did you mean \"bfloat16\"?"));
  CHECK(has(fail(2, {"quantise", in, out}), "did you mean \"quantize\"?"));
  CHECK_FALSE(has(guess({"--type", "int9"}), "did you mean"));
}

TEST_CASE("the half symmetry of PyTorch is one to choose") {
  const Folder folder("half");
  const std::string in = model(folder);
  const Json spec =
      quantized(folder, in, {"--type", "uint8", "--symmetry", "symmetric_half"})["spec"];
  CHECK(spec["symmetry"] == "symmetric_half");
  for (const Tensor& t : read_all(folder("q.safetensors")))
    if (t.name == "w.zero_points")
      CHECK(std::all_of(t.bytes.begin(), t.bytes.end(),
                        [](std::byte b) { return b == std::byte{128}; }));
  succeed({"dequantize", folder("q.safetensors"), folder("back.npy")});
  succeed({"calibrate", in, "-o", folder("p.json"), "--symmetry", "symmetric_half"});
  CHECK(Json::parse(content(folder("p.json")))["w"]["zero_points"] == Json{0});
}

TEST_CASE("float offsets are a symmetry to choose, stored beside the scales in their type") {
  const Folder folder("offsets");
  std::vector<float> x = noise(256);
  for (float& v : x) v += 100;  // far from 0, which codes with zero points would have to reach
  const std::string in = model(folder, {tq::io::from_float32("w", {4, 64}, x)});
  const std::vector<std::string> groups{"--type",    "uint4",        "--granularity",
                                        "per_group", "--group-size", "32"};
  const auto sqnr = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options = groups;
    options.insert(options.end(), more.begin(), more.end());
    return quantized(folder, in, std::move(options))["tensors"][0]["error"]["sqnr_db"]
        .get<double>();
  };
  const double with_zero_points = sqnr({"--symmetry", "asymmetric"});
  CHECK(sqnr({"--symmetry", "float_offset", "--scale-type", "float16"}) > with_zero_points + 10);
  for (const char* part : {"w.scales", "w.offsets"}) {
    bool is_there = false;
    for (const Tensor& t : read_all(folder("q.safetensors")))
      is_there |= t.name == part && t.dtype == tq::io::DType::f16 &&
                  t.shape == std::vector<std::size_t>{4, 2};
    CHECK(is_there);
  }
  succeed({"dequantize", folder("q.safetensors"), folder("back.npy")});
  const Json told = Json::parse(
      succeed({"report", in, folder("q.safetensors"), "-o", folder("r.html"), "--json"}));
  CHECK(told["tensors"][0]["covered"]["min"] > 90);  // not from 0 on
  CHECK(told["tensors"][0]["covered"]["max"] > 100);
  CHECK(has(fail(2, {"quantize", in, folder("r.safetensors"), "--symmetry", "float_offset",
                     "--scale-type", "float8_e4m3fn"}),
            "float32, float16, bfloat16"));
}

TEST_CASE("a cast says that it is one, and scales are easy to have") {
  const Folder folder("cast");
  std::vector<float> x = noise(256);
  for (float& v : x) v *= 1000;  // beyond the range of the type
  const std::string in = model(folder, {tq::io::from_float32("w", {4, 64}, x)});
  const auto sqnr = [&](std::vector<std::string> options) {
    const Json report = quantized(folder, in, std::move(options));
    return std::pair(report["tensors"][0]["error"]["sqnr_db"].get<double>(),
                     report["cast_without_scales"].get<bool>());
  };
  const auto cast = sqnr({"--type", "float8_e4m3fn"});
  CHECK(cast.second);
  CHECK(cast.first < 15);
  for (const std::vector<std::string>& scaled :
       {std::vector<std::string>{"--type", "float8_e4m3fn", "--granularity", "per_tensor"},
        {"--type", "fp8_e4m3"},
        {"--type", "float8_e4m3fn", "--granularity", "per_channel"},
        {"--type", "float8_e4m3fn", "--scale-type", "float32"}}) {
    const auto [db, is_cast] = sqnr(scaled);
    CHECK_FALSE(is_cast);
    CHECK(db > 25);
  }
  CHECK(sqnr({"--type", "float8_e4m3fn", "--granularity", "per_tensor", "--scale-type", "none"}) ==
        cast);
  const std::string text =
      succeed({"quantize", in, folder("q.safetensors"), "--type", "float8_e4m3fn"});
  CHECK(has(text, "float8_e4m3fn cast without scales"));
  CHECK(has(text, "float8_e4m3fn is a cast without scales; --granularity"));
  CHECK_FALSE(
      has(succeed({"quantize", in, folder("q.safetensors"), "--type", "fp8_e4m3"}), "cast"));
  CHECK(has(succeed({"inspect", folder("q.safetensors")}), "float8_e4m3fn per_tensor symmetric"));
}

TEST_CASE(
    "with values that are not finite, quality is that of the finite ones, and they are counted") {
  const Folder folder("finite");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = noise(256), clean = x;
  const std::size_t places[] = {3, 77, 200};
  x[3] = nan;
  x[77] = inf;
  x[200] = -inf;
  for (const std::size_t i : places) clean[i] = 0;  // adds nothing to signal and noise
  const std::string in = folder("x.npz"), of_clean = folder("c.npz");
  tq::io::write_npz(in, std::vector{tq::io::from_float32("w", {4, 64}, x)});
  tq::io::write_npz(of_clean, std::vector{tq::io::from_float32("w", {4, 64}, clean)});
  for (const char* type : {"int8", "int4_g32", "fp8_e5m2", "float16", "nf4"}) {
    INFO(type);
    const Json got = quantized(folder, in, {"--type", type, "--allow-nonfinite"})["tensors"][0];
    const Json wanted = quantized(folder, of_clean, {"--type", type})["tensors"][0];
    CHECK(got["nan"] == 1);
    CHECK(got["infinite"] == 2);
    CHECK(wanted["nan"] == 0);
    CHECK(got["error"]["max_abs"] == wanted["error"]["max_abs"]);
    const auto near = [&](const char* key, double factor) {
      return std::abs(got["error"][key].get<double>() -
                      factor * wanted["error"][key].get<double>()) <=
             1e-9 * std::abs(got["error"][key].get<double>());
    };
    CHECK(near("sqnr_db", 1));
    CHECK(near("cosine", 1));
    CHECK(near("mse", 256.0 / 253));
    CHECK(near("mae", 256.0 / 253));
  }
  const std::string text = succeed({"quantize", in, folder("q.safetensors"), "--allow-nonfinite"});
  CHECK(has(text, "NaN/Inf"));
  CHECK(has(text, " 1/2\n"));
  CHECK(has(text, "1 NaN and 2 infinite values: SQNR and errors are those of the finite ones."));
  CHECK(has(succeed({"sweep", in, "--types", "int8", "--allow-nonfinite"}),
            "1 NaN and 2 infinite values"));
  const Json swept =
      Json::parse(succeed({"sweep", in, "--types", "int8,nf4", "--allow-nonfinite", "--json"}));
  for (const Json& scheme : swept["schemes"]) {
    CHECK(scheme["nan"] == 1);
    CHECK(scheme["infinite"] == 2);
  }
}

TEST_CASE("a long name widens no table, and JSON keeps it") {
  const Folder folder("wide");
  const std::string name = "begin_" + std::string(3000, 'n') + "_end";
  std::string umlauts = "b";
  for (int i = 0; i < 200; ++i) umlauts += "\u00fc";
  umlauts += "e";
  const std::string in =
      model(folder, {tensor("w", {4, 64}), tensor(name, {4, 64}), tensor(umlauts, {4, 64})});
  const std::string out = folder("q.safetensors"), state = folder("s.json"),
                    params = folder("p.json");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"quantize", in, out},
        {"inspect", in},
        {"inspect", out},
        {"compare", in, out},
        {"sweep", in, "--types", "int8", "--per-tensor"},
        {"calibrate", in, "-o", params, "--state", state},
        {"plot", state, "-o", folder("p.html")},
        {"report", in, out, "-o", folder("r.html")},
        {"dequantize", out, folder("back.safetensors")}}) {
    INFO(command[0]);
    std::vector<std::string> with_json = command;
    with_json.push_back("--json");
    const std::string text = succeed(command);
    CHECK(longest_line(text) < 400);
    if (command[0] != "dequantize") {
      CHECK(has(text, "begin_n"));
      CHECK(has(text, "n_end"));
      CHECK(has(text, "n\u2026n"));
      CHECK(has(text, "\u00fc\u2026\u00fc"));
    }
    CHECK(has(succeed(with_json), name));
  }
}

TEST_CASE(
    "a name that safetensors keeps for itself can be left out, and otherwise is refused with "
    "advice") {
  const Folder folder("reserved");
  const std::string in = model(folder, {tensor("w", {4, 64}), tensor("__metadata__", {4, 64})});
  const std::string out = folder("q.safetensors");
  CHECK(has(fail(1, {"quantize", in, out}),
            "\"__metadata__\": expected a name that a safetensors file can have; --exclude"));
  const Json report = quantized(folder, in, {"--exclude", "__metadata__"});
  CHECK(report["left_out"] == Json{"__metadata__"});
  CHECK(report["tensors"].size() == 1);
  CHECK(has(succeed({"quantize", in, out, "--include", "^w$"}),
            "left out, since no tensor can have this name in a safetensors file: __metadata__"));
  succeed({"dequantize", out, folder("back.safetensors")});
  CHECK(read_all(folder("back.safetensors")).size() == 1);
}

TEST_CASE("calibrate and plot take every name that formats lists") {
  const Folder folder("schemes");
  const std::string in = model(folder, {tensor("w", {8, 64})});
  const std::string state = folder("s.json"), params = folder("p.json");
  const Json listed = Json::parse(succeed({"formats", "--json"}));
  std::set<std::string> names;
  for (const Json& scheme : listed["schemes"]) names.insert(scheme["name"]);
  for (const Json& format : listed["formats"]) names.insert(format["name"]);
  CHECK(names.contains("mxfp4"));
  for (const std::string& name : names) {
    INFO(name);
    const Json report = Json::parse(
        succeed({"calibrate", in, "--type", name, "-o", params, "--state", state, "--json"}));
    const Json p = Json::parse(content(params))["w"];
    CHECK(p == report["tensors"][0]["params"]);
    succeed({"plot", state, "-o", folder("p.html"), "--type", name});
  }
}

TEST_CASE("parameters of a scheme are those of the library, scales as it stores them") {
  const Folder folder("scheme_params");
  const std::string in = model(folder, {tensor("w", {8, 64})});
  const std::vector<float> x = noise(8 * 64);
  const tq::ConstTensorView w(x.data(), {8, 64});
  const auto same = [&](const char* name, const auto& params,
                        std::vector<std::string> options = {}) {
    INFO(name);
    options.insert(options.begin(), {"calibrate", in, "--type", name, "-o", folder("p.json")});
    succeed(options);
    CHECK(Json::parse(content(folder("p.json")))["w"] == tq::io::params_to_json(params));
  };
  same("mxfp4", tq::calibrate<tq::mxfp4>(w));
  same("nvfp4", tq::calibrate<tq::nvfp4>(w));
  same("nf4_double", tq::calibrate<tq::nf4_64_double>(w));
  same("uint4_g32", tq::calibrate<tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>>(w));
  same("fp8_e4m3",
       tq::calibrate<tq::QuantParams<tq::float8_e4m3fn, tq::PerTensor, tq::Symmetric>>(w));
  using Ternary = tq::QuantParams<tq::ternary, tq::PerChannel<0>, tq::Symmetric>;
  same("ternary", tq::calibrate<Ternary, tq::MeanAbs>(w, tq::MeanAbsCalibrator{}),
       {"--calibrator", "mean_abs", "--granularity", "per_channel"});
}

TEST_CASE("a tensor without elements is calibrated as zeros are") {
  const Folder folder("nothing");
  for (const std::string& granularity : tq::detail::names_of(tq::detail::all_granularities{}))
    for (const char* type : {"int8", "uint8", "nf4"})
      for (const char* observer : {"min_max", "moving_average", "mean_std", "abs_max", "mean_abs",
                                   "histogram", "percentile"}) {
        INFO(granularity << " " << type << " " << observer);
        const std::string in = model(folder, {tensor("w", {3, 0}), tensor("v", {0, 3})});
        const std::string symmetry =
            std::string(type) == "uint8" && std::string(observer) != "mean_abs" ? "asymmetric"
                                                                                : "symmetric";
        const std::string params = folder("p.json");
        succeed({"calibrate", in, "-o", params, "--state", folder("s.json"), "--type", type,
                 "--granularity", granularity, "--observer", observer, "--symmetry", symmetry});
        const Json p = Json::parse(content(params));
        const Json q = quantized(folder, in,
                                 {"--type", type, "--numerics", "onnx", "--granularity",
                                  granularity, "--symmetry", symmetry});
        for (const Tensor& t : read_all(folder("q.safetensors")))
          if (t.name.ends_with(".scales"))
            CHECK(p[t.name.substr(0, 1)]["scales"].get<std::vector<float>>() ==
                  tq::io::to_float32(t));
        succeed({"calibrate", "--from-state", folder("s.json"), "-o", folder("again.json"),
                 "--type", type, "--symmetry", symmetry});
        CHECK(content(folder("again.json")) == content(params));
      }
}

TEST_CASE("after an empty batch values count as if it had not been") {
  const Folder folder("nothing_first");
  fs::create_directories(folder("a"));
  fs::create_directories(folder("b"));
  const auto npy = [&](const std::string& file, const Tensor& t) {
    tq::io::write_npy(folder(file), t);
  };
  npy("a/w_0000.npy", tensor("w", {2, 0}));
  npy("a/w_0001.npy", tensor("w", {5, 4}));
  npy("b/w_0000.npy", tensor("w", {5, 4}));
  for (const char* granularity : {"per_tensor", "per_channel", "per_token"}) {
    INFO(granularity);
    succeed({"calibrate", folder("a"), "-o", folder("a.json"), "--granularity", granularity});
    succeed({"calibrate", folder("b"), "-o", folder("b.json"), "--granularity", granularity});
    CHECK(content(folder("a.json")) == content(folder("b.json")));
  }
}

TEST_CASE("every accumulator that can be stored, and every calibrator, has a name in the tool") {
  const std::string help = succeed({"calibrate", "--help"});
  const fs::path headers = fs::path(test::golden_dir) / "../../include/tq";
  const auto found = [](const std::string& text, const char* pattern) {
    const std::regex expression(pattern);
    std::set<std::string> out;
    for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
      out.insert((*i)[1]);
    return out;
  };
  const std::string names = content(headers / "model/detail/accumulator_name.hpp");
  const auto observers = found(names, "accumulator_name<\\w+> = \"(\\w+)\"");
  CHECK(observers.contains("min_max"));
  for (const std::string& name : observers) {
    INFO(name);
    CHECK(has(help, name));
  }
  // AbsHistogram, which is of the same template, holds what Histogram does, of magnitudes only.
  for (const std::string& type : found(content(headers / "json/detail/accumulator_json.hpp"),
                                       "struct AccumulatorJson<(\\w+)> \\{"))
    CHECK(has(names, "accumulator_name<" + type + ">"));
  const std::map<std::string, std::string> named{
      {"MinMax", "min_max"},        {"MeanAbs", "mean_abs"}, {"MeanStd", "mean_std"},
      {"Percentile", "percentile"}, {"Mse", "mse"},          {"Lp", "lp"},
      {"KlDivergence", "kl"},       {"Entropy", "entropy"},  {"Aciq", "aciq_gauss"}};
  for (const auto& file : fs::directory_iterator(headers / "calibrate")) {
    if (!file.is_regular_file()) continue;
    for (const std::string& type : found(content(file.path()), "\nstruct (\\w+)Calibrator \\{")) {
      INFO(type);
      REQUIRE(named.contains(type));
      CHECK(has(help, named.at(type)));
    }
  }
}
