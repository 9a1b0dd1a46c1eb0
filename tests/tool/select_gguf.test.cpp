// SPDX-License-Identifier: MIT
// tq select --for llama.cpp.
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_writer.hpp>

#include "tool_test.hpp"

#include <cmath>
#include <tuple>

using namespace tool_test;

namespace {

// A GGUF file with weights of different sizes and magnitudes, and a norm.
void write_weights(const std::string& path, float factor = 0.7f) {
  using tq::layouts::gguf::Type;
  const std::vector<tq::io::GgufEntry> entries{{"general.architecture", std::string("llama")}};
  const std::vector<tq::io::GgufTensorDecl> tensors{
      {"token_embd.weight", Type::f32, {16, 256}},  {"blk.0.attn_q.weight", Type::f32, {8, 256}},
      {"blk.0.attn_norm.weight", Type::f32, {256}}, {"blk.0.ffn_down.weight", Type::f32, {8, 96}},
      {"blk.1.attn_q.weight", Type::f32, {8, 256}}, {"output.weight", Type::f32, {16, 256}}};
  tq::io::GgufWriter writer(path, entries, tensors);
  float scale = 1.0f;
  for (const auto& t : writer.order()) {
    std::vector<float> values = noise(static_cast<std::size_t>(t.size_bytes) / 4);
    for (float& v : values) v *= scale;
    scale *= factor;
    writer.append(t.name, std::as_bytes(std::span(values)));
  }
  writer.finish();
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

TEST_CASE("a mix for llama.cpp is chosen within the bytes of the file, and written") {
  const Folder folder("select_gguf");
  write_weights(folder("x.gguf"));
  const auto choose = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"select", folder("x.gguf"), "-o", folder("mix.json"), "--for",
                                     "llama.cpp", "--overwrite"});
    return succeed(options);
  };
  double before = 1.0;
  for (const char* const budget : {"7500", "9000", "12000", "60000"}) {
    const Json chosen = Json::parse(choose({"--max-bytes", budget, "--json"}));
    const std::string mix = content(folder("mix.json"));
    CHECK(chosen["total"]["error"] < before);
    before = chosen["total"]["error"];
    CHECK(chosen["format"] == "gguf");
    CHECK(chosen["tensors"].size() == 5);
    std::vector<std::string> command = words_of(chosen["command"]);
    REQUIRE(command.size() == 6);
    CHECK(command[3] == "OUT.gguf");
    command[3] = folder("y.gguf");
    command.erase(command.begin());
    succeed(command);
    CHECK(fs::file_size(folder("y.gguf")) <= std::stoul(budget));
    CHECK(fs::file_size(folder("y.gguf")) == chosen["total"]["bytes"]);
    const auto file = tq::io::GgufReader::open(folder("y.gguf"));
    for (const Json& t : chosen["tensors"])
      CHECK(tq::layouts::gguf::info_of(file.info(t["name"].get<std::string>()).type).name ==
            t["type"].get<std::string>());
    choose({"--max-bytes", budget, "--jobs", "3", "--quiet"});
    CHECK(content(folder("mix.json")) == mix);
  }
  CHECK(before == 0.0);  // everything stays in float

  const std::string text =
      choose({"--max-bits", "5", "--types", "Q4_K,q8_0", "--exclude", "blk.1", "--method", "ggml"});
  CHECK(has(text, "token_embd.weight"));
  CHECK(has(text, "q8_0"));
  CHECK(has(text, "4 tensors, "));
  CHECK(has(text, "SQNR of all is that of sum d^2 / sum w^2 over all weights"));
  CHECK(has(text, "note: the file has no tokenizer"));
  CHECK(has(text, "tq quantize " + folder("x.gguf") + " OUT.gguf --config " + folder("mix.json") +
                      " --exclude blk.1 --method ggml\n"));
  const Json exact = Json::parse(choose({"--min-sqnr", "30", "--json"}));
  CHECK(exact["total"]["sqnr_db"] >= 30.0);
  succeed({"quantize", folder("x.gguf"), folder("z.gguf"), "--for", "llama.cpp"});
}

TEST_CASE("choices for llama.cpp that make no sense are refused") {
  const Folder folder("select_gguf_refused");
  write_weights(folder("x.gguf"));
  struct Case {
    std::vector<std::string> options;
    const char* expected;
    int status = 2;
  };
  const std::vector<Case> cases{
      {{}, "expected --max-bits, --max-bytes"},
      {{"--max-bits", "5", "--types", "int4_g32"}, "--types: expected f16, bf16, q4_0"},
      {{"--max-bits", "5", "--types", "q8_K"}, "--types: expected f16, bf16, q4_0"},
      {{"--max-bits", "5", "--types", "q4_K,Q4_k"}, "each type once"},
      {{"--max-bits", "5", "--tensor-parallel", "2"}, "--tensor-parallel: expected none"},
      {{"--max-bits", "5", "--all"}, "--all: expected none beside --for"},
      {{"--min-speedup", "2"}, "--min-speedup: expected none beside --for"},
      {{"--max-bytes", "3000"}, "--max-bytes: expected at least "},
      {{"--max-bits", "5", "--mapping", "m.json"}, "--mapping: expected none for a GGUF file"},
      {{"--max-bits", "5", "--include", "attn_z"}, "attn_z", 1},
      {{"--max-bits", "5", "--imatrix", "none.dat"}, "none.dat", 1},
  };
  for (const Case& c : cases) {
    std::vector<std::string> words{"select",           folder("x.gguf"), "-o",
                                   folder("mix.json"), "--for",          "llama.cpp"};
    words.insert(words.end(), c.options.begin(), c.options.end());
    CHECK(has(fail(c.status, words), c.expected));
    CHECK(!fs::exists(folder("mix.json")));
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--imatrix", "i.gguf"}, {"--jobs", "2"}, {"--method", "best"}})
    CHECK(has(fail(2, {"select", folder("x.gguf"), "--max-bits", "5", "-o", folder("mix.json"),
                       words[0], words[1]}),
              words[0] + ": expected --for llama.cpp beside it"));
  // A size that nothing reaches is refused before weights are read.
  write_weights(folder("nan.gguf"), std::nanf(""));
  const std::vector<std::string> unread{
      "select", folder("nan.gguf"), "-o", folder("mix.json"), "--for", "llama.cpp", "--max-bytes"};
  for (const auto& [bytes, status, expected] :
       {std::tuple("3000", 2, "--max-bytes: expected at least "), std::tuple("9000", 1, "blk.")}) {
    std::vector<std::string> words = unread;
    words.emplace_back(bytes);
    CHECK(has(fail(status, words), expected));
  }
  succeed({"quantize", folder("x.gguf"), folder("q.gguf"), "--type", "q8_0"});
  CHECK(has(fail(1, {"select", folder("q.gguf"), "-o", folder("mix.json"), "--for", "llama.cpp",
                     "--max-bits", "5"}),
            "--requantize"));
  succeed({"select", folder("q.gguf"), "-o", folder("mix.json"), "--for", "llama.cpp", "--max-bits",
           "5", "--requantize"});
}
