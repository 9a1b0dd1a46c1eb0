// SPDX-License-Identifier: MIT
// tq imatrix: the importance of inputs is measured, merged, continued and used.
#include <tq/containers/gguf.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/store/importance_file.hpp>

#include "gguf_test.hpp"

using namespace tool_test;

namespace {

constexpr std::size_t inputs = 256;

// Integers, whose sums of squares float32 holds, in sizes that differ by the input.
Tensor batch(const std::string& name, std::size_t tokens, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(tokens * inputs);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(random() % (i % 7 + 2)) * static_cast<float>(i % 3 + 1);
  return tq::io::from_float32(name, {tokens, inputs}, x);
}

// Batches of two layers, by the names of Hugging Face, and a GGUF model that has them.
void write_layers(const Folder& folder) {
  const std::string up = "model.layers.0.mlp.up_proj", head = "lm_head";
  fs::create_directories(folder("acts"));
  tq::io::write_npz(folder("acts/1.npz"),
                    std::vector<Tensor>{batch(up, 60, 3), batch(head, 60, 4)});
  tq::io::write_npz(folder("acts/2.npz"), std::vector<Tensor>{batch(up, 40, 5)});
  using tq::layouts::gguf::Type;
  const std::vector<tq::io::GgufEntry> entries{{"general.architecture", std::string("llama")},
                                               {"tokenizer.ggml.model", std::string("llama")}};
  const std::vector<tq::io::GgufTensorDecl> tensors{{"blk.0.ffn_up.weight", Type::f32, {4, inputs}},
                                                    {"output.weight", Type::f32, {4, inputs}}};
  write_noise_gguf(folder("x.gguf"), tensors, entries);
}

}  // namespace

TEST_CASE("tq imatrix makes an importance matrix that GGUF files are quantized with") {
  const Folder folder("imatrix");
  write_layers(folder);
  const Json made =
      Json::parse(succeed({"imatrix", folder("acts"), "-o", folder("i.gguf"), "--json"}));
  REQUIRE(made["weights"].size() == 2);
  CHECK(made["weights"][0] == Json{{"name", "blk.0.ffn_up.weight"},
                                   {"from", {"model.layers.0.mlp.up_proj"}},
                                   {"inputs", inputs},
                                   {"matrices", 1},
                                   {"matrices_without_tokens", 0},
                                   {"tokens", 100},
                                   {"left_out", 0}});
  CHECK(made["notes"].empty());
  const std::string text = succeed({"imatrix", folder("acts"), "-o", folder("i.dat")});
  CHECK(has(text, "the importance of the inputs of 2 weights in "));
  CHECK(tq::read_importance(folder("i.gguf")).weights ==
        tq::read_importance(folder("i.dat")).weights);

  const std::vector<std::string> quantize{"quantize",    folder("x.gguf"), folder("p.gguf"),
                                          "--overwrite", "--type",         "q4_k"};
  succeed(quantize);
  const auto weighted = [&](const std::string& file) {
    std::vector<std::string> command = quantize;
    command[2] = folder("q.gguf");
    command.insert(command.end(), {"--imatrix", folder(file)});
    CHECK_FALSE(has(succeed(command), "note:"));
    return tq::io::GgufReader::open(folder("q.gguf")).read_bytes("blk.0.ffn_up.weight");
  };
  const auto bytes = weighted("i.gguf");
  CHECK(bytes == weighted("i.dat"));
  CHECK(bytes != tq::io::GgufReader::open(folder("p.gguf")).read_bytes("blk.0.ffn_up.weight"));
}

TEST_CASE("importance of several runs is merged and continued") {
  const Folder folder("imatrix_merge");
  write_layers(folder);
  const std::string one = folder("acts/1.npz"), two = folder("acts/2.npz");
  succeed({"imatrix", one, two, "-o", folder("all.gguf")});
  succeed({"imatrix", one, "-o", folder("1.gguf")});
  succeed({"imatrix", two, "-o", folder("2.gguf"), "--quiet"});
  CHECK(has(succeed({"merge-state", folder("1.gguf"), folder("2.gguf"), "-o", folder("m.gguf")}),
            "the importance of the inputs of 2 weights in "));
  CHECK(content(folder("m.gguf")) == content(folder("all.gguf")));
  succeed({"imatrix", two, "--continue", folder("1.gguf"), "-o", folder("c.gguf")});
  CHECK(content(folder("c.gguf")) == content(folder("all.gguf")));
  // The older form, from the newer one.
  succeed({"imatrix", one, two, "-o", folder("all.dat")});
  succeed({"merge-state", folder("all.gguf"), "-o", folder("m.dat")});
  CHECK(content(folder("m.dat")) == content(folder("all.dat")));
}

TEST_CASE("tq imatrix tells of names that it does not know, and refuses what it cannot use") {
  const Folder folder("imatrix_refused");
  write_layers(folder);
  tq::io::write_npz(folder("mine.npz"), std::vector<Tensor>{batch("mine", 3, 1)});
  CHECK(has(succeed({"imatrix", folder("mine.npz"), "-o", folder("mine.gguf")}),
            "note: the mapping does not have 1 names, which are kept; the first is \"mine\""));
  CHECK(tq::read_importance(folder("mine.gguf")).weights.contains("mine.weight"));
  std::ofstream(folder("map.json")) << R"({"architecture": "my", "requires": [], "keys": [],
    "tensors": [{"from": "mine.weight", "to": "blk.0.ffn_up.weight"}], "dropped": []})";
  succeed({"imatrix", folder("mine.npz"), "-o", folder("mapped.gguf"), "--mapping",
           folder("map.json")});
  CHECK(tq::read_importance(folder("mapped.gguf")).weights.contains("blk.0.ffn_up.weight"));

  const auto before = folder.files();
  CHECK(has(fail(2, {"imatrix", folder("acts"), "-o", folder("i.npz")}), ".gguf or .dat"));
  CHECK(has(fail(1, {"imatrix", folder("none"), "-o", folder("i.gguf")}), "No such file"));
  CHECK(has(fail(2, {"imatrix", folder("acts"), "--continue", folder("mine.gguf"), "-o",
                     folder("mine.gguf")}),
            "-o: expected another file than --continue"));
  CHECK(
      has(fail(2, {"merge-state", folder("mine.gguf"), "-o", folder("i.json")}), ".gguf or .dat"));
  tq::io::write_npz(folder("acts/3.npz"),
                    std::vector<Tensor>{tensor("model.layers.0.mlp.up_proj", {4, 8})});
  succeed({"imatrix", folder("acts/3.npz"), "-o", folder("acts/narrow.gguf")});
  CHECK(has(fail(1, {"imatrix", folder("acts/1.npz"), "--continue", folder("acts/narrow.gguf"),
                     "-o", folder("i.gguf")}),
            "expected 8 sums and 1 counts, got 256 and 1"));
  CHECK(has(fail(1, {"imatrix", folder("acts"), "-o", folder("i.gguf")}), "as in"));
  CHECK(folder.files() == before);
}
