// SPDX-License-Identifier: MIT
// Refusals of tq: their words and their status, and that nothing half-written stays behind.
#include "tool_test.hpp"

#include <cmath>
#include <functional>

using namespace tool_test;

namespace {

void write(const std::string& path, const std::vector<Tensor>& tensors,
           const tq::io::Metadata& metadata = {}) {
  tq::io::write_safetensors(path, tensors, metadata);
}

}  // namespace

TEST_CASE("options that make no sense end with status 2 and say what there is") {
  const Folder folder("usage");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write(in, {tensor("w", {4, 8})});
  const auto quantize = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"quantize", in, out});
    return fail(2, options);
  };
  CHECK(
      has(quantize({"--type", "int9"}), "int2, int3, int4, int5, int6, int7, int8, int16, uint2"));
  CHECK(has(quantize({"--granularity", "per_row"}), "per_tensor, per_channel, per_group"));
  CHECK(has(quantize({"--symmetry", "none"}),
            "symmetric, symmetric_narrow, symmetric_half, symmetric_half_down, asymmetric"));
  CHECK(has(quantize({"--numerics", "tf"}), "onnx, torch, ocp, bitsandbytes"));
  CHECK(has(quantize({"--type", "mxfp5"}), "float4_e2m1fn"));
  CHECK(has(quantize({"--type", "mxfp5"}), "mxfp4, mxint8, nvfp4"));
  CHECK(has(quantize({"--type", "nf4", "--symmetry", "asymmetric"}), "type nf4"));
  CHECK(has(quantize({"--type", "mxfp4", "--numerics", "torch"}), "onnx or ocp"));
  CHECK(has(quantize({"--type", "mxfp4", "--numerics", "bitsandbytes"}), "onnx or ocp"));
  CHECK(has(quantize({"--type", "nf4", "--numerics", "torch"}), "onnx, ocp or bitsandbytes"));
  CHECK(has(quantize({"--scale-type", "float24"}), "float32, float16, bfloat16"));
  CHECK(has(quantize({"--scale-type", "none"}), "per_tensor"));
  CHECK(has(quantize({"--calibrator", "entropy"}), "min_max, mean_abs"));
  CHECK(has(quantize({"--type", "uint4", "--symmetry", "symmetric_narrow"}), "type uint4"));
  CHECK(has(quantize({"--granularity", "per_group", "--group-size", "0"}), "at least 1, got 0"));
  CHECK(has(quantize({"--granularity", "per_block", "--block-cols", "-3"}), "at least 1, got -3"));
  CHECK(has(quantize({"--axis", "8"}), "[-8, 8), got 8"));
  CHECK(has(quantize({"--axis", "x"}), "axis"));
  CHECK(has(quantize({"--include", "("}), "(\".*\" is any text), got \"(\""));
  CHECK(has(quantize({"--include", "*"}), "(\".*\" is any text), got \"*\""));
  CHECK(has(quantize({"--exclude", std::string(1001, 'a')}),
            "--exclude: expected a regular expression of at most 1000 bytes, got 1001"));
  CHECK(
      has(quantize({"--exclude", "(((a?){300}){300})"}), "expected a smaller regular expression"));
  CHECK(has(quantize({"--exclude", "(a)\\1"}), "expected no back reference"));
  CHECK(has(quantize({"--granularity", "per_channel", "--group-size", "32"}),
            "--group-size: expected granularity per_group, got per_channel"));
  CHECK(has(quantize({"--block-rows", "8"}),
            "--block-rows: expected granularity per_block, got per_channel"));
  CHECK(has(quantize({"--type", "mxfp4", "--block-cols", "8"}),
            "--block-cols: expected granularity per_block, got per_group"));
  for (const char* granularity : {"per_tensor", "per_token"})
    CHECK(has(
        quantize({"--granularity", granularity, "--axis", "0"}),
        std::string("--axis: expected granularity per_channel or per_group, got ") + granularity));
  CHECK(has(quantize({"--type", "float8_e4m3fn", "--axis", "0"}), "got per_tensor"));
  CHECK(has(quantize({"--bogus"}), "--bogus"));
  CHECK(has(fail(2, {}), "subcommand"));
  CHECK(has(fail(2, {"quantise"}),
            "calibrate, hessian, imatrix, merge-state, plot or report, got \"quantise\""));
  CHECK(has(fail(2, {"quantize", in}), "OUT"));
  CHECK(has(fail(2, {"quantize", in, folder("q.npy")}), ".safetensors"));
  CHECK(has(fail(2, {"dequantize", in, folder("q.gguf")}), ".npy, .safetensors or .index.json"));
  CHECK(has(fail(2, {"quantize", in, in}), "another file than IN"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
}

TEST_CASE("bad input ends with status 1, names the tensor, and leaves nothing behind") {
  const Folder folder("input");
  const std::string out = folder("q.safetensors");
  const auto quantize = [&](const std::vector<Tensor>& tensors,
                            std::vector<std::string> options = {}) {
    const std::string in = folder("m.safetensors");
    write(in, tensors);
    options.insert(options.begin(), {"quantize", in, out});
    const std::string text = fail(1, options);
    CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
    return text;
  };
  const std::string axis = quantize({tensor("w", {4, 8})}, {"--axis", "2"});
  CHECK(has(axis, "tensor \"w\""));
  CHECK(has(axis, "axis 2"));
  CHECK(has(axis, "[4, 8]"));
  CHECK(has(quantize({tensor("s", {3})}, {"--all", "--granularity", "per_block"}), "rank 2"));
  CHECK(has(quantize({tensor("w", {4, 8}), tensor("b", {3})}, {"--all", "--axis", "1"}),
            "got shape [3]; --exclude it"));
  CHECK(has(quantize({tensor("deep", {1, 1, 1, 1, 1, 1, 1, 1, 1})}, {"--all"}), "tensor \"deep\""));
  std::vector<float> x = noise(32);
  x[3] = std::nanf("");
  x[4] = x[5] = -INFINITY;
  const std::string nan = quantize({tensor("v", {4, 8}), tq::io::from_float32("w", {4, 8}, x)});
  CHECK(has(nan, "tensor \"w\""));
  CHECK(has(nan, "1 NaN and 2 infinite among 32"));
  CHECK(has(nan, "--allow-nonfinite"));
  CHECK(has(quantize({tensor("w", {4, 8}), tensor("w.codes", {3})}),
            "\"w\" and \"w.codes\" would both be stored as \"w.codes\""));
  CHECK(has(quantize({tensor("w", {4, 8})}, {"--include", "^x"}), "\"^x\" matches none of the 1"));
  CHECK(has(fail(1, {"quantize", folder("none.safetensors"), out}), "No such file"));
  CHECK(has(fail(1, {"quantize", golden("safetensors/bad/truncated.safetensors"), out}),
            "truncated"));
  CHECK(has(fail(1, {"inspect", golden("npy/bad/data_cut.npy")}), "data_cut"));
  CHECK(has(fail(1, {"inspect", golden("npy/README.md")}),
            ".npy, .npz, .safetensors, .index.json or .gguf"));
  CHECK(
      has(fail(1, {"inspect", golden("safetensors/sharded/bad_missing_file.index.json")}), "bad_"));
  CHECK(has(fail(1, {"dequantize", folder("m.safetensors"), out}), "quantized by tq"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
}

TEST_CASE("no file that is read is written over") {
  const Folder folder("shards");
  for (const auto& entry : fs::directory_iterator(golden("safetensors/sharded")))
    if (entry.path().filename().string().starts_with("model"))
      fs::copy_file(entry.path(), folder(entry.path().filename().string()));
  const std::string in = folder("model.safetensors.index.json");
  const std::string shard = folder("model-00002-of-00002.safetensors");
  const std::string kept = content(shard);
  fs::create_symlink(shard, folder("link.safetensors"));
  const std::set<std::string> files = folder.files();
  for (const char* command : {"quantize", "dequantize"})
    for (const std::string& out : {shard, folder("link.safetensors")})
      CHECK(has(fail(2, {command, in, out}), "OUT: expected another file than IN, got"));
  for (const char* option : {"-o", "--state"})
    CHECK(has(fail(2, {"calibrate", in, option, in}),
              std::string(option) + ": expected another file than what is read"));
  CHECK(content(shard) == kept);
  CHECK(folder.files() == files);
}

TEST_CASE("what cannot be printed is an error") {
  if (!fs::exists("/dev/full")) return;
  const Folder folder("full");
  for (const char* option : {"--version", "--help", "quantize --help", "formats"}) {
    INFO(option);
    const std::string command = std::string("'") + tool_test::program + "' " + option +
                                " >/dev/full 2>'" + folder("err") + "'";
    const int status = std::system(command.c_str());
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
    CHECK(has(content(folder("err")), "cannot write to standard output"));
  }
}

TEST_CASE("compare refuses other shapes and files without a common name") {
  const Folder folder("pairs");
  write(folder("a.safetensors"), {tensor("w", {4, 8}), tensor("x", {1})});
  write(folder("b.safetensors"), {tensor("w", {8, 4}), tensor("x", {1})});
  write(folder("c.safetensors"), {tensor("u", {8, 4}), tensor("v", {1})});
  const std::string shape = fail(1, {"compare", folder("a.safetensors"), folder("b.safetensors")});
  CHECK(has(shape, "tensor \"w\": expected shape [4, 8] in both files, got [8, 4]"));
  CHECK(has(fail(1, {"compare", folder("a.safetensors"), folder("c.safetensors")}), "same name"));
}

TEST_CASE("a quantized file is not quantized again") {
  const Folder folder("again");
  write(folder("m.safetensors"), {tensor("w", {4, 8})});
  succeed({"quantize", folder("m.safetensors"), folder("q.safetensors")});
  CHECK(has(fail(1, {"quantize", folder("q.safetensors"), folder("r.safetensors")}),
            "tq dequantize"));
}

TEST_CASE("a damaged quantized file is refused by every command") {
  const Folder folder("damaged");
  write(folder("m.safetensors"), {tensor("w", {4, 40}), tensor("b", {4})});
  succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--type", "int4",
           "--granularity", "per_group", "--symmetry", "asymmetric"});
  const std::vector<Tensor> good = read_all(folder("q.safetensors"));
  const Json description =
      Json::parse(tq::io::SafetensorsReader::open(folder("q.safetensors")).metadata().at("tq"));
  const auto named = [](std::vector<Tensor>& list, const std::string& name) -> Tensor& {
    for (Tensor& t : list)
      if (t.name == name) return t;
    throw std::runtime_error(name);
  };
  const auto refused = [&](const std::vector<Tensor>& tensors, const std::string& metadata) {
    write(folder("bad.safetensors"), tensors, {{"tq", metadata}});
    const std::string text =
        fail(1, {"dequantize", folder("bad.safetensors"), folder("d.safetensors")});
    CHECK(folder.files() ==
          std::set<std::string>{"m.safetensors", "q.safetensors", "bad.safetensors"});
    fail(1, {"compare", folder("m.safetensors"), folder("bad.safetensors")});
    return text;
  };
  const auto damage = [&](const std::function<void(std::vector<Tensor>&)>& f) {
    std::vector<Tensor> tensors = good;
    f(tensors);
    return refused(tensors, description.dump());
  };
  const auto describe = [&](const std::function<void(Json&)>& f) {
    Json j = description;
    f(j);
    return refused(good, j.dump());
  };
  const auto replace = [&](std::vector<Tensor>& list, const char* name, Tensor by) {
    by.name = name;
    named(list, name) = std::move(by);
  };

  // parts
  CHECK(has(damage([&](auto& t) { replace(t, "w.scales", tensor("", {10})); }),
            "\"w.scales\": expected F32 [4, 2], got F32 [10]"));
  CHECK(has(damage([&](auto& t) { replace(t, "w.scales", tensor("", {4, 2}, DType::f16)); }),
            "got F16 [4, 2]"));
  CHECK(has(damage([&](auto& t) {
              auto& c = named(t, "w.codes");
              c.bytes.pop_back();
              c.shape = {79};
            }),
            "\"w.codes\": expected U8 [80], got U8 [79]"));
  CHECK(has(damage([&](auto& t) { std::erase_if(t, [](auto& x) { return x.name == "w.codes"; }); }),
            "\"w.codes\": expected U8 [80], got no such tensor"));
  CHECK(has(damage([&](auto& t) { named(t, "w.zero_points").bytes[3] = std::byte{100}; }),
            "expected zero points in [-8, 7], got 100 at parameter 3"));
  for (const float s : {std::nanf(""), 0.0f, -1.0f, INFINITY})
    CHECK(has(damage([&](auto& t) {
                std::vector<float> scales(8, 1.0f);
                scales[5] = s;
                replace(t, "w.scales", tq::io::from_float32("", {4, 2}, scales));
              }),
              "tensor \"w\": tq::decode: expected positive finite scales, got"));
  CHECK(has(damage([&](auto& t) { t.push_back(tensor("w", {1})); }), "quantized and as it was"));

  // metadata
  CHECK(has(refused(good, "{"), "expected a JSON document"));
  CHECK(has(refused(good, ""), "expected a JSON document"));
  CHECK(has(refused(good, "[]"), "expected an object, got an array"));
  CHECK(has(refused(good, R"({"version": 1, "version": 1, "tensors": {}})"), "every key once"));
  CHECK(has(refused(good, std::string(5000, '[')), "64 deep"));
  CHECK(has(describe([](Json& j) { j["version"] = 3; }), "version: expected 1 to 2, got 3"));
  CHECK(has(describe([](Json& j) { j.erase("version"); }), "version: expected a value, got none"));
  CHECK(has(describe([](Json& j) { j["tensors"] = 1; }), "tensors: expected an object"));
  CHECK(has(describe([](Json& j) { j["extra"] = 1; }), "\"extra\""));
  const auto entry = [&](const char* key, const Json& value) {
    return describe([&](Json& j) { j["tensors"]["w"][key] = value; });
  };
  const auto spec = [&](const char* key, const Json& value) {
    return describe([&](Json& j) { j["tensors"]["w"]["spec"][key] = value; });
  };
  CHECK(has(entry("dtype", "I32"), "dtype: expected F64, F32, F16, BF16 or float8, got \"I32\""));
  CHECK(has(entry("dtype", 3), "dtype: expected a string"));
  CHECK(has(entry("shape", Json::array({4, -40})), "shape[1]: expected an integer in [0,"));
  CHECK(has(entry("shape", Json::array({4, 41})), "\"w.codes\": expected U8 [82]"));
  CHECK(has(entry("shape", Json::array({1u << 31, 1u << 31, 1u << 31})), "less than 2^64 bits"));
  CHECK(has(entry("shape", Json(std::vector<int>(9, 1))), "rank"));
  CHECK(has(entry("shape", Json::array()), "axis -1 for per_group, got shape []"));
  CHECK(has(entry("shape", "4, 40"), "shape: expected an array"));
  CHECK(has(entry("comment", "x"), "\"comment\""));
  CHECK(has(spec("type", "int9"), "int2, int3, int4"));
  CHECK(has(spec("type", "int8"), "\"w.codes\": expected I8 [4, 40]"));
  CHECK(has(spec("group_size", 8), "\"w.scales\": expected F32 [4, 5]"));
  CHECK(has(spec("group_size", 0), "at least 1"));
  CHECK(has(spec("axis", 5), "axis 5"));
  CHECK(has(spec("axis", 1e9), "axis"));
  CHECK(has(spec("scale_type", "float64"), "float32, float16"));
  CHECK(has(spec("scale_type", "float16"), "\"w.scales\": expected F16 [4, 2], got F32 [4, 2]"));
  CHECK(has(spec("scale_type", "none"), "per_tensor"));
}

TEST_CASE("an output that cannot be written leaves no trace and keeps what was there") {
  const Folder folder("output");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write(in, {tensor("w", {512, 64})});
  CHECK(has(fail(1, {"quantize", in, folder("none/q.safetensors")}), "none/q.safetensors"));
  CHECK(has(fail(1, {"quantize", in, in + "/q.safetensors"}), "m.safetensors/q.safetensors"));
  fs::create_directory(out);
  CHECK(has(fail(1, {"quantize", in, out}), "regular file"));
  fs::remove(out);
  // A file that may not grow stands for a full disk: the signal is ignored, so that the write
  // fails.
  const std::string full = "trap '' XFSZ; ulimit -f 8; ";
  const std::set<std::string> before = folder.files();
  Result r = run({"quantize", in, out}, full);
  CHECK(r.status == 1);
  CHECK(has(r.err, "q.safetensors"));
  CHECK(has(r.err, "failed"));
  CHECK(folder.files() == before);
  succeed({"quantize", in, out});
  const std::string kept = content(out);
  r = run({"quantize", in, out, "--type", "uint16"}, full);
  CHECK(r.status == 1);
  CHECK(content(out) == kept);
  r = run({"dequantize", out, folder("d.safetensors")}, full);
  CHECK(r.status == 1);
  CHECK(folder.files() == std::set<std::string>{"m.safetensors", "q.safetensors"});
}
