// SPDX-License-Identifier: MIT
// tq calibrate, merge-state and plot: what is observed, chosen, stored, merged and drawn, and what
// is refused.
#include "tool_test.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

using namespace tool_test;

namespace {

const std::vector<std::string> observers{"min_max", "moving_average", "mean_std",
                                         "abs_max", "histogram",      "percentile"};
const std::vector<std::string> of_histograms{"min_max", "percentile", "mse",          "lp",
                                             "kl",      "entropy",    "aciq_laplace", "aciq_gauss"};

std::vector<float> normals(std::size_t n, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

Tensor floats(const std::string& name, std::vector<std::size_t> shape, const std::vector<float>& x,
              DType dtype = DType::f32) {
  return tq::io::from_float32(name, std::move(shape), x, dtype);
}

void npy(const std::string& path, std::vector<std::size_t> shape, const std::vector<float>& x,
         DType dtype = DType::f32) {
  tq::io::write_npy(path, floats("x", std::move(shape), x, dtype));
}

// A folder with four batches of relu1 and three of attn, the last ones shorter.
void write_batches(const std::string& folder) {
  fs::create_directories(folder);
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<float> x = normals(i < 3 ? 800 : 80, 10 + i, 2);
    for (float& v : x) v = std::max(v, 0.0f);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    x[4] = std::numeric_limits<float>::infinity();
    npy(folder + "/relu1_000" + std::to_string(i) + ".npy", {x.size() / 8, 8}, x);
    if (i < 3)
      npy(folder + "/attn." + std::to_string(9 + i) + ".npy", {i < 2 ? 100u : 10u, 8},
          normals(i < 2 ? 800 : 80, 20 + i));
  }
}

Json read_json(const std::string& path) { return Json::parse(content(path)); }

std::map<std::string, Json> calibrated(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"calibrate", "--json"});
  const Json report = Json::parse(succeed(arguments));
  std::map<std::string, Json> tensors;
  for (const Json& t : report["tensors"]) tensors[t["name"]] = t;
  return tensors;
}

using A8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
using C8 = tq::QuantParams<tq::int8, tq::PerChannel<>, tq::Asymmetric>;

}  // namespace

TEST_CASE("batches in files are observed by name, and parameters are those of the library") {
  const Folder folder("calibrate");
  write_batches(folder("acts"));
  const std::string out = folder("p.json"), state = folder("s.json");
  const auto tensors = calibrated({folder("acts"), "--calibrator", "mse", "--symmetry",
                                   "asymmetric", "-o", out, "--state", state});
  CHECK(folder.files() == std::set<std::string>{"acts", "p.json", "s.json"});
  CHECK(tensors.size() == 2);
  CHECK(tensors.at("relu1")["batches"] == 4);
  CHECK(tensors.at("relu1")["values"] == 2480);
  CHECK(tensors.at("relu1")["nan"] == 4);
  CHECK(tensors.at("relu1")["infinite"] == 4);
  CHECK(tensors.at("attn")["batches"] == 3);

  tq::Observer<tq::Histogram> attn({}, {}, "attn");
  for (unsigned i = 0; i < 3; ++i) attn.observe(normals(i < 2 ? 800 : 80, 20 + i));
  const A8 expected = tq::calibrate<A8>(attn, tq::MseCalibrator{});
  const Json params = read_json(out);
  CHECK(tq::io::params_from_json<A8>(params["attn"]) == expected);
  CHECK(tq::io::params_from_json<tq::QuantParams<tq::int8, tq::AnyGranularity, tq::Asymmetric>>(
            params["attn"])
            .scales()[0] == expected.scales()[0]);
  CHECK(params.size() == 2);
  CHECK(tensors.at("attn")["params"] == params["attn"]);
  const tq::Range range = tq::MseCalibrator{}.range<A8, tq::numerics::onnx>(attn.accumulators()[0]);
  CHECK(tensors.at("attn")["chosen"] == Json{{"min", {range.min}}, {"max", {range.max}}});
  const Json stored = read_json(state);
  CHECK(stored["version"] == 1);
  CHECK(stored["tensors"][0] == tq::io::observer_to_json(attn));

  const std::string text = succeed({"calibrate", folder("acts"), "-o", out});
  CHECK(has(text, "min_max, min_max"));
  CHECK(has(text, "4/4"));
  CHECK(
      has(text, "2 tensors, 4 160 values from 7 files, 8 skipped; parameters for int8 symmetric"));
}

TEST_CASE("the estimated accuracy is the one that quantizing has") {
  const Folder folder("estimate");
  npy(folder("x.npy"), {200, 100}, normals(20000, 1));
  for (const char* type :
       {"int8", "int4", "uint8", "int16", "float8_e4m3fn", "float4_e2m1fn", "nf4", "bfloat16"}) {
    INFO(type);
    const auto t = calibrated({folder("x.npy"), "--observer", "histogram", "--calibrator",
                               "min_max", "--type", type, "-o", folder("p.json")});
    const Json r = Json::parse(
        succeed({"quantize", folder("x.npy"), folder("q.safetensors"), "--json", "--type", type,
                 "--granularity", "per_tensor", "--scale-type", "float32"}));
    CHECK(std::abs(t.at("x")["sqnr_db"].get<double>() -
                   r["tensors"][0]["error"]["sqnr_db"].get<double>()) < 0.3);
    CHECK(t.at("x")["clipped"].get<double>() < 1e-9);
  }
}

TEST_CASE("the true accuracy lies within what is said of the estimated one") {
  const Folder folder("within");
  const auto changed = [](unsigned seed, auto&& change) {
    std::vector<float> x = normals(10000, seed);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = change(x[i], i);
    return x;
  };
  const std::map<std::string, std::vector<float>> data{
      {"normal", normals(10000, 1)},
      {"one far out", changed(2, [](float v, std::size_t i) { return i == 500 ? 1e6f : v; })},
      {"nine far out",
       changed(3, [](float v, std::size_t i) { return i % 1200 == 0 ? 1e5f * (v + 9) : v; })},
      {"a hundred far out",
       changed(4, [](float v, std::size_t i) { return i % 100 == 0 ? 1e4f * v : v; })},
      {"mask", changed(5, [](float v, std::size_t) { return v > 0 ? 1.0f : 0.0f; })},
      {"additive mask",
       changed(6, [](float v, std::size_t i) { return i % 2 == 0 ? -65504.0f : v; })},
      {"relu", changed(7, [](float v, std::size_t) { return std::max(v, 0.0f); })},
      {"grid", changed(8, [](float v, std::size_t) { return 0.01f * std::nearbyint(40 * v); })},
      {"far from zero", changed(9, [](float v, std::size_t) { return 1000 + 0.001f * v; })},
      {"every size", changed(10, [](float v, std::size_t) { return std::exp(6 * v); })},
      {"cubes", changed(11, [](float v, std::size_t) { return v * v * v; })}};
  std::vector<Tensor> tensors;
  for (const auto& [name, x] : data) tensors.push_back(floats(name, {100, x.size() / 100}, x));
  tq::io::write_safetensors(folder("x.safetensors"), tensors);
  const auto number = [](const Json& of, const std::string& key) {
    if (of.at(key).is_number()) return of.at(key).get<double>();
    return std::stod(of.at("nonfinite").at(key).get<std::string>());
  };
  const std::vector<std::pair<std::string, std::string>> schemes{
      {"int8", "symmetric"},          {"int4", "symmetric"}, {"int16", "symmetric"},
      {"float8_e4m3fn", "symmetric"}, {"nf4", "symmetric"},  {"uint4", "float_offset"},
      {"int8", "float_offset"}};
  for (const auto& [type, symmetry] : schemes) {
    const auto told =
        calibrated({folder("x.safetensors"), "--observer", "histogram", "--calibrator", "min_max",
                    "--type", type, "--symmetry", symmetry, "-o", folder("p.json")});
    const Json r = Json::parse(succeed(
        {"quantize", folder("x.safetensors"), folder("q.safetensors"), "--all", "--json", "--type",
         type, "--symmetry", symmetry, "--granularity", "per_tensor", "--scale-type", "float32"}));
    CHECK(r["tensors"].size() == data.size());
    for (const Json& t : r["tensors"]) {
      const Json& estimate = told.at(t["name"]);
      const double is = number(t["error"], "sqnr_db"), said = number(estimate, "sqnr_db"),
                   least = number(estimate, "sqnr_db_min"), most = number(estimate, "sqnr_db_max");
      INFO(type << " " << symmetry << " of " << t["name"] << ": " << is << ", estimated " << said
                << ", within " << least << " to " << most);
      CHECK(least <= said + 1e-9);
      CHECK(said <= most + 1e-9);
      CHECK(least - 1e-4 <= is);
      CHECK(is <= most + 1e-4);
      if (t["name"] == "one far out" && type == "int8" && symmetry == "symmetric") {
        CHECK(std::abs(said - is) < 0.01);
        CHECK(said > 79);
        CHECK(most - least < 0.1);
      }
    }
  }
  // Half of the values lie where they lie, whatever else there is.
  succeed({"calibrate", folder("x.safetensors"), "--observer", "histogram", "--state",
           folder("s.json")});
  succeed({"plot", folder("s.json"), "-o", folder("p.html"), "--tensor", "one far out"});
  CHECK(has(content(folder("p.html")), "Half of the values lie between -0.7 and 0.6"));
}

TEST_CASE("float offsets are estimated as quantizing has them, stored and drawn") {
  const Folder folder("calibrate_offsets");
  std::vector<float> x = normals(20000, 1);
  for (float& v : x) v += 100;
  npy(folder("x.npy"), {200, 100}, x);
  const std::vector<std::string> scheme{"--type", "uint4", "--symmetry", "float_offset"};
  const auto with_scheme = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), scheme.begin(), scheme.end());
    return arguments;
  };
  using O4 = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
  for (const char* calibrator : {"min_max", "mse"}) {
    INFO(calibrator);
    const Json told = calibrated(with_scheme({folder("x.npy"), "--observer", "histogram",
                                              "--calibrator", calibrator, "-o", folder("p.json")}))
                          .at("x");
    const O4 params = tq::io::params_from_json<O4>(read_json(folder("p.json"))["x"]);
    CHECK(params.offsets()[0] > 90);
    double signal = 0, noise = 0;
    const float scale = params.scales()[0], offset = params.offsets()[0];
    for (const float v : x) {
      const float code = std::clamp(std::nearbyint((v - offset) / scale), 0.0f, 15.0f);
      signal += double{v} * double{v};
      noise += std::pow(double{v} - double{code * scale + offset}, 2);
    }
    const double is = 10 * std::log10(signal / noise);
    CHECK(std::abs(told["sqnr_db"].get<double>() - is) < 0.1);
    CHECK(told["sqnr_db_min"].get<double>() <= is);
    CHECK(told["sqnr_db_max"].get<double>() >= is);
    CHECK((told["clipped"] > 0) == (calibrator == std::string("mse")));
  }
  const std::string text =
      succeed(with_scheme({"calibrate", folder("x.npy"), "-o", folder("p.json")}));
  CHECK(has(text, "offset"));
  CHECK_FALSE(has(text, "zero point"));

  succeed({"calibrate", folder("x.npy"), "--observer", "histogram", "--state", folder("s.json")});
  const Json report = Json::parse(
      succeed(with_scheme({"plot", folder("s.json"), "-o", folder("p.html"), "--json"})));
  std::vector<std::string> drawn;
  for (const Json& c : report["tensors"][0]["calibrators"]) {
    drawn.push_back(c["name"]);
    CHECK(c["offset"] == c["covered"]["min"]);
    CHECK_FALSE(c.contains("zero_point"));
  }
  CHECK(drawn == std::vector<std::string>{"mse", "min_max", "percentile", "lp", "entropy"});
  CHECK(has(content(folder("p.html")), "<th>offset</th>"));

  // Calibrators and types without offsets are refused before any data is read.
  CHECK(has(fail(2, with_scheme({"calibrate", folder("none.npy"), "--calibrator", "kl", "-o",
                                 folder("q.json")})),
            "calibrator kl: expected a symmetry without offsets"));
  CHECK(has(fail(2, {"calibrate", folder("none.npy"), "--type", "mxint8", "--symmetry",
                     "float_offset", "-o", folder("q.json")}),
            "expected scale_type to be one of float32, float16, bfloat16"));
}

TEST_CASE(
    "the name of a .npy file ends before its number, and batches come in the order of the "
    "numbers") {
  const Folder folder("names");
  const auto value = [&](const std::string& file, float v) { npy(folder(file), {1}, {v}); };
  for (const char* file : {"a_0.npy", "b.2.npy", "c-03.npy", "relu1.npy", "relu1_7.npy", "_5.npy",
                           "12.npy", "x.y_1.npy"})
    value(file, 1);
  const auto tensors = calibrated({folder(""), "-o", folder("p.json")});
  std::string names;
  for (const auto& [name, t] : tensors) names += name + ":" + t["batches"].dump() + " ";
  CHECK(names == "12:1 _5:1 a:1 b:1 c:1 relu1:2 x.y:1 ");
  // 2 comes before 10, as 02 would; the first batch counts most with a constant this small.
  const Folder order("order");
  const auto moving = [&] {
    return calibrated({order(""), "--observer", "moving_average", "--constant", "0.25", "-o",
                       order("p.json")})
        .at("a")["chosen"];
  };
  npy(order("a_2.npy"), {1}, {4});
  npy(order("a_10.npy"), {1}, {8});
  CHECK(moving() == Json{{"min", {5.0}}, {"max", {5.0}}});
  npy(order("a_01.npy"), {1}, {12});
  CHECK(moving() == Json{{"min", {9.5}}, {"max", {9.5}}});  // 12, then 4, then 8
  // Files that are named come in the order they are named in.
  CHECK(calibrated({order("a_10.npy"), order("a_2.npy"), "--observer", "moving_average",
                    "--constant", "0.25", "-o", order("p.json")})
            .at("a")["chosen"]["min"] == Json{7.0});
}

TEST_CASE("every kind of file and of number is read") {
  const Folder folder("kinds");
  const std::vector<float> x{-2, 1, 3, 0.5f};
  npy(folder("a.npy"), {4}, x, DType::f16);
  tq::io::write_npz(folder("b.npz"),
                    std::vector<Tensor>{floats("a", {2, 2}, {8, 1, 1, 1}, DType::f64),
                                        tq::io::from_values<std::int64_t>(
                                            "ids", {3}, std::vector<std::int64_t>{7, -9, 0})});
  tq::io::write_safetensors(folder("c.safetensors"),
                            std::vector<Tensor>{floats("a", {4}, {-16, 1, 1, 1}, DType::bf16),
                                                tq::io::from_values<std::uint8_t>(
                                                    "u", {2}, std::vector<std::uint8_t>{3, 255})});
  const auto t = calibrated(
      {folder("a.npy"), folder("b.npz"), folder("c.safetensors"), "-o", folder("p.json")});
  CHECK(t.size() == 3);
  CHECK(t.at("a")["batches"] == 3);
  CHECK(t.at("a")["observed"] == Json{{"min", -16.0}, {"max", 8.0}});
  CHECK(t.at("ids")["observed"] == Json{{"min", -9.0}, {"max", 7.0}});
  CHECK(t.at("u")["observed"]["max"] == 255.0);
  // The codes that tq quantize wrote are read as their values.
  succeed({"quantize", folder("c.safetensors"), folder("q.safetensors"), "--all", "--type", "int16",
           "--granularity", "per_tensor"});
  const Json q = calibrated({folder("q.safetensors"), "-o", folder("p.json")}).at("a")["observed"];
  CHECK(std::abs(q["min"].get<double>() + 16) < 1e-3);
}

TEST_CASE("every granularity has its slots and its parameters") {
  const Folder folder("granularity");
  npy(folder("x_0.npy"), {16, 6, 10}, normals(960, 1));
  npy(folder("x_1.npy"), {4, 6, 10}, normals(240, 2, 3));
  const auto run_with = [&](std::vector<std::string> options) {
    options.insert(options.end(), {folder("x_0.npy"), folder("x_1.npy"), "--symmetry", "asymmetric",
                                   "--calibrator", "percentile", "--observer", "histogram", "-o",
                                   folder("p.json"), "--state", folder("s.json")});
    return calibrated(options).at("x");
  };
  const Json channels = run_with({"--granularity", "per_channel", "--axis", "1"});
  CHECK(channels["slots"] == 6);
  tq::Observer<tq::Histogram, tq::PerChannel<>> expected(tq::PerChannel<>(1));
  expected.observe(tq::ConstTensorView(normals(960, 1).data(), {16, 6, 10}));
  const std::vector<float> second = normals(240, 2, 3);
  expected.observe(tq::ConstTensorView(second.data(), {4, 6, 10}));
  CHECK(tq::io::params_from_json<C8>(read_json(folder("p.json"))["x"]) ==
        tq::calibrate<C8>(expected, tq::PercentileCalibrator{}));
  const auto first = [&](std::vector<std::string> options) {
    options.insert(options.end(),
                   {folder("x_0.npy"), "-o", folder("p.json"), "--state", folder("s.json")});
    const Json t = calibrated(options).at("x");
    CHECK(t["params"]["scales"].size() == t["slots"]);
    CHECK(t["params"] == read_json(folder("p.json"))["x"]);
    CHECK(read_json(folder("s.json"))["tensors"][0]["granularity"]["name"] ==
          t["params"]["granularity"]);
    return t["slots"];
  };
  CHECK(first({"--granularity", "per_channel"}) == 16);
  CHECK(first({"--granularity", "per_group", "--group-size", "4"}) == 16 * 6 * 3);
  CHECK(first({"--granularity", "per_group", "--group-size", "5", "--axis", "0"}) == 4 * 60);
  CHECK(first({"--granularity", "per_token"}) == 96);
  CHECK(first({"--granularity", "per_block", "--block-rows", "4", "--block-cols", "8"}) ==
        16 * 2 * 2);
  CHECK(has(succeed({"calibrate", folder("x_0.npy"), "--granularity", "per_channel", "-o",
                     folder("p.json")}),
            "Of several slots, ranges are those of all together."));
}

TEST_CASE("states are calibrated as the data they are from, by any calibrator that can") {
  const Folder folder("states");
  write_batches(folder("acts"));
  std::size_t pairs = 0;
  for (const std::string& observer : observers) {
    succeed({"calibrate", folder("acts"), "--observer", observer, "--state",
             folder(observer + ".json")});
    for (const std::string calibrator : {"min_max", "percentile", "mean_std", "mse", "lp", "kl",
                                         "entropy", "aciq_laplace", "aciq_gauss"}) {
      INFO(observer << ' ' << calibrator);
      const std::vector<std::string> options{"--calibrator", calibrator, "--type", "int4"};
      std::vector<std::string> direct{"calibrate", folder("acts"), "--observer",
                                      observer,    "-o",           folder("a.json")};
      std::vector<std::string> stored{"calibrate", "--from-state", folder(observer + ".json"), "-o",
                                      folder("b.json")};
      direct.insert(direct.end(), options.begin(), options.end());
      stored.insert(stored.end(), options.begin(), options.end());
      if (run(direct).status == 0) {
        succeed(stored);
        CHECK(content(folder("a.json")) == content(folder("b.json")));
        ++pairs;
      } else {
        const std::string text = fail(2, direct);
        CHECK(has(text, "calibrator " + calibrator + ": expected observer "));
        CHECK(has(text, "got " + observer));
        CHECK(has(fail(2, stored), "tensor \"attn\": calibrator " + calibrator));
      }
    }
  }
  CHECK(pairs == 6 + 2 + 1 + 2 + 2 + 1 + 1 + 1 + 2);
  // Without --calibrator, what suits the observer; without --observer, what the calibrator needs.
  CHECK(calibrated({"--from-state", folder("percentile.json"), "-o", folder("a.json")})
            .at("attn")["calibrator"] == "percentile");
  CHECK(calibrated({"--from-state", folder("histogram.json"), "-o", folder("a.json")})
            .at("attn")["calibrator"] == "mse");
  CHECK(calibrated({folder("acts"), "--calibrator", "aciq_gauss", "-o", folder("a.json")})
            .at("attn")["observer"] == "mean_std");
  CHECK(calibrated({folder("acts"), "--calibrator", "entropy", "-o", folder("a.json")})
            .at("attn")["observer"] == "histogram");
  CHECK(calibrated({folder("acts"), "--observer", "moving_average", "-o", folder("a.json")})
            .at("attn")["calibrator"] == "min_max");
}

TEST_CASE("merged states are those of all the data, byte for byte") {
  const Folder folder("merge");
  write_batches(folder("acts"));
  const auto part = [&](const std::string& observer, const std::string& out,
                        std::vector<std::string> files, std::vector<std::string> options) {
    for (std::string& f : files) f = folder("acts/" + f);
    options.insert(options.begin(), {"calibrate", "--observer", observer, "--state", folder(out)});
    options.insert(options.end(), files.begin(), files.end());
    succeed(options);
  };
  for (const std::string& observer : observers)
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{}, {"--granularity", "per_channel", "--axis", "-1"}}) {
      INFO(observer);
      part(observer, "whole.json",
           {"attn.9.npy", "relu1_0000.npy", "attn.10.npy", "relu1_0001.npy", "attn.11.npy",
            "relu1_0002.npy", "relu1_0003.npy"},
           options);
      part(observer, "a.json", {"attn.9.npy", "relu1_0000.npy", "relu1_0001.npy"}, options);
      part(observer, "b.json", {"relu1_0002.npy"}, options);
      part(observer, "c.json", {"attn.10.npy", "attn.11.npy", "relu1_0003.npy"}, options);
      succeed({"merge-state", folder("a.json"), folder("b.json"), folder("c.json"), "-o",
               folder("m.json")});
      CHECK(content(folder("m.json")) == content(folder("whole.json")));
      // In two steps.
      succeed({"merge-state", folder("b.json"), folder("c.json"), "-o", folder("d.json")});
      succeed({"merge-state", folder("a.json"), folder("d.json"), "-o", folder("m.json")});
      CHECK(content(folder("m.json")) == content(folder("whole.json")));
      succeed({"merge-state", folder("m.json"), "-o", folder("n.json")});
      CHECK(content(folder("n.json")) == content(folder("whole.json")));
    }
  const Json report = Json::parse(succeed(
      {"merge-state", "--json", folder("a.json"), folder("b.json"), "-o", folder("m.json")}));
  CHECK(report["total"] == Json{{"tensors", 2}, {"values", 3200}});
  CHECK(report["tensors"][1]["batches"] == 3);
  CHECK(has(succeed({"merge-state", folder("a.json"), "-o", folder("m.json")}),
            "2 tensors, 2 400 values of 1 files"));
}

TEST_CASE("states that do not belong together are not merged") {
  const Folder folder("apart");
  npy(folder("x.npy"), {4, 6}, normals(24, 1));
  npy(folder("y.npy"), {4, 6}, normals(24, 1));
  fs::create_directories(folder("other"));
  npy(folder("other/x.npy"), {5, 6}, normals(30, 1));
  const auto state = [&](const std::string& data, const std::string& out,
                         std::vector<std::string> options) {
    options.insert(options.begin(), {"calibrate", folder(data), "--state", folder(out)});
    succeed(options);
  };
  state("x.npy", "a.json", {});
  const auto refused = [&](const std::string& b) {
    const std::string text =
        fail(1, {"merge-state", folder("a.json"), folder(b), "-o", folder("m.json")});
    CHECK(has(text, folder(b) + ": tensor \"x\": expected "));
    CHECK_FALSE(fs::exists(folder("m.json")));
    return text;
  };
  state("x.npy", "b.json", {"--observer", "histogram"});
  CHECK(has(refused("b.json"), "observer min_max per_tensor, got histogram per_tensor"));
  state("x.npy", "b.json", {"--granularity", "per_channel"});
  CHECK(has(refused("b.json"), "got min_max per_channel(axis 0)"));
  state("x.npy", "c.json", {"--granularity", "per_channel", "--axis", "1"});
  CHECK(has(fail(1, {"merge-state", folder("b.json"), folder("c.json"), "-o", folder("m.json")}),
            "per_channel(axis 1)"));
  state("other/x.npy", "c.json", {"--granularity", "per_channel"});
  CHECK(has(fail(1, {"merge-state", folder("b.json"), folder("c.json"), "-o", folder("m.json")}),
            "expected 4 slots per_channel(axis 0), got 5"));
  state("x.npy", "b.json", {"--observer", "moving_average"});
  state("x.npy", "c.json", {"--observer", "moving_average", "--constant", "0.5"});
  CHECK(has(fail(1, {"merge-state", folder("b.json"), folder("c.json"), "-o", folder("m.json")}),
            "constant 0.01"));
  // A tensor that only one of them knows is kept.
  state("y.npy", "b.json", {"--observer", "histogram"});
  succeed({"merge-state", folder("a.json"), folder("b.json"), "-o", folder("m.json")});
  CHECK(read_json(folder("m.json"))["tensors"].size() == 2);
  CHECK(has(fail(1, {"merge-state", folder("a.json"), folder("none.json"), "-o", folder("m.json")}),
            "No such file"));
  CHECK(
      has(fail(1, {"merge-state", folder("a.json"), "-o", folder("none/m.json")}), "No such file"));
  const std::string before = content(folder("a.json"));
  CHECK(has(fail(2, {"merge-state", folder("a.json"), folder("b.json"), "-o", folder("a.json")}),
            "-o: expected another file than STATE"));
  CHECK(content(folder("a.json")) == before);
  CHECK(has(fail(2, {"merge-state", folder("a.json"), "-o", folder("m.txt")}),
            "-o: expected a name ending in .json, got "));
  CHECK(has(fail(2, {"merge-state", folder("a.json")}), "output"));
  CHECK(has(fail(2, {"merge-state", "-o", folder("m.json")}), "STATE"));
}

TEST_CASE("options that make no sense are refused before any data is read") {
  const Folder folder("usage2");
  const std::string x = folder("x.npy"), out = folder("p.json");
  npy(x, {2, 2}, {1, 2, 3, 4});
  const auto refused = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"calibrate", x, "-o", out});
    const std::string text = fail(2, options);
    CHECK(folder.files() == std::set<std::string>{"x.npy"});
    return text;
  };
  CHECK(has(refused({"--observer", "minmax"}),
            "expected one of min_max, moving_average, mean_std, abs_max, mean_abs, histogram, "
            "percentile, "
            "got \"minmax\""));
  CHECK(has(refused({"--calibrator", "best"}),
            "expected one of min_max, percentile, mean_abs, mean_std, mse, lp, kl, entropy, "
            "aciq_laplace, "
            "aciq_gauss, got \"best\""));
  CHECK(has(refused({"--observer", "min_max", "--calibrator", "mse"}),
            "calibrator mse: expected observer histogram, percentile, got min_max"));
  CHECK(has(refused({"--observer", "abs_max", "--calibrator", "percentile"}),
            "expected observer percentile, histogram, got abs_max"));
  CHECK(has(refused({"--observer", "percentile", "--calibrator", "aciq_gauss"}),
            "expected observer mean_std, histogram, got percentile"));
  CHECK(has(refused({"--type", "int9"}), "int2, int3, int4"));
  CHECK(has(refused({"--type", "mxfp5"}), "or a scheme (fp8_e4m3"));
  CHECK(has(refused({"--symmetry", "none"}),
            "symmetric, symmetric_narrow, symmetric_half, symmetric_half_down, asymmetric"));
  CHECK(has(refused({"--type", "nf4", "--symmetry", "asymmetric"}), "type nf4"));
  CHECK(has(refused({"--granularity", "per_row"}), "per_tensor, per_channel"));
  CHECK(has(refused({"--granularity", "per_group", "--group-size", "0"}), "at least 1, got 0"));
  CHECK(has(refused({"--granularity", "per_channel", "--axis", "8"}), "[-8, 8), got 8"));
  CHECK(has(refused({"--observer", "moving_average", "--constant", "0"}), "(0, 1]"));
  CHECK(has(refused({"--calibrator", "percentile", "--lower", "0.5", "--upper", "0.4"}),
            "0 <= lower <= upper <= 1"));
  CHECK(has(refused({"--calibrator", "percentile", "--upper", "99.9"}), "upper"));
  CHECK(has(refused({"--calibrator", "mean_std", "--deviations", "-1"}), "deviations"));
  CHECK(has(refused({"--calibrator", "lp", "--norm", "0"}), "norm"));
  CHECK(has(refused({"--calibrator", "lp", "--norm", "much"}), "norm"));
  CHECK(has(refused({"--from-state", x}), "both"));
  CHECK(has(refused({"--state", out}), "another file than -o"));
  CHECK(has(fail(2, {"calibrate", "-o", out}), "neither"));
  CHECK(has(fail(2, {"calibrate", x}), "expected -o or --state"));
  CHECK(has(fail(2, {"calibrate", x, "-o", x}), "-o: expected a name ending in .json, got "));
  CHECK(has(fail(2, {"calibrate", x, "-o", out, "--state", folder("s")}), "--state: expected"));
  // settings of another calibrator, observer or granularity
  CHECK(has(refused({"--lower", "0.1"}), "--lower: expected calibrator percentile, got min_max"));
  CHECK(has(refused({"--calibrator", "lp", "--upper", "0.9"}), "--upper: expected calibrator"));
  CHECK(has(refused({"--norm", "2"}), "--norm: expected calibrator lp, got min_max"));
  CHECK(has(refused({"--deviations", "2"}), "--deviations: expected calibrator mean_std"));
  CHECK(has(refused({"--constant", "0.5"}),
            "--constant: expected observer moving_average, got min_max"));
  CHECK(has(refused({"--axis", "0"}),
            "--axis: expected granularity per_channel or per_group, got per_tensor"));
  CHECK(has(refused({"--granularity", "per_channel", "--group-size", "4"}),
            "--group-size: expected granularity per_group, got per_channel"));
  CHECK(has(refused({"--block-rows", "4"}), "--block-rows: expected granularity per_block"));
  CHECK(has(refused({"--include", "*"}), "--include: expected a regular expression"));
  succeed({"calibrate", x, "--state", folder("s.json")});
  const auto stored = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"calibrate", "--from-state", folder("s.json")});
    return fail(2, options);
  };
  CHECK(has(stored({"-o", out, "--observer", "min_max"}), "--observer"));
  CHECK(has(stored({"-o", out, "--axis", "0"}), "--axis: expected none"));
  CHECK(has(stored({"-o", out, "--constant", "0.5"}), "--constant: expected none"));
  CHECK(has(stored({"-o", out, "--norm", "2"}), "--norm: expected calibrator lp, got min_max"));
  CHECK(has(stored({"-o", out, "--granularity", "per_tensor"}), "--granularity: expected none"));
  CHECK(has(stored({"--state", folder("t.json")}), "--state"));
  CHECK(has(stored({"-o", folder("s.json")}), "another file"));
  CHECK(has(fail(2, {"plot", folder("s.json"), "-o", folder("p.txt")}), ".html"));
  CHECK(has(fail(2, {"plot", folder("s.json"), "-o", folder("p.html"), "--type", "nf4",
                     "--symmetry", "asymmetric"}),
            "nf4"));
  CHECK(has(fail(2, {"plot", folder("s.json")}), "output"));
  CHECK(has(fail(2, {"plot", folder("s.json"), "-o", folder("p.html"), "--norm", "2"}),
            "--norm: expected calibrator lp, got min_max"));
  CHECK(folder.files() == std::set<std::string>{"x.npy", "s.json"});
}

TEST_CASE("data that cannot be calibrated leave the outputs as they were") {
  const Folder folder("bad_data");
  fs::create_directories(folder("empty"));
  fs::create_directories(folder("empty.json"));
  std::ofstream(folder("empty/notes.txt")) << "no data";
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  npy(folder("good.npy"), {2, 2}, {1, 2, 3, 4});
  npy(folder("nan.npy"), {2, 2}, {nan, nan, nan, nan});
  npy(folder("column.npy"), {2, 2}, {1, nan, 3, std::numeric_limits<float>::infinity()});
  npy(folder("deep.npy"), std::vector<std::size_t>(9, 1), {1});
  npy(folder("w_0.npy"), {2, 2}, {1, 2, 3, 4});
  npy(folder("w_1.npy"), {2, 3}, {1, 2, 3, 4, 5, 6});
  std::ofstream(folder("p.json")) << "old parameters";
  std::ofstream(folder("s.json")) << "old states";
  const std::set<std::string> files = folder.files();
  const auto refused = [&](std::vector<std::string> arguments) {
    for (std::string& a : arguments)
      if (a.ends_with(".npy") || a.ends_with("empty")) a = folder(a);
    arguments.insert(arguments.begin(), {"calibrate", "--overwrite", "-o", folder("p.json"),
                                         "--state", folder("s.json")});
    const std::string text = fail(1, arguments);
    CHECK(folder.files() == files);
    CHECK(content(folder("p.json")) == "old parameters");
    CHECK(content(folder("s.json")) == "old states");
    return text;
  };
  CHECK(has(refused({"empty"}),
            "empty: expected .npy, .npz or .safetensors files in the folder, got none"));
  CHECK(has(refused({"good.npy", "none.npy"}), "No such file"));
  CHECK(has(refused({"nowhere"}), "nowhere: No such file or directory"));
  for (const std::string& observer : observers)
    CHECK(has(refused({"good.npy", "nan.npy", "--observer", observer}),
              "tensor \"nan\": expected finite values in every slot, got none in slot 0 of 1; "
              "--exclude it"));
  CHECK(has(refused({"column.npy", "--granularity", "per_channel", "--axis", "1"}),
            "tensor \"column\": expected finite values in every slot, got none in slot 1 of 2"));
  CHECK(has(refused({"good.npy", "--granularity", "per_channel", "--axis", "2"}),
            "good.npy: tensor \"good\": observe: expected a tensor with an axis 2 for per_channel, "
            "got shape [2, 2]"));
  CHECK(has(refused({"deep.npy"}), "tensor \"deep\""));
  CHECK(has(refused({"w_0.npy", "w_1.npy", "--granularity", "per_channel", "--axis", "1"}),
            "w_1.npy: tensor \"w\": expected 2 slots per_channel(axis 1) as in the batches before, "
            "got 3 from shape [2, 3]"));
  CHECK(has(refused({golden("npy/bad/data_cut.npy")}), "data_cut"));
  CHECK(has(refused({golden("npy/README.md")}), ".npy, .npz, .safetensors, .index.json or .gguf"));
  tq::io::write_safetensors(folder("../empty.safetensors"), std::vector<Tensor>{});
  CHECK(has(refused({folder("../empty.safetensors")}), "expected tensors, got none"));
  CHECK(has(fail(1, {"calibrate", folder("good.npy"), "--overwrite", "-o", folder("p.json"),
                     "--state", folder("none/s.json")}),
            "No such file"));
  CHECK(
      has(fail(1, {"calibrate", folder("good.npy"), "-o", folder("none/p.json")}), "No such file"));
  CHECK(
      has(fail(1, {"calibrate", folder("good.npy"), "-o", folder("empty.json")}), "regular file"));
  CHECK(content(folder("p.json")) == "old parameters");
  CHECK(folder.files() == files);
  // The state may be stored all the same: other data may fill the slot.
  succeed({"calibrate", folder("nan.npy"), "--state", folder("s.json"), "--overwrite"});
  CHECK(has(fail(1, {"calibrate", "--from-state", folder("s.json"), "-o", folder("p.json"),
                     "--overwrite"}),
            "tensor \"nan\""));
}

TEST_CASE("include and exclude choose what is observed, or what is taken from a state") {
  const Folder folder("choose2");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  npy(folder("good_0.npy"), {2}, {1, 2});
  npy(folder("good_1.npy"), {2}, {3, 4});
  npy(folder("nan.npy"), {2}, {nan, nan});
  npy(folder("nothing.npy"), {0}, {});
  const auto names = [](const std::map<std::string, Json>& tensors) {
    std::string text;
    for (const auto& [name, t] : tensors) text += name + ":" + t.at("batches").dump() + " ";
    return text;
  };
  const std::string data = folder(""), out = folder("p.json"), state = folder("s.json");
  CHECK(names(calibrated({data, "-o", out, "--exclude", "^n"})) == "good:2 ");
  CHECK(read_json(out).size() == 1);
  CHECK(names(calibrated({data, "-o", out, "--include", "o", "--exclude", "nothing"})) ==
        "good:2 ");
  CHECK(names(calibrated({data, "--state", state, "--exclude", "nothing"})) == "good:2 nan:1 ");
  CHECK(names(calibrated({"--from-state", state, "-o", out, "--include", "good"})) == "good:2 ");
  CHECK(has(fail(1, {"calibrate", data, "-o", out, "--include", "^x"}),
            "--include \"^x\" matches none of the 3 tensors"));
  CHECK(has(fail(1, {"calibrate", "--from-state", state, "-o", out, "--include", "^x"}),
            "matches none of the 2 tensors"));
}

TEST_CASE("a number of --group-size asks for groups") {
  const Folder folder("groups");
  npy(folder("x.npy"), {4, 64}, normals(256, 1));
  const Json t =
      calibrated({folder("x.npy"), "-o", folder("p.json"), "--group-size", "16"}).at("x");
  CHECK(t["granularity"] == "per_group(16, axis -1)");
  CHECK(t["slots"] == 16);
}

TEST_CASE("what float32 cannot hold is not observed as infinite") {
  const Folder folder("wide");
  tq::io::write_npy(folder("x.npy"),
                    tq::io::from_values<double>("x", {2}, std::vector<double>{1, 1e300}));
  const std::string text = fail(1, {"calibrate", folder("x.npy"), "-o", folder("p.json")});
  CHECK(has(text, "tensor \"x\": expected values that float32 holds, got 1"));
  CHECK(folder.files() == std::set<std::string>{"x.npy"});
}

TEST_CASE("a damaged state is refused by every command, and named") {
  const Folder folder("damaged_state");
  npy(folder("x.npy"), {20, 10}, normals(200, 1));
  succeed({"calibrate", folder("x.npy"), "--observer", "histogram", "--state", folder("s.json")});
  const std::string good = content(folder("s.json"));
  const Json document = Json::parse(good);
  const std::set<std::string> files{"x.npy", "s.json", "bad.json"};
  const auto refused = [&](const std::string& text) {
    std::ofstream(folder("bad.json")) << text;
    const std::string message =
        fail(1, {"calibrate", "--from-state", folder("bad.json"), "-o", folder("p.json")});
    fail(1, {"merge-state", folder("s.json"), folder("bad.json"), "-o", folder("m.json")});
    fail(1, {"plot", folder("bad.json"), "-o", folder("p.html")});
    CHECK(folder.files() == files);
    CHECK(has(message, folder("bad.json") + ": "));
    return message;
  };
  const auto with = [&](auto&& change) {
    Json j = document;
    change(j);
    return refused(j.dump());
  };
  const auto tensor = [&](const char* key, const Json& value) {
    return with([&](Json& j) { j["tensors"][0][key] = value; });
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 3})
    CHECK(has(refused(good.substr(0, size)), "expected a JSON document"));
  CHECK(has(refused("[]"), "expected an object, got an array"));
  CHECK(has(refused(R"({"version": 1, "version": 1})"), "every key once"));
  CHECK(has(refused(std::string(5000, '[')), "64 deep"));
  CHECK(has(refused("\xff\xfe"), "expected a JSON document"));
  CHECK(has(refused(R"({"attn": {"type": "int8"}})"), "version: expected a value, got none"));
  CHECK(has(with([](Json& j) { j["version"] = 2; }), "version: expected 1, got 2"));
  CHECK(has(with([](Json& j) { j["extra"] = 2; }), "\"extra\""));
  CHECK(has(with([](Json& j) { j["tensors"] = Json::object(); }), "tensors: expected an array"));
  CHECK(has(with([](Json& j) { j["tensors"][0] = 1; }), "tensors[0]: expected an object"));
  CHECK(has(with([](Json& j) { j["tensors"].push_back(j["tensors"][0]); }),
            "tensor \"x\": expected every tensor once"));
  CHECK(has(tensor("accumulator", "entropy"),
            "tensor \"x\": accumulator: expected one of min_max, moving_average"));
  CHECK(has(tensor("accumulator", "min_max"), "tensor \"x\": slots[0]: "));
  CHECK(has(tensor("name", 3), "tensors[0]: name: expected a string"));
  CHECK(has(tensor("granularity", Json{{"name", "per_row"}}), "tensor \"x\": granularity: "));
  CHECK(has(tensor("slots", Json::array({Json::object()})),
            "tensor \"x\": slots[0]: exponent: expected a value"));
  CHECK(has(with([](Json& j) { j["tensors"][0]["slots"][0]["counts"][0] = 0; }),
            "tensor \"x\": slots[0]: tq::BasicHistogram::from_state"));
  CHECK(has(with([](Json& j) { j["tensors"][0]["slots"][0]["counts"][0] = -9e18; }), "counts[0]"));
  // One without tensors adds nothing, and there is nothing to choose or to draw.
  std::ofstream(folder("bad.json")) << R"({"version": 1, "tensors": []})";
  succeed({"merge-state", folder("s.json"), folder("bad.json"), "-o", folder("m.json")});
  CHECK(content(folder("m.json")) == good);
  fs::remove(folder("m.json"));
  CHECK(has(fail(1, {"calibrate", "--from-state", folder("bad.json"), "-o", folder("p.json")}),
            "bad.json: expected tensors, got none"));
  CHECK(has(fail(1, {"plot", folder("bad.json"), "-o", folder("p.html")}),
            "bad.json: expected tensors"));
  CHECK(folder.files() == files);
}

TEST_CASE("the page of plot stands alone and says what it shows") {
  const Folder folder("plot");
  const std::string evil = "a<script>alert(\"&'1\")</script>";
  std::vector<float> x = normals(5000, 1);
  x.push_back(40);
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  std::vector<float> positive = normals(4000, 2);
  for (float& v : positive) v = std::abs(v);
  tq::io::write_safetensors(
      folder("x.safetensors"),
      std::vector<Tensor>{floats(evil, {x.size()}, x), floats("relu", {4, 1000}, positive),
                          floats("zero", {3}, {0, 0, 0}), floats("one", {2}, {-7, -7}),
                          floats("huge", {2}, {-3e38f, 3e38f}),
                          floats("tiny", {2}, {1e-45f, 3e-45f})});
  succeed({"calibrate", folder("x.safetensors"), "--observer", "histogram", "--state",
           folder("s.json")});
  const auto alone = [&](const std::string& page) {
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(page.ends_with("</html>\n"));
    for (const char* part : {"<script", "<link", "<img", "<iframe", "src=", "url(", "@import",
                             "http:", "https:", "//", "javascript", "onload", "onclick"}) {
      INFO(part);
      CHECK(page.find(part) == std::string::npos);
    }
    for (std::size_t at = page.find("href="); at != std::string::npos;
         at = page.find("href=", at + 1))
      CHECK(page.substr(at, 7) == "href=\"#");
    for (const char* element :
         {"table", "svg", "section", "p", "h2", "html", "body", "tr", "td", "text"}) {
      const auto count = [&](const std::string& tag) {
        std::size_t n = 0;
        for (std::size_t at = page.find(tag); at != std::string::npos; at = page.find(tag, at + 1))
          ++n;
        return n;
      };
      const std::string name(element);
      INFO(name);
      CHECK(count("<" + name + ">") + count("<" + name + " ") == count("</" + name + ">"));
    }
    CHECK(page.find("nan") == std::string::npos);
  };
  for (const std::vector<std::string>& type : {std::vector<std::string>{"int8", "asymmetric"},
                                               {"int4", "symmetric"},
                                               {"uint8", "symmetric"},
                                               {"float8_e4m3fn", "symmetric"},
                                               {"nf4", "symmetric"}}) {
    INFO(type[0]);
    const Json report = Json::parse(succeed({"plot", folder("s.json"), "-o", folder("p.html"),
                                             "--json", "--type", type[0], "--symmetry", type[1]}));
    const std::string page = content(folder("p.html"));
    alone(page);
    CHECK(has(page, "Observed values, and ranges for " + type[0] + " " + type[1]));
    CHECK(has(page, "a&lt;script&gt;alert(&quot;&amp;&#39;1&quot;)&lt;/script&gt;"));
    CHECK(has(page, "Left out: 1 NaN and 0 infinite."));
    for (const std::string& calibrator : of_histograms) CHECK(has(page, ">" + calibrator + "<"));
    CHECK(report["tensors"].size() == 6);
    for (const Json& t : report["tensors"]) {
      INFO(t["name"]);
      CHECK(t["calibrators"].size() == of_histograms.size());
      double best = 0, least = std::numeric_limits<double>::infinity();
      for (const Json& c : t["calibrators"]) {
        least = std::min(least, c["mse"].get<double>());
        if (c["name"] == t["best"]) best = c["mse"];
        CHECK(c["clipped"] >= 0);
        CHECK(c["clipped"] <= 1);
      }
      CHECK(best == least);
    }
  }
  // Clipping the one value that lies apart gains much.
  const Json report = Json::parse(succeed({"plot", folder("s.json"), "-o", folder("p.html"),
                                           "--json", "--type", "int4", "--tensor", "relu"}));
  CHECK(report["tensors"].size() == 1);
  CHECK(has(content(folder("p.html")), "No value is negative"));
  CHECK(has(fail(1, {"plot", folder("s.json"), "-o", folder("p.html"), "--tensor", "other"}),
            "expected tensor \"other\", got none among 6"));
  CHECK(has(succeed({"plot", folder("s.json"), "-o", folder("p.html"), "--tensor", "relu",
                     "--tensor", "one"}),
            "2 tensors in"));
  CHECK(has(fail(2, {"plot", folder("s.json"), "-o", folder("q.html"), "--norm", "0"}), "norm"));

  // The plot shows the first of many slots; without histograms it has the table only.
  succeed({"calibrate", folder("x.safetensors"), "--observer", "histogram", "--granularity",
           "per_channel", "--state", folder("c.json")});
  succeed({"plot", folder("c.json"), "-o", folder("p.html"), "--tensor", "relu"});
  CHECK(has(content(folder("p.html")), "There are 4 slots"));
  CHECK(has(content(folder("p.html")), "Shown is slot 0."));
  for (const std::string& observer : observers) {
    INFO(observer);
    succeed({"calibrate", folder("x.safetensors"), "--observer", observer, "--state",
             folder("o.json")});
    succeed({"plot", folder("o.json"), "-o", folder("p.html")});
    const std::string page = content(folder("p.html"));
    alone(page);
    const bool has_bins = observer == "histogram" || observer == "percentile";
    CHECK((page.find("<svg") != std::string::npos) == has_bins);
    CHECK((page.find("keeps no histogram") != std::string::npos) == !has_bins);
    CHECK(has(page, ">min_max<"));
  }
  npy(folder("nan.npy"), {1}, {std::numeric_limits<float>::quiet_NaN()});
  succeed({"calibrate", folder("nan.npy"), "--observer", "histogram", "--state", folder("o.json")});
  succeed({"plot", folder("o.json"), "-o", folder("p.html")});
  CHECK(has(content(folder("p.html")), "It saw no finite value"));
}
