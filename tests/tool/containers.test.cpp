// SPDX-License-Identifier: MIT
// Files that hold no elements, or more than tensors: the rest of them is used as it is.
#include "tool_test.hpp"

#include <tq/containers/npy.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/containers/raw_tensor.hpp>

#include <span>

using namespace tool_test;

namespace {

// As quantize, dequantize and the subcommands that only look take it.
void go_round(const Folder& folder, const std::string& in, const std::string& type) {
  INFO(in << " " << type);
  const std::string q = folder("q.safetensors"), back = folder("back.safetensors");
  succeed({"quantize", in, q, "--type", type, "--all"});
  succeed({"dequantize", q, back});
  succeed({"compare", in, back});
  succeed({"report", in, q, "-o", folder("r.html")});
  const auto a = tq::io::SafetensorsReader::open(in), b = tq::io::SafetensorsReader::open(back);
  REQUIRE(a.tensors().size() == b.tensors().size());
  for (const auto& info : a.tensors()) {
    CHECK(b.info(info.name).dtype == info.dtype);
    CHECK(b.info(info.name).shape == info.shape);
  }
}

}  // namespace

TEST_CASE("tensors without elements go through every subcommand, alone, first and last") {
  const Folder folder("empty_tensors");
  const std::string in = folder("m.safetensors");
  const Tensor matrix = tensor("e", {0, 7}), vector = tensor("f", {0}, DType::f16),
               cube = tensor("g", {3, 0, 2}, DType::bf16), first = tensor("a", {0, 4}),
               some = tensor("d", {4, 8}), integers{"i", DType::i64, {0}, {}};
  std::size_t types = 0;
  for (const std::vector<Tensor>& tensors : std::vector<std::vector<Tensor>>{
           {matrix}, {vector}, {integers}, {matrix, vector, cube}, {first, some}, {some, matrix}}) {
    tq::io::write_safetensors(in, tensors);
    succeed({"inspect", in, "--stats"});
    for (const char* type : {"int8", "bfloat16", "nvfp4", "nf4_double"}) go_round(folder, in, type);
    succeed({"calibrate", in, "-o", folder("p.json"), "--state", folder("s.json")});
    succeed({"merge-state", folder("s.json"), folder("s.json"), "-o", folder("t.json")});
    succeed({"plot", folder("s.json"), "-o", folder("s.html")});
    const bool has_elements = tensors.front().name == "d" || tensors.back().name == "d";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"sweep", in, "--types", "int8"},
          {"sensitivity", in, "--types", "int8"},
          {"select", in, "--types", "int8", "--max-bits", "16", "-o", folder("c.json")}}) {
      if (has_elements) succeed(command);
      else CHECK(has(fail(1, command), "expected float tensors with elements"));
    }
  }
  tq::io::write_safetensors(in, std::vector<Tensor>{matrix});
  for (const Json& format : Json::parse(succeed({"formats", "--json"}))["schemes"])
    if (++types % 5 == 0) go_round(folder, in, format["name"]);
  tq::io::write_npy(folder("x.npy"), vector);
  succeed({"quantize", folder("x.npy"), folder("q.safetensors"), "--all"});
  succeed({"dequantize", folder("q.safetensors"), folder("y.npy")});
  CHECK(content(folder("x.npy")) == content(folder("y.npy")));
}

TEST_CASE("members of an archive that are no tensors are named, and the others are used") {
  const Folder folder("other_members");
  const std::string in = folder("m.npz"), q = folder("q.safetensors");
  tq::io::write_npz(in, std::vector<Tensor>{tensor("acts", {8, 8}),
                                            {"names", DType::u8, {4}, std::vector<std::byte>(4)}});
  std::string archive = content(in);
  archive.replace(archive.find("'|u1'"), 5, "'<U1'");
  std::ofstream(in, std::ios::binary) << archive;
  CHECK(has(succeed({"inspect", in}), "beside them: names (expected "));
  const Json listed = Json::parse(succeed({"inspect", in, "--json"}));
  CHECK(listed["tensors"].size() == 1);
  REQUIRE(listed["others"].size() == 1);
  CHECK(has(listed["others"][0]["reason"], "\"<U1\""));
  CHECK(has(succeed({"quantize", in, q}), "left out: names (expected "));
  CHECK(Json::parse(succeed({"quantize", in, q, "--json"}))["left_out"] == Json{"names"});
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{}, {"--include", "acts"}}) {
    std::vector<std::string> command{"calibrate", in, "-o", folder("p.json")};
    command.insert(command.end(), names.begin(), names.end());
    succeed(command);
    CHECK(Json::parse(content(folder("p.json"))).size() == 1);
  }
  CHECK(has(fail(1, {"calibrate", in, "-o", folder("p.json"), "--include", "names"}), "names"));
}

TEST_CASE("tensors of types that are not known are copied byte for byte") {
  const Folder folder("unknown_types");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    back = folder("back.safetensors");
  // 300 KB: more than a piece. Its shape says nothing of its length.
  std::string bytes(300'000, ' ');
  std::mt19937 random(5);
  for (char& c : bytes) c = static_cast<char>(random() & 127);
  const tq::io::RawTensor raw{"F2_\"x", {7, 3}, bytes.size()};
  const std::vector<tq::io::TensorDecl> declared{
      {"w", DType::f32, {8, 8}}, {"a", DType::u8, {}, raw}, {"none", DType::u8, {}, {{"U1", {5}}}}};
  {
    tq::io::SafetensorsWriter writer(in, declared);
    writer.append("w", tensor("w", {8, 8}).bytes);
    writer.append("a", std::as_bytes(std::span<const char>(bytes)));
    writer.finish();
  }
  const auto expect = [&](const std::string& path) {
    INFO(path);
    const auto reader = tq::io::SafetensorsReader::open(path);
    REQUIRE(reader.others().size() == 2);
    for (const tq::io::OtherMember& other : reader.others()) {
      REQUIRE(other.raw);
      if (other.name != "a") {
        CHECK(other.raw->dtype == "U1");
        CHECK(other.raw->shape == std::vector<std::size_t>{5});
        CHECK(other.raw->size_bytes == 0);
        continue;
      }
      CHECK(other.raw->dtype == raw.dtype);
      CHECK(other.raw->shape == raw.shape);
      std::string got(bytes.size(), ' ');
      REQUIRE(other.raw->size_bytes == got.size());
      reader.source().read(other.raw->offset, std::as_writable_bytes(std::span<char>(got)));
      CHECK(got == bytes);
    }
  };
  CHECK(has(succeed({"quantize", in, q}), "copied byte for byte: a (expected "));
  expect(q);
  const Json report = Json::parse(succeed({"quantize", in, q, "--json"}));
  CHECK(report["left_out"].empty());
  CHECK(report["copied_unread"].size() == 2);
  CHECK(report["total"]["bytes_before"] == 256 + bytes.size());
  CHECK(has(succeed({"dequantize", q, back}), "copied byte for byte: a (expected "));
  expect(back);
  fs::create_directories(folder("shards"));
  succeed({"quantize", in, folder("shards")});
  expect(folder("shards/m.safetensors"));
  succeed({"dequantize", folder("shards"), back});
  expect(back);
  // A tensor has the name that a part would have.
  const std::vector<tq::io::TensorDecl> same{{"w", DType::f32, {8, 8}},
                                             {"w.scales", DType::u8, {}, {{"U1", {}}}}};
  tq::io::SafetensorsWriter writer(in, same);
  writer.append("w", tensor("w", {8, 8}).bytes);
  writer.finish();
  fs::remove(q);
  CHECK(has(fail(1, {"quantize", in, q}), "\"w.scales\""));
  CHECK_FALSE(fs::exists(q));
  succeed({"quantize", in, q, "--exclude", "w"});
}

TEST_CASE("metadata of another program under the name of tq is left alone") {
  const Folder folder("foreign_metadata");
  const std::string in = folder("m.safetensors"), q = folder("q.safetensors"),
                    back = folder("back.safetensors");
  for (const char* text : {"", "1.0", "[1, 2]", "yes"}) {
    INFO(text);
    tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 8})}, {{"tq", text}});
    CHECK(Json::parse(succeed({"inspect", in, "--json"}))["metadata"]["tq"] == text);
    CHECK(has(fail(1, {"dequantize", in, back}), "expected a model quantized by tq"));
    succeed({"quantize", in, q});
    succeed({"dequantize", q, back});
    CHECK(read_all(back).size() == 1);
  }
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {4, 8})}, {{"tq", "{\"tens"}});
  fail(1, {"inspect", in});
}
