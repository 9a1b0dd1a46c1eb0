// SPDX-License-Identifier: MIT
// tq hessian, and tq quantize --algorithm: activations are summed, stored, merged and used.
#include "tool_test.hpp"

#include <tq/containers/npz_writer.hpp>

using namespace tool_test;

namespace {

constexpr std::size_t inputs = 32, outputs = 12;

// Inputs that depend on each other.
std::vector<float> activations(std::size_t tokens, unsigned seed) {
  std::vector<float> x = noise(tokens * inputs, seed);
  for (std::size_t i = 1; i < x.size(); ++i)
    if (i % inputs != 0) x[i] += 0.75f * x[i - 1];
  return x;
}

Tensor batch(const std::string& name, std::size_t tokens, unsigned seed) {
  return tq::io::from_float32(name, {tokens, inputs}, activations(tokens, seed));
}

// A model of two matrices, and two batches of the inputs of each.
void write_layers(const Folder& folder) {
  tq::io::write_safetensors(
      folder("m.safetensors"),
      std::vector<Tensor>{
          tq::io::from_float32("fc1.weight", {outputs, inputs}, noise(outputs * inputs, 1)),
          tq::io::from_float32("fc2.weight", {outputs, inputs}, noise(outputs * inputs, 2))});
  fs::create_directories(folder("acts"));
  tq::io::write_npz(folder("acts/1.npz"),
                    std::vector<Tensor>{batch("fc1", 60, 3), batch("fc2", 60, 4)});
  tq::io::write_npz(folder("acts/2.npz"),
                    std::vector<Tensor>{batch("fc1", 40, 5), batch("fc2", 40, 6)});
}

std::vector<std::string> quantize(const Folder& folder, const std::string& out,
                                  std::vector<std::string> more) {
  std::vector<std::string> all{"quantize", folder("m.safetensors"), folder(out), "--type",
                               "int3_g32"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("weights are quantized by Hessians, stored or made on the way") {
  const Folder folder("gptq");
  write_layers(folder);
  const Json made =
      Json::parse(succeed({"hessian", folder("acts"), "-o", folder("h.npz"), "--json"}));
  REQUIRE(made["hessians"].size() == 2);
  CHECK(made["hessians"][0] == Json{{"name", "fc1"},
                                    {"inputs", inputs},
                                    {"tokens", 100},
                                    {"left_out", 0},
                                    {"dead_columns", 0}});
  const Json report = Json::parse(succeed(quantize(
      folder, "h.safetensors", {"--algorithm", "gptq", "--hessian", folder("h.npz"), "--json"})));
  double loss = 0;
  for (const Json& tensor : report["tensors"]) {
    const Json& algorithm = tensor["algorithm"];
    CHECK(algorithm["name"] == "gptq");
    CHECK(algorithm["tokens"] == 100);
    CHECK(algorithm["loss"].get<double>() < algorithm["loss_of_rounding"].get<double>());
    loss += algorithm["loss"].get<double>();
  }
  CHECK(report["total"]["algorithm"]["weights"] == 2);
  CHECK(report["total"]["algorithm"]["fallbacks"] == 0);
  CHECK(report["total"]["algorithm"]["loss"] == loss);

  const std::string text =
      succeed(quantize(folder, "a.safetensors",
                       {"--algorithm", "gptq", "--activations", folder("acts"), "--jobs", "2"}));
  CHECK(has(text, "2 weights with a loss of "));
  CHECK(content(folder("a.safetensors")) == content(folder("h.safetensors")));

  std::ofstream(folder("c.json"))
      << R"({"version": 1, "default": "int3_g32", "algorithm": "gptq"})";
  succeed({"quantize", folder("m.safetensors"), folder("c.safetensors"), "--config",
           folder("c.json"), "--hessian", folder("h.npz")});
  CHECK(content(folder("c.safetensors")) == content(folder("h.safetensors")));

  succeed(quantize(folder, "r.safetensors", {}));
  const auto error = [&](const std::string& file) {
    const Json compared =
        Json::parse(succeed({"compare", folder("m.safetensors"), folder(file), "--json"}));
    return compared.dump();
  };
  CHECK(error("r.safetensors") != error("h.safetensors"));
}

TEST_CASE("Hessians of several runs are merged and continued with the same bits") {
  const Folder folder("merge");
  write_layers(folder);
  const std::string one = folder("acts/1.npz"), two = folder("acts/2.npz");
  succeed({"calibrate", one, two, "--observer", "abs_max", "--granularity", "per_channel", "--axis",
           "-1", "--state", folder("r.json")});
  succeed({"hessian", one, two, "-o", folder("all.npz")});
  succeed({"hessian", one, "--ranges", folder("r.json"), "-o", folder("1.npz")});
  succeed({"hessian", two, "--ranges", folder("r.json"), "-o", folder("2.npz")});
  CHECK(has(succeed({"merge-state", folder("1.npz"), folder("2.npz"), "-o", folder("m.npz")}),
            "2 Hessians in "));
  CHECK(content(folder("m.npz")) == content(folder("all.npz")));
  succeed({"hessian", two, "--continue", folder("1.npz"), "-o", folder("c.npz")});
  CHECK(content(folder("c.npz")) == content(folder("all.npz")));

  // Other steps, and other kinds of files.
  succeed({"hessian", two, "-o", folder("alone.npz")});
  CHECK(has(fail(1, {"merge-state", folder("1.npz"), folder("alone.npz"), "-o", folder("x.npz")}),
            "alone.npz: tensor \"fc1\": tq::Hessian::merge: expected a Hessian of the same steps"));
  CHECK(has(fail(1, {"merge-state", folder("1.npz"), one, "-o", folder("x.npz")}),
            "1.npz: expected Hessians, got tensor \"fc1\""));
  CHECK(has(fail(2, {"merge-state", folder("1.npz"), "-o", folder("x.json")}), ".npz"));
  succeed({"calibrate", one, "--observer", "min_max", "--state", folder("s.json")});
  CHECK(has(fail(1, {"hessian", one, "--ranges", folder("s.json"), "-o", folder("x.npz")}),
            "expected observer abs_max per_channel(axis -1), got min_max per_tensor"));
  CHECK_FALSE(fs::exists(folder("x.npz")));
}

TEST_CASE("filters are quantized by the patches that they read") {
  const Folder folder("filters");
  tq::io::write_safetensors(
      folder("m.safetensors"),
      std::vector<Tensor>{tq::io::from_float32("conv1.weight", {8, 1, 2, 2}, noise(32, 1)),
                          tq::io::from_float32("conv2.weight", {6, 8, 2, 2}, noise(192, 2))});
  // 8 channels of 4 inputs: a depthwise convolution, and one of all channels.
  tq::io::write_npz(folder("acts.npz"),
                    std::vector<Tensor>{batch("conv1", 60, 3), batch("conv2", 60, 4)});
  const auto run = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.begin(), {"quantize", folder("m.safetensors"), folder(out), "--type", "int4",
                               "--algorithm", "gptq"});
    return succeed(more);
  };
  const Json report =
      Json::parse(run("a.safetensors", {"--activations", folder("acts.npz"), "--json"}));
  CHECK(report["total"]["algorithm"]["weights"] == 2);
  for (const Json& tensor : report["tensors"]) {
    const Json& algorithm = tensor["algorithm"];
    CHECK(algorithm["tokens"] == 60);
    CHECK(algorithm["loss"].get<double>() <= algorithm["loss_of_rounding"].get<double>());
  }
  succeed({"hessian", folder("acts.npz"), "-o", folder("h.npz")});
  run("h.safetensors", {"--hessian", folder("h.npz")});
  CHECK(content(folder("a.safetensors")) == content(folder("h.safetensors")));
}

TEST_CASE("weights without activations are an error, or counted") {
  const Folder folder("fallback");
  write_layers(folder);
  tq::io::write_npz(folder("one.npz"), std::vector<Tensor>{batch("fc1.weight", 60, 3)});
  const std::vector<std::string> gptq{"--algorithm", "gptq", "--activations", folder("one.npz")};
  const std::string error = fail(1, quantize(folder, "q.safetensors", gptq));
  CHECK(has(error, "tensor \"fc2.weight\": expected a Hessian of its name, or that of its module"));
  CHECK(has(error, "--fallback rtn rounds such weights, --exclude leaves it out"));
  CHECK_FALSE(fs::exists(folder("q.safetensors")));
  std::vector<std::string> rounding = gptq;
  rounding.insert(rounding.end(), {"--fallback", "rtn"});
  const std::string text = succeed(quantize(folder, "q.safetensors", rounding));
  CHECK(has(text, "1 weights with a loss of "));
  CHECK(has(text, "1 weights by the fallback, rounded to nearest"));
  CHECK(has(text, "rtn (fallback)"));

  tq::io::write_npz(folder("few.npz"), std::vector<Tensor>{batch("fc1", 7, 3), batch("fc2", 7, 4)});
  std::vector<std::string> few{"--algorithm", "gptq", "--activations", folder("few.npz")};
  CHECK(has(fail(1, quantize(folder, "f.safetensors", few)),
            "expected at least 8 tokens, a quarter of the inputs, got 7 (--allow-few-tokens takes "
            "them)"));
  few.emplace_back("--allow-few-tokens");
  succeed(quantize(folder, "f.safetensors", few));
}

TEST_CASE("offsets are found without data, and only where a scheme has them") {
  const Folder folder("hqq");
  write_layers(folder);
  const auto hqq = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.begin(), {"quantize", folder("m.safetensors"), folder(out), "--type",
                               "uint3_g32", "--algorithm", "hqq"});
    return more;
  };
  const std::vector<std::string> offsets{"--symmetry", "float_offset"};
  const std::string text = succeed(hqq("a.safetensors", offsets));
  CHECK(has(text, "2 weights with absolute errors that add up to "));
  const Json report = Json::parse(succeed(hqq(
      "b.safetensors", {"--symmetry", "float_offset", "--jobs", "2", "--norm", "0.7", "--json"})));
  CHECK(content(folder("a.safetensors")) == content(folder("b.safetensors")));
  double error = 0;
  for (const Json& tensor : report["tensors"]) {
    CHECK(tensor["algorithm"]["name"] == "hqq");
    CHECK(tensor["algorithm"]["loss"] < tensor["algorithm"]["loss_of_rounding"]);
    CHECK_FALSE(tensor["algorithm"].contains("tokens"));
    error += tensor["algorithm"]["loss"].get<double>();
  }
  CHECK(report["total"]["algorithm"]["weights"] == 2);
  CHECK(report["total"]["algorithm"]["absolute_error"] == error);
  CHECK(report["total"]["algorithm"]["loss"] == 0);

  std::ofstream(folder("c.json")) << R"({"version": 1, "default": {"type": "uint3", "granularity":
    "per_group", "group_size": 32, "symmetry": "float_offset"}, "algorithm": "hqq"})";
  succeed(
      {"quantize", folder("m.safetensors"), folder("c.safetensors"), "--config", folder("c.json")});
  CHECK(content(folder("c.safetensors")) == content(folder("a.safetensors")));

  CHECK(has(fail(1, hqq("x.safetensors", {})),
            "tensor \"fc1.weight\": expected symmetry float_offset for algorithm hqq, got uint3"));
  CHECK_FALSE(fs::exists(folder("x.safetensors")));
}

TEST_CASE("options of algorithms that make no sense are refused") {
  const Folder folder("options");
  write_layers(folder);
  const auto refuses = [&](std::vector<std::string> more, const std::string& text) {
    CHECK(has(fail(2, quantize(folder, "q.safetensors", std::move(more))), text));
  };
  refuses({"--algorithm", "gptq"}, "--algorithm gptq: expected --hessian or --activations");
  refuses({"--hessian", "h.npz"}, "--hessian: expected none with --algorithm rtn");
  refuses({"--sweeps", "2"}, "--sweeps: expected none with --algorithm rtn");
  refuses({"--algorithm", "rtn-weighted", "--order", "natural", "--hessian", "h.npz"},
          "--order: expected none with --algorithm rtn-weighted");
  refuses({"--algorithm", "gptq", "--hessian", "h.npz", "--activations", "a.npz"},
          "--activations: expected none beside --hessian");
  refuses({"--algorithm", "gptk"}, "--algorithm");
  refuses({"--algorithm", "hqq", "--hessian", "h.npz"},
          "--hessian: expected none with --algorithm hqq");
  refuses({"--algorithm", "hqq", "--damping", "0.1"},
          "--damping: expected none with --algorithm hqq");
  refuses({"--algorithm", "hqq", "--norm", "0"}, "--norm: expected a number above 0");
  refuses({"--algorithm", "hqq", "--allow-nonfinite"}, "--allow-nonfinite: expected none");
  std::ofstream(folder("c.json")) << R"({"version": 1, "algorithm": "gptq"})";
  CHECK(has(fail(2, {"quantize", folder("m.safetensors"), folder("q.safetensors"), "--config",
                     folder("c.json"), "--algorithm", "gptq"}),
            "--algorithm: expected none beside --config"));
  CHECK(has(fail(1, {"quantize", folder("m.safetensors"), folder("q.safetensors"), "--config",
                     folder("c.json")}),
            "expected the Hessians of inputs for algorithm gptq, got none"));
  CHECK(has(fail(2, {"hessian", folder("acts"), "-o", folder("h.json")}), ".npz"));
  CHECK(has(fail(1, {"hessian", folder("none"), "-o", folder("h.npz")}), "No such file"));
}
